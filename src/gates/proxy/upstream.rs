//! Connections to the server behind a gate. Idle ones are kept for further requests.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

/// The timeout of a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a connection without a request is kept, and how many are.
const IDLE: Duration = Duration::from_secs(30);
const MOST_IDLE: usize = 16;

/// A connection to a server.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;
type Sender = SendRequest<Body>;

/// A server.
pub struct Upstream {
    /// The `Host` header of forwarded requests.
    pub host: HeaderValue,
    connect: Box<dyn Fn() -> Connecting + Send + Sync>,
    idle: Mutex<Vec<(Sender, Instant)>>,
}

impl Upstream {
    /// The server that `connect` reaches.
    pub fn new<C, F>(host: HeaderValue, connect: C) -> Arc<Self>
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<Box<dyn Io>>> + Send + 'static,
    {
        Arc::new(Self { host, connect: Box::new(move || Box::pin(connect())), idle: Mutex::default() })
    }

    /// The server that listens on a Unix socket.
    pub fn unix(path: PathBuf) -> Arc<Self> {
        Self::new(HeaderValue::from_static("localhost"), move || {
            let path = path.clone();
            async move {
                let stream = UnixStream::connect(&path).await;
                let fail =
                    |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                stream.map(|stream| Box::new(stream) as Box<dyn Io>).map_err(fail)
            }
        })
    }

    /// Sends a request. A request that a server may have received is not sent again.
    pub async fn send(self: &Arc<Self>, mut request: Request<Body>) -> Result<Answer, String> {
        while let Some(mut sender) = self.kept() {
            // The server may have closed it.
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(tied(response, sender, self)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().to_string()),
                },
            }
        }
        let connected = timeout(CONNECT, (self.connect)()).await;
        let stream = connected.map_err(|_| "no connection in time".to_owned())?;
        let io = TokioIo::new(stream.map_err(|error| error.to_string())?);
        let (mut sender, connection) = http1::handshake(io).await.map_err(|error| error.to_string())?;
        // Its errors are those of the request.
        tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        Ok(tied(response, sender, self))
    }

    fn kept(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| !sender.is_closed() && since.elapsed() < IDLE);
        idle.pop().map(|(sender, _)| sender)
    }

    fn keep(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !sender.is_closed() && idle.len() < MOST_IDLE {
            idle.push((sender, Instant::now()));
        }
    }
}

/// A response, and what is done with its connection.
pub type Answer = Response<Tied>;

/// The body of a response. At its end, the connection is kept.
pub struct Tied {
    inner: Incoming,
    connection: Option<(Sender, Arc<Upstream>)>,
}

fn tied(response: Response<Incoming>, sender: Sender, upstream: &Arc<Upstream>) -> Answer {
    let is_free = response.body().is_end_stream() && response.status() != StatusCode::SWITCHING_PROTOCOLS;
    let mut connection = Some((sender, Arc::clone(upstream)));
    if let Some((sender, upstream)) = connection.take_if(|_| is_free) {
        upstream.keep(sender);
    }
    response.map(|inner| Tied { inner, connection })
}

impl hyper::body::Body for Tied {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let is_whole = frame.is_none() || (self.inner.is_end_stream() && matches!(frame, Some(Ok(_))));
        if let Some((sender, upstream)) = self.connection.take_if(|_| is_whole) {
            upstream.keep(sender);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
