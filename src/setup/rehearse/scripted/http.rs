//! An HTTP server on loopback, for the scripted model.

use std::future::{IntoFuture as _, ready};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{Method, StatusCode, Uri};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The maximum size of a request body, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// A response: the status, the media type and the whole body.
pub type Response = (StatusCode, [(HeaderName, &'static str); 1], String);

/// A response with this media type.
pub const fn response(status: StatusCode, content_type: &'static str, body: String) -> Response {
    (status, [(CONTENT_TYPE, content_type)], body)
}

/// A server on a free loopback port, stopped on drop.
pub struct Server {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    _runtime: Runtime,
}

impl Server {
    /// Starts a server that answers requests with `answer`: their method, path without the query, and body.
    pub fn start(
        answer: impl Fn(&Method, &str, &[u8]) -> Response + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let url = format!("http://{}", listener.local_addr()?);
        let answer = Arc::new(answer);
        let handler = move |method: Method, uri: Uri, body: Bytes| ready(answer(&method, uri.path(), &body));
        let router = Router::new().fallback(handler).layer(DefaultBodyLimit::max(MAX_BODY));
        runtime.spawn(axum::serve(listener, router).into_future());
        Ok(Self { url, _runtime: runtime })
    }
}
