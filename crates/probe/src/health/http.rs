//! Checks an HTTP health endpoint.

use std::error::Error as _;
use std::io;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::finding::{Finding, Looked, State, plain};
use super::{tcp, tls};
use opsctl_policy::model::installation::checks::Health;

/// The maximum number of redirects.
const MOST_REDIRECTS: usize = 10;
/// The maximum size of a body of unknown length, in bytes.
const MOST_BODY: usize = 1024 * 1024;

/// Requests the endpoint and follows redirects. Does not use proxies.
pub async fn look(health: &Health, ends: Instant) -> Looked {
    let started = Instant::now();
    let url = Url::parse(&health.url);
    let mut url = url.map_err(|_| Finding::new(State::Failed, "its URL is invalid"))?;
    let mut seen = vec![url.clone()];
    loop {
        let answer = ask(&url, health.insecure, ends).await.map_err(|finding| {
            let detail = format!("redirected to {}: {}", shown(url.as_str()), finding.detail);
            if seen.len() == 1 { finding } else { Finding { detail, ..finding } }
        })?;
        let status = answer.status();
        if health.status.contains(&status.as_u16()) {
            let latency = started.elapsed();
            read(answer.into_body(), ends).await?;
            let detail = format!("it answered {}", status.as_u16());
            return Ok(Finding::new(State::Healthy, detail).after(latency));
        }
        let next = answer.headers().get(LOCATION).and_then(|to| url.join(to.to_str().ok()?).ok());
        let Some(next) = next.filter(|_| status.is_redirection() && health.follow) else {
            let expected: Vec<String> = health.status.iter().map(u16::to_string).collect();
            let detail = format!("it answered {}, not {}", status.as_u16(), expected.join(" or "));
            return Err(Finding::new(State::WrongStatus, detail).after(started.elapsed()));
        };
        if seen.contains(&next) {
            let detail = format!("it redirects in a loop to {}", shown(next.as_str()));
            return Err(Finding::new(State::RedirectLoop, detail));
        }
        if seen.len() > MOST_REDIRECTS {
            let detail = format!("it redirects more than {MOST_REDIRECTS} times");
            return Err(Finding::new(State::RedirectLoop, detail));
        }
        seen.push(next.clone());
        url = next;
    }
}

/// The URL for display, without user, password, query and fragment, which may be secrets.
pub fn shown(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return "an unreadable URL".to_owned() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    plain(&format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()))
}

async fn ask(url: &Url, insecure: bool, ends: Instant) -> Result<Response<Incoming>, Finding> {
    let (Some(host), Some(port), "http" | "https") =
        (url.host_str(), url.port_or_known_default(), url.scheme())
    else {
        return Err(Finding::new(State::Failed, "it is not an HTTP URL"));
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = tcp::connect(bare, port, ends).await?;
    if url.scheme() == "https" {
        send(tls::over(stream, bare, insecure, ends).await?, url, ends).await
    } else {
        send(stream, url, ends).await
    }
}

async fn send<S>(stream: S, url: &Url, ends: Instant) -> Result<Response<Incoming>, Finding>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let request = request(url).map_err(|_| Finding::new(State::Failed, "its URL cannot be requested"))?;
    let answered = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends with the response or with the runtime.
        tokio::spawn(connection);
        sender.send_request(request).await
    };
    match timeout_at(ends, answered).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(failure(&error)),
        Err(_) => Err(Finding::new(State::Timeout, "it accepts connections, but does not answer")),
    }
}

fn request(url: &Url) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Request::get(target)
        .header(HOST, host)
        .header(USER_AGENT, concat!("opsctl/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, HeaderValue::from_static("*/*"))
        .body(Empty::new())
}

fn failure(error: &hyper::Error) -> Finding {
    let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    if error.is_parse() {
        Finding::new(State::NotHttp, "it does not answer in HTTP")
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || io.is_some() {
        Finding::new(State::Closed, "it closed the connection without an answer")
    } else {
        Finding::new(State::Failed, plain(&error.to_string()))
    }
}

/// Checks that the body ends. A body with a content length is not read.
async fn read(mut body: Incoming, ends: Instant) -> Result<(), Finding> {
    if body.size_hint().exact().is_some() {
        return Ok(());
    }
    let endless = || Finding::new(State::EndlessBody, "its answer does not end");
    let mut length = 0;
    loop {
        match timeout_at(ends, body.frame()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(frame))) => length += frame.data_ref().map_or(0, Bytes::len),
            Ok(Some(Err(error))) => return Err(failure(&error)),
            Err(_) => return Err(endless()),
        }
        if length > MOST_BODY {
            return Err(endless());
        }
    }
}
