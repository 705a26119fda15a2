//! One request of a connection: judged, forwarded and answered.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, HttpBody as _};
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{Method, Request, Response, StatusCode, Version, request};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::upgrade::{self, OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::io::{
    AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, copy_bidirectional_with_sizes, sink, split,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

use super::request::{ANSWERS, Asked, Ended, Judge, Pass, Peer, Refusal, whole};
use super::target::Target;
use super::upstream::{Answer, Upstream};

/// The methods that are forwarded.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];

/// Headers of one connection, which the other one does not have.
const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    PROXY_AUTHORIZATION,
    EXPECT,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The most bytes of a response that is changed.
const MOST_CHANGED: usize = 16 * 1024 * 1024;

/// The responses of all gates that are changed at once.
static REWRITES: Semaphore = Semaphore::const_new(2);

/// The buffers of a connection that has changed its protocol: one for each direction. What is not used takes no memory.
const BUFFER: usize = 256 * 1024;

/// The most requests at once that are finished in any case.
pub const MOST_FINISHED: u32 = 4096;

/// What the connections of a gate share.
pub struct Shared<J> {
    /// Judges the requests.
    pub judge: J,
    /// The server.
    pub upstream: Arc<Upstream>,
    /// Becomes true when the gate ends.
    pub stop: watch::Receiver<bool>,
    /// Places of requests that are finished in any case.
    pub finishing: Arc<Semaphore>,
}

/// Waits until the gate ends.
pub async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the sender is gone: the process ends.
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// Answers a request.
pub async fn answer<J: Judge>(
    shared: Arc<Shared<J>>,
    peer: Peer,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let target = Target::read(&head.uri);
    let refused = |refusal: &Refusal, target: Option<&Target>| {
        (refusal.status, Json(shared.judge.refusal(refusal, target))).into_response()
    };
    let known = target.as_ref().ok().cloned();
    match asked::<J>(head, body, peer, target) {
        Err(refusal) => refused(&refusal, known.as_ref()),
        Ok((asked, upgrading)) => match Arc::clone(&shared).forward(asked, upgrading).await {
            Ok(response) => response,
            Err(refusal) => refused(&refusal, known.as_ref()),
        },
    }
}

/// The request as a judge sees it; refused if it is outside of what a gate understands.
fn asked<J: Judge>(
    mut head: request::Parts,
    body: Incoming,
    peer: Peer,
    target: Result<Target, &'static str>,
) -> Result<(Asked, Option<OnUpgrade>), Refusal> {
    let bad = |why: &str| Refusal::new(StatusCode::BAD_REQUEST, why);
    if !METHODS.contains(&head.method) {
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed"));
    }
    let target = target.map_err(bad)?;
    if head.headers.contains_key(TRANSFER_ENCODING) && head.headers.contains_key(CONTENT_LENGTH) {
        return Err(bad("the length of the body is stated twice"));
    }
    let upgrade = upgrade_of(&head.headers)
        .map_err(|()| bad("the upgrade of the connection is not understood"))?
        .map(|upgrade| upgrade.to_ascii_lowercase());
    if upgrade.as_ref().is_some_and(|upgrade| !J::UPGRADES.contains(&upgrade.as_str())) {
        return Err(bad("this upgrade of the connection is not allowed"));
    }
    let upgrading = upgrade.is_some().then(|| head.extensions.remove()).flatten();
    let headers = without_hops(&head.headers);
    let asked = Asked::new((peer, head.method, target), headers, upgrade, Body::new(body));
    Ok((asked, upgrading))
}

/// The protocol of `Upgrade`, if `Connection` names it.
fn upgrade_of(headers: &HeaderMap) -> Result<Option<String>, ()> {
    let mut values = headers.get_all(UPGRADE).iter();
    let (value, further) = (values.next(), values.next());
    let value = value.map(|value| value.to_str().map_err(|_| ())).transpose()?;
    let is_named = named(headers).any(|name| name == UPGRADE);
    match value {
        Some(value) if is_named && further.is_none() => Ok(Some(value.trim().to_owned())),
        None if !is_named => Ok(None),
        _ => Err(()),
    }
}

/// The headers that `Connection` names.
fn named(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok())
}

fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in HOP_BY_HOP.into_iter().chain(named(headers)) {
        // `Connection: host` would remove a header that has been judged.
        if name != HOST && name != CONTENT_LENGTH {
            kept.remove(name);
        }
    }
    kept
}

impl<J: Judge> Shared<J> {
    /// Judges a request and forwards it. What acts is finished in a task of its own, also if the peer leaves.
    async fn forward(
        self: Arc<Self>,
        mut asked: Asked,
        upgrading: Option<OnUpgrade>,
    ) -> Result<Response<Body>, Refusal> {
        let ended = || {
            Refusal::new(
                StatusCode::BAD_GATEWAY,
                "the server behind the gate ended the connection; try again",
            )
        };
        if asked.method == Method::GET || asked.method == Method::HEAD {
            let pass = self.judge.judge(&mut asked).await?;
            return self.send(asked, pass, upgrading).await;
        }
        let place = Arc::clone(&self.finishing).acquire_owned().await.map_err(|_| ended())?;
        let shared = Arc::clone(&self);
        let judged = tokio::spawn(async move {
            let pass = shared.judge.judge(&mut asked).await;
            (pass, asked, place)
        });
        let (pass, asked, place) = judged.await.map_err(|_| ended())?;
        let pass = pass?;
        if pass.ended.is_none() {
            drop(place);
            return self.send(asked, pass, upgrading).await;
        }
        let sent = tokio::spawn(async move {
            let sent = self.send(asked, pass, upgrading).await;
            drop(place);
            sent
        });
        sent.await.map_err(|_| ended())?
    }

    async fn send(
        &self,
        mut asked: Asked,
        pass: Pass,
        upgrading: Option<OnUpgrade>,
    ) -> Result<Response<Body>, Refusal> {
        let Pass { rewrite, ended, is_closed } = pass;
        let (ended, _place) = (Ending(ended), asked.place());
        let mut request = self.outgoing(asked)?;
        let is_upgrade = request.headers().contains_key(UPGRADE);
        if !is_upgrade {
            // A response of no stated length ends with its connection.
            request.headers_mut().remove(CONNECTION);
        }
        let answer = self.upstream.send(request).await.map_err(|error| {
            Refusal::new(
                StatusCode::BAD_GATEWAY,
                format!("the server behind the gate does not answer ({error})"),
            )
        })?;
        ended.with(answer.status());
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let upgrading = upgrading.filter(|_| is_upgrade).ok_or_else(|| {
                Refusal::new(StatusCode::BAD_GATEWAY, "the server changes the protocol without a request")
            })?;
            return Ok(self.tunnel(upgrading, answer, is_closed));
        }
        let (mut head, body) = answer.into_parts();
        let has = |name: HeaderName| head.headers.contains_key(name);
        if !has(CONTENT_LENGTH) && !has(TRANSFER_ENCODING) && !body.is_end_stream() {
            // It ends with its connection. Some clients read the connection itself, without parts of a stated length.
            head.version = Version::HTTP_10;
        }
        head.headers = without_hops(&head.headers);
        let Some(rewrite) = rewrite else { return Ok(Response::from_parts(head, Body::new(body))) };
        let fail = |error: String| Refusal::new(StatusCode::BAD_GATEWAY, error);
        let (body, _held) = whole(Body::new(body), MOST_CHANGED, &ANSWERS).await?;
        // It takes long for much data: on other threads, and not on all at once, so that the guard answers hooks meanwhile.
        let ended = |_| fail("the response could not be changed".to_owned());
        let _turn = REWRITES.acquire().await.map_err(|_| fail("the gate ends".to_owned()))?;
        let changed = spawn_blocking(move || rewrite(&mut head, body).map(|body| (head, body)));
        let (mut head, body) = changed.await.map_err(ended)?.map_err(fail)?;
        head.headers.remove(CONTENT_LENGTH);
        Ok(Response::from_parts(head, Body::from(body)))
    }

    fn outgoing(&self, asked: Asked) -> Result<Request<Body>, Refusal> {
        let uri = asked.target.uri();
        let uri = uri.ok_or_else(|| Refusal::new(StatusCode::URI_TOO_LONG, "the address is too long"))?;
        let mut request = Request::new(asked.body);
        *request.method_mut() = asked.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = asked.headers;
        let headers = request.headers_mut();
        headers.insert(HOST, self.upstream.host.clone());
        if let Some(upgrade) = asked.upgrade.and_then(|upgrade| HeaderValue::try_from(upgrade).ok()) {
            headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            headers.insert(UPGRADE, upgrade);
        }
        Ok(request)
    }

    /// Connects both ends of a connection that has changed its protocol. The end of one direction is passed on; the other one
    /// stays open. If it `is_closed`, what the peer sends is dropped.
    fn tunnel(&self, upgrading: OnUpgrade, mut answer: Answer, is_closed: bool) -> Response<Body> {
        let (server, stop) = (upgrade::on(&mut answer), self.stop.clone());
        tokio::spawn(async move {
            let tunnel = async {
                let (peer, server) = (upgrading.await, server.await);
                let (Ok(peer), Ok(server)) = (peer, server) else {
                    return io::Result::Ok((0, 0));
                };
                let (mut peer, mut server) = (TokioIo::new(peer), TokioIo::new(server));
                if is_closed {
                    return only_read(peer, server).await;
                }
                copy_bidirectional_with_sizes(&mut peer, &mut server, BUFFER, BUFFER).await
            };
            tokio::select! {
                _ = tunnel => {}
                () = stopped(stop) => {}
            }
        });
        let (head, _) = answer.into_parts();
        Response::from_parts(head, Body::empty())
    }
}

/// Passes on what the server sends. Of the peer, only the end is passed on.
async fn only_read(
    peer: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
) -> io::Result<(u64, u64)> {
    let ((mut from_peer, mut to_peer), (mut from_server, mut to_server)) = (split(peer), split(server));
    let dropped = async {
        copy(&mut from_peer, &mut sink()).await?;
        to_server.shutdown().await?;
        std::future::pending::<io::Result<()>>().await
    };
    tokio::select! {
        read = copy(&mut from_server, &mut to_peer) => Ok((0, read?)),
        ended = dropped => ended.map(|()| (0, 0)),
    }
}

/// Reports the end of a request; as unknown if it is dropped before.
struct Ending(Option<Ended>);

impl Ending {
    fn with(mut self, status: StatusCode) {
        if let Some(ended) = self.0.take() {
            ended(Some(status));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(ended) = self.0.take() {
            ended(None);
        }
    }
}
