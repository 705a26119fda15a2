//! The client's requests to the model: forwarded over HTTPS with the key that only the guard has, within the spending limits.
//!
//! Nothing of a body is changed, and none is buffered.

mod accounts;
mod answer;
mod body;
mod credential;
mod headers;
mod listener;
mod meter;
mod prices;
mod route;
mod settings;
mod upstream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::{Request, Response, Uri};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{Guard, Stop, stopped};
use crate::held_variables::variable;
use crate::redact;
use accounts::{Account, Accounts, Verdict};
use answer::Refusal;
use body::{Download, Upload};
use listener::Limited;
use meter::{Form, Meter};
use settings::Settings;
use upstream::{ConnectError, Connections, Sender};

/// The maximum number of requests under way: the most that can exceed a spending limit.
const MOST_UNDER_WAY: usize = 32;

/// How long a request waits until others have ended.
const PLACE: Duration = Duration::from_mins(1);

/// The maximum size of a request in bytes, which is that of the API.
const MOST_BODY: u64 = 32 * 1024 * 1024;

/// How long the API may take until its response begins, as the client waits.
const RESPONSE: Duration = Duration::from_mins(10);

/// How long responses under way may take when the guard is to end.
const ENDING: Duration = Duration::from_secs(5);

/// What all requests share.
pub struct Api {
    settings: Settings,
    connections: Arc<Connections>,
    accounts: Accounts,
    places: Arc<Semaphore>,
}

/// Prepares to serve. Errors are those of the settings, the policy and the prices.
pub fn prepare(guard: &Guard) -> io::Result<Api> {
    let settings = Settings::from_variables(variable).map_err(io::Error::other)?;
    let prices = prices::built_in().map_err(io::Error::other)?;
    Ok(Api {
        connections: Connections::new(settings.upstream.clone(), settings.proxy.clone()),
        settings,
        accounts: Accounts::start(guard.environment.clone(), prices).map_err(io::Error::other)?,
        places: Arc::new(Semaphore::new(MOST_UNDER_WAY)),
    })
}

/// Serves connections until the process ends.
pub async fn serve(api: Api, listener: TcpListener, stop: Stop) -> io::Result<()> {
    let accounts = api.accounts.clone();
    let api = Arc::new(api);
    let router = Router::new().fallback(forward).with_state(api);
    let serving = axum::serve(Limited::new(listener), router).with_graceful_shutdown(stopped(stop.clone()));
    let late = async {
        stopped(stop).await;
        tokio::time::sleep(ENDING).await;
    };
    let result = tokio::select! {
        result = serving => result,
        () = late => Ok(()),
    };
    accounts.flush().await;
    result
}

async fn forward(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    match api.answer(request).await {
        Ok(response) => response,
        Err((refusal, message)) => refusal.response(&message),
    }
}

impl Api {
    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, (Refusal, String)> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let Some(route) = route::of(&head.method, path) else {
            let path = redact::shortened(path, 100);
            return Err((
                Refusal::NotForwarded,
                format!("opsctl: {} {path} is not forwarded to the API", head.method),
            ));
        };
        if headers::length(&head.headers).is_some_and(|length| length > MOST_BODY) {
            return Err((Refusal::TooLarge, format!("opsctl: the request is larger than {MOST_BODY} bytes")));
        }
        let permit = timeout(PLACE, Arc::clone(&self.places).acquire_owned()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or_else(|| {
            (
                Refusal::Busy,
                format!("opsctl: {MOST_UNDER_WAY} requests to the API are under way; retry later"),
            )
        })?;
        let session = headers::session(&head.headers);
        if route.costs {
            match self.accounts.check(&session).await {
                Verdict::Allowed => {}
                Verdict::Refused(message) => return Err((Refusal::Spent, message)),
                Verdict::Unavailable(message) => return Err((Refusal::Unreachable, message)),
            }
        }
        let credential = if route.needs_key {
            let read = self.settings.key.read();
            Some(read.map_err(|error| (Refusal::NoKey, format!("opsctl: {error}")))?)
        } else {
            None
        };
        let upstream = &self.settings.upstream;
        let sent = Arc::new(AtomicU64::new(0));
        let mut outgoing = Request::new(Body::new(Upload::new(body, MOST_BODY, Arc::clone(&sent))));
        *outgoing.method_mut() = head.method;
        *outgoing.uri_mut() = target(&upstream.prefix, &head.uri).ok_or_else(|| {
            (Refusal::NotForwarded, "opsctl: the path of the request is not valid".to_owned())
        })?;
        *outgoing.headers_mut() =
            headers::of_request(&head.headers, &upstream.authority, credential.as_ref());
        let (response, sender) = self.send(outgoing).await?;
        let account = route.costs.then(|| self.accounts.open(session));
        Ok(self.download(response, sender, sent, account, permit))
    }

    async fn send(&self, request: Request<Body>) -> Result<(Response<Incoming>, Sender), (Refusal, String)> {
        let unreachable =
            |why: &str| (Refusal::Unreachable, format!("opsctl: the API cannot be reached: {why}"));
        match timeout(RESPONSE, self.connections.send(request)).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(ConnectError::Http(error))) if is_too_large(&error) => {
                Err((Refusal::TooLarge, format!("opsctl: the request is larger than {MOST_BODY} bytes")))
            }
            Ok(Err(error)) => Err(unreachable(&error.to_string())),
            Err(_) => Err(unreachable(&format!("no response within {} s", RESPONSE.as_secs()))),
        }
    }

    fn download(
        &self,
        response: Response<Incoming>,
        sender: Sender,
        sent: Arc<AtomicU64>,
        account: Option<Account>,
        permit: OwnedSemaphorePermit,
    ) -> Response<Body> {
        let (head, inner) = response.into_parts();
        let account = account.filter(|_| head.status.is_success());
        let body = Download {
            metered: account.map(|account| (Meter::new(form(&head.headers)), account)),
            sent,
            connection: Some((Arc::clone(&self.connections), sender)),
            permit: Some(permit),
            idle: Download::timeout(),
            inner,
        };
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = head.status;
        *response.headers_mut() = headers::of_response(&head.headers);
        response
    }
}

/// The path and the query of a request to the API.
fn target(prefix: &str, uri: &Uri) -> Option<Uri> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    format!("{prefix}{path}").parse().ok()
}

/// The form of a response, from its headers.
fn form(headers: &HeaderMap) -> Form {
    let is_encoded =
        headers.get(CONTENT_ENCODING).is_some_and(|value| value != HeaderValue::from_static("identity"));
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().map(str::trim) {
        _ if is_encoded => Form::Opaque,
        Some("text/event-stream") => Form::Events,
        Some("application/json") => Form::Json,
        _ => Form::Opaque,
    }
}

/// Whether a request failed because its body exceeds the limit.
fn is_too_large(error: &hyper::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if matches!(error.downcast_ref(), Some(body::BodyError::TooLarge(_))) {
            return true;
        }
        cause = error.source();
    }
    false
}
