//! A request as a judge sees it, and what becomes of it.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, response};

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::target::Target;

/// The most bytes of bodies. What is read of JSON takes about ten times as much memory.
const MOST_BODIES: usize = 16 * 1024 * 1024;

/// The bytes of bodies that all gates of a process hold.
static BODIES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MOST_BODIES)));

/// The most bytes of answers.
const MOST_ANSWERS: usize = 64 * 1024 * 1024;

/// The bytes of answers that all gates of a process hold.
pub static ANSWERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MOST_ANSWERS)));

/// The time for a body that is read as a whole.
const BODY_TIME: Duration = Duration::from_mins(1);

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A process of this user, through a Unix socket.
    User(u32),
    /// A client with this certificate, in DER; `None`: without one.
    Client(Option<Vec<u8>>),
}

/// A request. What the judge changes of it is forwarded.
#[derive(Debug)]
pub struct Asked {
    /// Who asks.
    pub peer: Peer,
    /// The method.
    pub method: Method,
    /// The address.
    pub target: Target,
    /// The headers, without those of the connection.
    pub headers: HeaderMap,
    /// The protocol that the connection is to change to, in lower case.
    pub upgrade: Option<String>,
    /// The body. A judge that reads it takes it with [`Self::read`].
    pub body: Body,
    /// The place of a body that was read.
    held: Vec<OwnedSemaphorePermit>,
}

impl Asked {
    /// A request without a place.
    pub fn new(
        (peer, method, target): (Peer, Method, Target),
        headers: HeaderMap,
        upgrade: Option<String>,
        body: Body,
    ) -> Self {
        Self { peer, method, target, headers, upgrade, body, held: Vec::new() }
    }

    /// The whole body, of at most `most` bytes. It is forwarded, too.
    pub async fn read(&mut self, most: usize) -> Result<Bytes, Refusal> {
        let body = std::mem::take(&mut self.body);
        let read = timeout(BODY_TIME, whole(body, most, &BODIES)).await;
        let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within a minute");
        let (bytes, held) = read.map_err(late)??;
        self.held.push(held);
        self.body = Body::from(bytes.clone());
        Ok(bytes)
    }

    /// Takes the place of a body that was read, which exists until it is dropped.
    pub fn place(&mut self) -> Vec<OwnedSemaphorePermit> {
        std::mem::take(&mut self.held)
    }

    /// Replaces the body by JSON, or by none.
    pub fn put(&mut self, bytes: Bytes) {
        self.headers.remove(CONTENT_LENGTH);
        if bytes.is_empty() {
            self.headers.remove(CONTENT_TYPE);
        } else {
            self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.body = Body::from(bytes);
    }
}

/// Reads a body of at most `most` bytes, which has a place in this budget while the returned permit exists.
pub async fn whole(
    body: Body,
    most: usize,
    budget: &Arc<Semaphore>,
) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let broken = || {
        let text = format!("the body broke off or is larger than {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    let full = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "this gate holds too much data; try again");
    let mut held = Arc::clone(budget).try_acquire_many_owned(0).map_err(|_| full())?;
    let (mut all, mut parts) = (Vec::new(), body.into_data_stream());
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| broken())?;
        if all.len() + part.len() > most {
            return Err(broken());
        }
        let size = u32::try_from(part.len()).map_err(|_| broken())?;
        held.merge(Arc::clone(budget).try_acquire_many_owned(size).map_err(|_| full())?);
        all.extend_from_slice(&part);
    }
    Ok((Bytes::from(all), held))
}

/// Changes a response: its head and its whole body. An error is answered with status 502.
pub type Rewrite = Box<dyn FnOnce(&mut response::Parts, Bytes) -> Result<Bytes, String> + Send>;

/// Is called with the status of the response; `None` if the connection broke before there was one.
pub type Ended = Box<dyn FnOnce(Option<StatusCode>) + Send>;

/// A request that passes.
#[derive(Default)]
pub struct Pass {
    /// Changes the response, which then is read as a whole.
    pub rewrite: Option<Rewrite>,
    /// Learns how the request ended. Such a request is finished, also if its peer leaves or the gate ends.
    pub ended: Option<Ended>,
    /// Whether nothing of the peer is passed on after the connection has changed its protocol.
    pub is_closed: bool,
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass {{ rewrite: {}, ended: {} }}", self.rewrite.is_some(), self.ended.is_some())
    }
}

/// A request that is not forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the response.
    pub status: StatusCode,
    /// The reason, for the peer.
    pub message: String,
}

impl Refusal {
    /// A refusal with this status and reason.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// A request that may not be made.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }
}

/// Judges the requests of a gate.
pub trait Judge: Send + Sync + 'static {
    /// The protocols that a connection may change to, in lower case.
    const UPGRADES: &'static [&'static str];

    /// Whether a request passes, and as what.
    fn judge(&self, asked: &mut Asked) -> impl Future<Output = Result<Pass, Refusal>> + Send;

    /// The body of a refusal in the form of the interface, which is JSON. `target` is unknown if it has no single reading.
    fn refusal(&self, refusal: &Refusal, target: Option<&Target>) -> Value;
}

/// Whether a body has a text with NUL: what carries it out may end the text there.
pub fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(entries) => entries.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        _ => false,
    }
}
