//! A request as a judge sees it, and what becomes of it.

use std::fmt;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, response};

use super::target::Target;

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
}

impl Asked {
    /// The whole body, of at most `most` bytes. It is forwarded, too.
    pub async fn read(&mut self, most: usize) -> Result<Bytes, Refusal> {
        let body = std::mem::take(&mut self.body);
        let bytes = to_bytes(body, most).await.map_err(|_| {
            Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the body broke off or is larger than {most} bytes"),
            )
        })?;
        self.body = Body::from(bytes.clone());
        Ok(bytes)
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
    fn refusal(&self, refusal: &Refusal, target: Option<&Target>) -> serde_json::Value;
}
