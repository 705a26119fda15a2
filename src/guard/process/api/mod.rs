//! The client's requests to the model: forwarded over HTTPS with the key that only the guard has, within the spending limits.
//!
//! Nothing of a body is changed, and none is buffered.

mod accounts;
mod answer;
mod body;
mod credential;
mod headers;
mod meter;
mod model_name;
mod origin;
mod prices;
mod route;
#[cfg(test)]
mod rows;
mod settings;
mod under_way;
mod upstream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::{Request, Response, Uri};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::connections::{self, Limits, Peer, Stop};
use crate::machine::environment::Environment;
use accounts::{Account, Accounts};
use answer::Refusal;
use body::{BodyError, Download, Upload, Watched};
use meter::{Form, Meter};
use opsctl_machine::held_variables::variable;
use settings::Settings;
use under_way::{MOST, MOST_OF_PEER, Permit, UnderWay};
use upstream::{ConnectError, Connections, Sender};

/// The maximum size of a request in bytes, which is that of the API.
const MOST_BODY: u64 = 32 * 1024 * 1024;

/// How long the API may take until its response begins, as the client waits.
const RESPONSE: Duration = Duration::from_mins(10);

/// What a client of the API needs: it keeps its connections for further requests.
const LIMITS: Limits = Limits {
    head: Duration::from_mins(1),
    life: None,
    // For responses under way.
    to_end: Duration::from_secs(5),
    buffer: 256 * 1024,
};

/// What all requests share.
pub struct Api {
    settings: Settings,
    connections: Arc<Connections>,
    accounts: Accounts,
    under_way: UnderWay,
}

/// Prepares to serve. Errors are those of the settings, which are invalid input, of the policy and of the prices.
pub fn prepare(environment: &Environment) -> io::Result<Api> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let settings = Settings::from_variables(variable).map_err(invalid)?;
    let prices = prices::built_in().map_err(io::Error::other)?;
    Ok(Api {
        connections: Connections::new(settings.upstream.clone(), settings.proxy.clone()),
        settings,
        accounts: Accounts::start(environment.clone(), prices).map_err(io::Error::other)?,
        under_way: UnderWay::new(),
    })
}

/// Serves connections until the process ends.
pub async fn serve(api: Api, listener: TcpListener, stop: Stop) -> io::Result<()> {
    let accounts = api.accounts.clone();
    let api = Arc::new(api);
    let router = Router::new().fallback(forward).with_state(api);
    let result = connections::serve(listener, router, LIMITS, stop).await;
    accounts.flush().await;
    result
}

async fn forward(
    State(api): State<Arc<Api>>,
    Extension(peer): Extension<Peer>,
    request: Request<Body>,
) -> Response<Body> {
    api.answer(&peer, request).await.unwrap_or_else(|(refusal, message)| refusal.response(&message))
}

impl Api {
    async fn answer(&self, peer: &Peer, request: Request<Body>) -> Result<Response<Body>, (Refusal, String)> {
        let (head, body) = request.into_parts();
        if let Some(why) = origin::objection(&head, peer, &self.settings.hosts) {
            return Err((Refusal::Foreign, format!("opsctl: {why}")));
        }
        let path = head.uri.path();
        let Some(route) = route::of(&head.method, path) else {
            let path = opsctl_redact::shortened(path, 100);
            return Err((
                Refusal::NotForwarded,
                format!("opsctl: {} {path} is not forwarded to the API", head.method),
            ));
        };
        if headers::length(&head.headers).is_some_and(|length| length > MOST_BODY) {
            return Err(too_large());
        }
        let permit = self.under_way.take(peer.address).await.ok_or_else(|| {
            (
                Refusal::Busy,
                format!("opsctl: {MOST} requests to the API are under way, or {MOST_OF_PEER} of this peer; retry later"),
            )
        })?;
        let session = headers::session(&head.headers);
        if route.costs {
            self.accounts.check(&session).await?;
        }
        let credential = if route.needs_key {
            let read = self.settings.key.read();
            Some(read.map_err(|error| (Refusal::NoKey, format!("opsctl: {error}")))?)
        } else {
            None
        };
        let upstream = &self.settings.upstream;
        let sent = Arc::new(AtomicU64::new(0));
        let account = route.costs.then(|| Arc::new(self.accounts.open(session)));
        let upload = Upload::new(MOST_BODY, Arc::clone(&sent), account.clone());
        let mut outgoing = Request::new(Body::new(Watched::new(body, upload)));
        *outgoing.method_mut() = head.method;
        *outgoing.uri_mut() = target(&upstream.prefix, &head.uri).ok_or_else(|| {
            (Refusal::NotForwarded, "opsctl: the path of the request is not valid".to_owned())
        })?;
        *outgoing.headers_mut() =
            headers::of_request(&head.headers, &upstream.authority, credential.as_ref());
        let answered = self.send(outgoing).await;
        // Without a response, and for an error, the API charges nothing. If the client hangs up before, this is not reached.
        if let (Some(account), true) =
            (&account, answered.as_ref().map_or(true, |(response, _)| !response.status().is_success()))
        {
            account.cancel();
        }
        let (response, sender) = answered?;
        Ok(self.download(response, sender, sent, account, permit))
    }

    async fn send(&self, request: Request<Body>) -> Result<(Response<Incoming>, Sender), (Refusal, String)> {
        let unreachable =
            |why: &str| (Refusal::Unreachable, format!("opsctl: the API cannot be reached: {why}"));
        match timeout(RESPONSE, self.connections.send(request)).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(ConnectError::Http(error))) => Err(match of_body(&error) {
                Some(BodyError::TooLarge(_)) => too_large(),
                Some(BodyError::Slow) => {
                    (Refusal::Slow, "opsctl: the request did not arrive in time".to_owned())
                }
                _ => unreachable(&ConnectError::Http(error).to_string()),
            }),
            Ok(Err(error)) => Err(unreachable(&error.to_string())),
            Err(_) => Err(unreachable(&format!("no response within {} s", RESPONSE.as_secs()))),
        }
    }

    fn download(
        &self,
        response: Response<Incoming>,
        sender: Sender,
        sent: Arc<AtomicU64>,
        account: Option<Arc<Account>>,
        permit: Permit,
    ) -> Response<Body> {
        let (head, inner) = response.into_parts();
        let account = account.filter(|_| head.status.is_success());
        let download = Download {
            metered: account.map(|account| (Meter::new(form(&head.headers)), account)),
            sent,
            connection: Some((Arc::clone(&self.connections), sender)),
            permit: Some(permit),
        };
        let mut response = Response::new(Body::new(Watched::new(inner, download)));
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

fn too_large() -> (Refusal, String) {
    (Refusal::TooLarge, format!("opsctl: the request is larger than {MOST_BODY} bytes"))
}

/// The error of a request's body because of which the request failed.
fn of_body(error: &hyper::Error) -> Option<&BodyError> {
    let first = std::error::Error::source(error);
    std::iter::successors(first, |error| error.source()).find_map(|error| error.downcast_ref())
}
