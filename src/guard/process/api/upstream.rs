//! Connections to the API. Idle ones are kept for further requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::settings::{Proxy, Upstream};
use opsctl_probe::health::tls;

/// The timeout of a connection, with the proxy and the TLS handshake.
const CONNECT: Duration = Duration::from_secs(15);

/// How long a connection without a request is kept. The API closes them later.
const IDLE: Duration = Duration::from_secs(30);

/// The maximum number of connections without a request.
const MOST_IDLE: usize = 16;

/// The maximum length of a proxy's answer, in bytes.
const MOST_ANSWER: usize = 16 * 1024;

/// A connection that is ready for a request, or becomes ready.
pub type Sender = SendRequest<Body>;

/// Why a request was not answered. The text contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The API or the proxy at this host and port has no address, or refuses the connection.
    #[error("{0}:{1}: {2}")]
    Tcp(String, u16, std::io::Error),
    /// The proxy at this host and port does not open a connection; the first line of its answer.
    #[error("the proxy {0}:{1} answers `{2}`")]
    Proxy(String, u16, String),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// There was no connection in time.
    #[error("no connection within {} s", CONNECT.as_secs())]
    Timeout,
    /// The connection was closed before the response began.
    #[error("the request failed ({0})")]
    Http(#[from] hyper::Error),
}

/// The connections to the API.
#[derive(Debug)]
pub struct Connections {
    upstream: Upstream,
    proxy: Option<Proxy>,
    idle: Mutex<Vec<(Sender, Instant)>>,
}

impl Connections {
    /// No connections yet.
    pub fn new(upstream: Upstream, proxy: Option<Proxy>) -> Arc<Self> {
        Arc::new(Self { upstream, proxy, idle: Mutex::default() })
    }

    /// Sends a request, and returns the beginning of its response with the connection, which [`Self::keep`] takes back when the
    /// response has ended.
    pub async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<(Response<Incoming>, Sender), ConnectError> {
        while let Some(mut sender) = self.idle() {
            // The API may have closed it.
            if timeout(Duration::from_secs(1), sender.ready()).await.is_ok_and(|ready| ready.is_ok()) {
                match sender.try_send_request(request).await {
                    Ok(response) => return Ok((response, sender)),
                    Err(mut error) => match error.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(error.into_error().into()),
                    },
                }
            }
        }
        let mut sender = timeout(CONNECT, self.connect()).await.map_err(|_| ConnectError::Timeout)??;
        let response = sender.send_request(request).await?;
        Ok((response, sender))
    }

    /// Keeps a connection whose response has ended.
    pub fn keep(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| !sender.is_closed() && since.elapsed() < IDLE);
        if !sender.is_closed() && idle.len() < MOST_IDLE {
            idle.push((sender, Instant::now()));
        }
    }

    fn idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| !sender.is_closed() && since.elapsed() < IDLE);
        idle.pop().map(|(sender, _)| sender)
    }

    async fn connect(&self) -> Result<Sender, ConnectError> {
        let Upstream { host, port, tls, .. } = &self.upstream;
        let stream = match &self.proxy {
            None => tcp(host, *port).await?,
            Some(proxy) => through(proxy, host, *port).await?,
        };
        if !*tls {
            return handshake(stream).await;
        }
        let fail = |error: &dyn std::fmt::Display| ConnectError::Tls(error.to_string());
        let config = tls::trusted_here().map_err(|error| fail(&error))?;
        let name = ServerName::try_from(host.clone()).map_err(|error| fail(&error))?;
        let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| fail(&error))?;
        handshake(stream).await
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let fail = |error| ConnectError::Tcp(host.to_owned(), port, error);
    let stream = TcpStream::connect((host, port)).await.map_err(fail)?;
    stream.set_nodelay(true).map_err(fail)?;
    Ok(stream)
}

/// A connection that a proxy has opened.
async fn through(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let mut stream = tcp(&proxy.host, proxy.port).await?;
    let fail = |error| ConnectError::Tcp(proxy.host.clone(), proxy.port, error);
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let authorization = proxy.authorization.as_ref();
    let authorization =
        authorization.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await.map_err(fail)?;
    // Byte by byte: what follows the answer belongs to the connection.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") && answer.len() < MOST_ANSWER {
        answer.push(stream.read_u8().await.map_err(fail)?);
    }
    let answer = String::from_utf8_lossy(&answer);
    let line = answer.lines().next().unwrap_or_default();
    if line.split(' ').nth(1).is_some_and(|status| status.starts_with('2')) {
        return Ok(stream);
    }
    let answer = line.chars().filter(|c| !c.is_control()).take(100).collect();
    Err(ConnectError::Proxy(proxy.host.clone(), proxy.port, answer))
}

async fn handshake<S>(stream: S) -> Result<Sender, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Its errors are those of the request.
    tokio::spawn(connection);
    Ok(sender)
}
