//! Judges the requests of `kubectl`, `helm` and other clients of a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, USER_AGENT,
};
use axum::http::{Method, StatusCode};
use chrono::Utc;
use serde_json::{Value, json};

use super::body::{KNOWN, gives_host_rights};
use super::command::{self, STREAMS};
use super::kubeconfig::Token;
use super::releases::Releases;
use super::resource::{Named, Resource};
use super::{pods, protobuf, secrets, server};
use crate::gates::admission::{Admission, Ticket, admit_within, objection};
use crate::gates::containers::commands::Command;
use crate::gates::containers::mounts::{Mount, words_on_host};
use crate::gates::containers::reach::Reach;
use crate::gates::peer;
use crate::gates::proxy::request::{Asked, Judge, Pass, Refusal, has_nul};
use crate::gates::proxy::target::Target;
use crate::gates::proxy::upstream::Upstream;
use crate::gates::remote::input;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::message::SessionFacts;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_probe::health::line;

/// The maximum size of a body in bytes, as the API server has it.
const MOST: usize = 3 * 1024 * 1024;

/// Why a command in a pod gets no input.
const DEPENDS: &str =
    "what the command does depends on its input; write the input into the command, or leave out `-i`";

/// The part of a pod by which a container is added to it, which has the network of the pod, and may have its volumes.
const JOINED: &str = "ephemeralcontainers";

/// Why no stream leads to a pod that reaches more than itself.
const BEYOND: &str = "this pod has processes, rights, disks, a folder or the network of its node, or reaches a container engine, and what listens there would be reached without this gate; ask an operator";

/// The headers that are forwarded. Credentials, and headers by which a client acts as another user, are not.
const HEADERS: [HeaderName; 9] = [
    ACCEPT,
    CONTENT_TYPE,
    CONTENT_LENGTH,
    USER_AGENT,
    SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION,
    HeaderName::from_static("x-stream-protocol-version"),
    HeaderName::from_static("kubectl-command"),
];

/// The judge of a cluster.
pub struct Kubernetes {
    /// The settings of the guard.
    pub environment: Environment,
    /// The user of the agent, whose sessions ask.
    pub user: u32,
    /// The token for the API server.
    pub token: Option<Token>,
    /// The API server.
    pub upstream: Arc<Upstream>,
    /// The releases of Helm that are in progress.
    pub releases: Releases,
}

impl Judge for Kubernetes {
    const UPGRADES: &'static [&'static str] = &["spdy/3.1", "websocket"];

    async fn judge(&self, asked: &mut Asked) -> Result<Pass, Refusal> {
        let has_credentials = has_credentials(&asked.headers);
        self.head(asked)?;
        let reads = asked.method == Method::GET || asked.method == Method::HEAD;
        match Named::of(&asked.target) {
            Named::Server if reads && asked.upgrade.is_none() => Ok(Pass::default()),
            // Clients print no reason if they cannot ask what the server has.
            Named::Resource(_) if has_credentials => Err(Refusal::forbidden(
                "opsctl has the credentials for this cluster: remove --as, --token and other credentials",
            )),
            Named::Resource(resource) => self.resource(asked, &resource).await,
            Named::Server | Named::Unknown => {
                let path = asked.target.path();
                Err(unknown(&format!("{} {path} is not known", asked.method)))
            }
        }
    }

    fn refusal(&self, refusal: &Refusal, _: Option<&Target>) -> Value {
        let reason = match refusal.status {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::CONFLICT if refusal.message.ends_with("already exists") => "AlreadyExists",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
            StatusCode::BAD_GATEWAY => "ServiceUnavailable",
            _ => "BadRequest",
        };
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": refusal.message, "reason": reason, "code": refusal.status.as_u16(),
        })
    }
}

/// Whether a request has credentials of its own, or is to be made as another user.
fn has_credentials(headers: &HeaderMap) -> bool {
    let is_one = |name: &HeaderName| *name == AUTHORIZATION || name.as_str().starts_with("impersonate-");
    let has_token =
        |protocols: &HeaderValue| protocols.to_str().is_ok_and(|text| text.contains("bearer.authorization"));
    headers.keys().any(is_one) || headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().any(has_token)
}

/// A request that the gate cannot judge.
fn unknown(why: &str) -> Refusal {
    Refusal::forbidden(format!("opsctl cannot judge this request: {why}"))
}

impl Kubernetes {
    /// Replaces the headers: only known ones are forwarded, with the credentials of the guard.
    fn head(&self, asked: &mut Asked) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for name in HEADERS {
            for value in asked.headers.get_all(&name) {
                if value.to_str().is_err() {
                    return Err(unknown(&format!("its header `{name}` is not text")));
                }
                headers.append(&name, value.clone());
            }
        }
        if let Some(token) = &self.token {
            let value = token.header().map_err(|why| Refusal::new(StatusCode::BAD_GATEWAY, why))?;
            headers.insert(AUTHORIZATION, value);
        }
        asked.headers = headers;
        Ok(())
    }

    async fn resource(&self, asked: &mut Asked, resource: &Resource) -> Result<Pass, Refusal> {
        let is_stream = resource.part.as_deref().is_some_and(|part| STREAMS.contains(&part));
        if asked.upgrade.is_some() && !is_stream {
            return Err(unknown("only exec, attach and port-forward may change the protocol"));
        }
        let (body, is_apply) = self.body(asked, resource, is_stream).await?;
        let redacts = resource.is_secret() && self.redacts();
        if redacts {
            let value = |name: &str| asked.target.value(name).map_err(unknown);
            if !matches!(value("watch")?, None | Some("false" | "0")) {
                return Err(unknown(
                    "the values of Secrets are redacted, which a watch cannot do; list them instead",
                ));
            }
            if secrets::reveals(&body) {
                return Err(unknown("a JSON patch of Secrets may only `add`, `replace` and `remove`"));
            }
            if secrets::is_redacted(&body.to_string()) {
                return Err(unknown("a value in it was redacted, and would replace the real one"));
            }
            asked.headers.insert(ACCEPT, as_json(asked.headers.get(ACCEPT)));
        }
        let pod = self.pod(&asked.headers, &asked.method, resource).await?;
        if is_stream {
            name_container(asked, resource, pod.as_ref())?;
        }
        let Asked { method, target, .. } = &*asked;
        let workload = pod.as_ref().and_then(workload_of);
        let stated = command::Asked { method, resource, target, body: &body, is_apply, workload };
        let mut command = stated.command().map_err(|why| unknown(&why))?;
        let is_joined = resource.part.as_deref() == Some(JOINED) && *method != Method::GET;
        if (is_stream || is_joined)
            && let Some(pod) = &pod
        {
            self.within(pod, &stated, &asked.headers).await?;
        }
        if let Some(text) = stated.with_input()
            && self.depends(text).await?
        {
            return Err(unknown(DEPENDS));
        }
        let is_dry = stated.is_dry().map_err(|why| unknown(&why))?;
        if is_dry && redacts && [Method::POST, Method::PUT, Method::PATCH].contains(method) {
            return Err(unknown(
                "a dry run of a change of a Secret shows whether a value is the real one; leave it out",
            ));
        }
        if !is_dry && self.changes_host_rights(&stated, &asked.headers).await? {
            command = format!("{command}\ndocker run --privileged {}", resource.word());
        }
        let within = if is_dry { Vec::new() } else { self.releases.around(&stated) };
        // A release of Helm writes such objects, and has counted.
        if let Some(change) = stated.change().filter(|_| !is_dry && within.is_empty()) {
            command = format!("{command}\n{change}");
        }
        let ticket = self.admit(command.clone(), within).await?;
        if !is_dry {
            self.releases.note(&stated, &command);
        }
        let mut pass = Pass::default();
        if redacts {
            pass.rewrite = Some(Box::new(|_, body| redacted(&body)));
        }
        if ticket.is_counted() {
            let (environment, user) = (self.environment.clone(), self.user);
            pass.ended = Some(Box::new(move |status| {
                // Without a status, the outcome stays unknown, and counts.
                let Some(status) = status else { return };
                tokio::task::spawn_blocking(move || {
                    let result = if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
                        ToolResult::Succeeded
                    } else {
                        ToolResult::Failed(format!("the API server answered {status}"))
                    };
                    ticket.settle(&result, &peer::request(SessionFacts::default(), user, &environment));
                });
            }));
        }
        Ok(pass)
    }

    /// The pod that is deleted or changed, or to which a stream leads, as the API server states it: names are cut, and the name of a pod does
    /// not state what it belongs to. `None` if there is none.
    async fn pod(
        &self,
        headers: &HeaderMap,
        method: &Method,
        resource: &Resource,
    ) -> Result<Option<Value>, Refusal> {
        let Resource { group, kind, namespace, name, part } = resource;
        let is_concerned = match part.as_deref() {
            None => [Method::DELETE, Method::PATCH].contains(method),
            Some(part) => part == "eviction" || part == JOINED || STREAMS.contains(&part),
        };
        let (Some(namespace), Some(name)) = (namespace, name) else { return Ok(None) };
        if !is_concerned || !group.is_empty() || kind != "pods" {
            return Ok(None);
        }
        let path = ["api", "v1", "namespaces", namespace, "pods", name];
        let target = Target { segments: path.map(str::to_owned).to_vec(), query: vec![] };
        server::object(&target, headers, &self.upstream).await
    }

    /// The persistent volumes behind the claims of a pod, by the name of the volume in the pod. What the API server does not state is
    /// empty.
    async fn claimed(&self, pod: &Value, headers: &HeaderMap) -> Result<BTreeMap<String, Value>, Refusal> {
        let namespace = pod.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let mut found = BTreeMap::new();
        for (name, claim) in pods::claims(pod) {
            let object = async |path: &[&str]| {
                let segments = path.iter().map(|part| (*part).to_owned()).collect();
                server::object(&Target { segments, query: vec![] }, headers, &self.upstream).await
            };
            let claims = ["api", "v1", "namespaces", namespace, "persistentvolumeclaims", &claim];
            let claim = object(&claims).await?.unwrap_or_default();
            let volume = match claim.pointer("/spec/volumeName").and_then(Value::as_str) {
                Some(volume) => object(&["api", "v1", "persistentvolumes", volume]).await?,
                None => None,
            };
            found.insert(
                name,
                volume.and_then(|mut volume| Some(volume.get_mut("spec")?.take())).unwrap_or_default(),
            );
        }
        Ok(found)
    }

    /// Refuses a stream of a pod, or a container in it, that reaches its node, an engine or secret files of the node through it.
    async fn within(
        &self,
        pod: &Value,
        stated: &command::Asked<'_>,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let container = stated.target.value("container").map_err(unknown)?;
        let described = pods::described(pod, container, &self.claimed(pod, headers).await?);
        let reach = Reach::of(&described);
        match stated.resource.part.as_deref() {
            Some("exec") => {}
            Some("attach") if reach != Reach::Engine => return Ok(()),
            _ if reach == Reach::Itself => return Ok(()),
            _ => return Err(Refusal::forbidden(BEYOND)),
        }
        let words = stated.command_words();
        let folder = pods::folder(&described);
        let command = Command { words: &words, folder, variables: &[] };
        let changes_locale = || input::changes_locale(&words.join(" ")).then_some(input::LOCALE);
        if let Some(why) = command.refusal(reach).or_else(changes_locale) {
            return Err(Refusal::forbidden(why));
        }
        let place = if folder.is_empty() { vec![] } else { vec!["--workdir", folder] };
        let all = ["docker", "exec"].into_iter().chain(place).chain(["pod"]).map(str::to_owned);
        let all: Vec<String> = all.chain(words).collect();
        for there in words_on_host(&Mount::of(&described), &all) {
            let (environment, user) = (self.environment.clone(), self.user);
            let found = tokio::task::spawn_blocking(move || {
                let request = peer::request(SessionFacts::default(), user, &environment);
                objection("secret", &line(&there), &request)
            });
            let failed = |_| Refusal::new(StatusCode::BAD_GATEWAY, "opsctl could not judge this request");
            if let Some(reason) = found.await.map_err(failed)? {
                return Err(Refusal::forbidden(reason));
            }
        }
        Ok(())
    }

    /// Whether a patch changes what runs with the rights of the host: the object that results has them, and a part of it differs that
    /// a restart, the number of replicas, labels and annotations leave alone.
    async fn changes_host_rights(
        &self,
        stated: &command::Asked<'_>,
        headers: &HeaderMap,
    ) -> Result<bool, Refusal> {
        let command::Asked { method, resource, target, body, .. } = stated;
        let is_workload =
            KNOWN.workloads.contains(&resource.word()) && protobuf::is_built_in(&resource.group);
        if *method != Method::PATCH || resource.part.is_some() || !is_workload || stated.only_counts() {
            return Ok(false);
        }
        let patch = Bytes::from(body.to_string());
        let result = server::dry_run(method, target, patch, headers, &self.upstream).await?;
        if !gives_host_rights(&result) {
            return Ok(false);
        }
        let object = Target { segments: target.segments.clone(), query: vec![] };
        let current = server::object(&object, headers, &self.upstream).await?;
        Ok(current.is_none_or(|current| runs(current) != runs(result)))
    }

    /// Whether what a command does depends on its input.
    async fn depends(&self, text: String) -> Result<bool, Refusal> {
        let (environment, user) = (self.environment.clone(), self.user);
        let depends = tokio::task::spawn_blocking(move || {
            input::depends(None, &text, &peer::request(SessionFacts::default(), user, &environment))
        });
        depends
            .await
            .map_err(|_| Refusal::new(StatusCode::BAD_GATEWAY, "opsctl could not judge this request"))
    }

    /// The body as a value, and whether it is applied by the server. The value is forwarded, so the server reads what was judged.
    async fn body(
        &self,
        asked: &mut Asked,
        resource: &Resource,
        is_stream: bool,
    ) -> Result<(Value, bool), Refusal> {
        let has_body = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&asked.method);
        if !has_body || is_stream {
            asked.body = Body::empty();
            asked.headers.remove(CONTENT_LENGTH);
            return Ok((Value::Null, false));
        }
        let kind = asked.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_owned();
        let invalid = |error: String| unknown(&format!("its body cannot be read ({error})"));
        if kind == protobuf::TYPE {
            let read = protobuf::read(asked, resource, MOST, &self.upstream).await?;
            return read.map(|value| (value, false)).ok_or_else(|| invalid(format!("`{kind}`; send JSON")));
        }
        let bytes = asked.read(MOST).await?;
        if bytes.is_empty() {
            return Ok((Value::Null, false));
        }
        let is_applied = kind == "application/apply-patch+yaml";
        // Other requests do not wait for large bodies.
        let read = tokio::task::spawn_blocking(move || parsed(&bytes, &kind)).await;
        let (value, text) = read.map_err(|error| error.to_string()).flatten().map_err(invalid)?;
        asked.headers.insert(CONTENT_LENGTH, text.len().into());
        asked.body = Body::from(text);
        Ok((value, is_applied))
    }

    fn redacts(&self) -> bool {
        installation::header_in_force(&self.environment).redact_output
    }

    /// Judges a command on a thread that may wait for the ledger. It may be a part of one of the commands `within`.
    async fn admit(&self, command: String, within: Vec<String>) -> Result<Ticket, Refusal> {
        let (environment, user) = (self.environment.clone(), self.user);
        let admitted = tokio::task::spawn_blocking(move || {
            let mut request = peer::request(SessionFacts::default(), user, &environment);
            request.now = Utc::now();
            admit_within(Gate::Kubernetes, &command, &within, &request)
        });
        match admitted.await {
            Ok(Admission::Passes(ticket)) => Ok(ticket),
            Ok(Admission::Refused(reasons)) => Err(Refusal::forbidden(reasons)),
            Err(_) => Err(Refusal::new(StatusCode::BAD_GATEWAY, "opsctl could not judge this request")),
        }
    }
}

/// A body as a value and as JSON, which is YAML, too. The error states why it cannot be read.
fn parsed(body: &[u8], kind: &str) -> Result<(Value, String), String> {
    let value: Value = if kind.ends_with("yaml") {
        let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
        serde_saphyr::from_str(text).map_err(|error| error.to_string())?
    } else if kind.ends_with("json") || kind.is_empty() {
        serde_json::from_slice(body).map_err(|error| error.to_string())?
    } else {
        return Err(format!("`{kind}`; send JSON"));
    };
    if !value.is_object() && !value.is_array() {
        return Err("it is neither an object nor a list".to_owned());
    }
    if has_nul(&value) {
        return Err("it has a text with NUL".to_owned());
    }
    let text = value.to_string();
    Ok((value, text))
}

/// States the container of a stream by its name, so that it is the one that is judged.
fn name_container(asked: &mut Asked, resource: &Resource, pod: Option<&Value>) -> Result<(), Refusal> {
    if resource.word() != "pods" {
        return Err(unknown(&format!("streams of {} are not known", resource.word())));
    }
    let pod = pod.ok_or_else(|| unknown("the API server does not state this pod"))?;
    let stated = asked.target.value("container").map_err(unknown)?;
    // A port-forward leads to all of them.
    let is_of_one = resource.part.as_deref() != Some("portforward");
    let name = if is_of_one { pods::container(pod, stated).map_err(|why| unknown(&why))? } else { None };
    asked.target.query.retain(|(key, _)| key != "container");
    asked.target.query.extend(name.map(|name| ("container".to_owned(), name)));
    Ok(())
}

/// The workload that a pod belongs to: `deployments/web`.
fn workload_of(pod: &Value) -> Option<String> {
    let owners = pod.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::from(true)))?;
    let name = owner.get("name")?.as_str()?;
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let name = Some(name).filter(|name| is_plain && !name.starts_with('-'))?;
    match owner.get("kind")?.as_str()? {
        "StatefulSet" => Some(format!("statefulsets/{name}")),
        "DaemonSet" => Some(format!("daemonsets/{name}")),
        "ReplicaSet" => {
            let hash = pod.pointer("/metadata/labels/pod-template-hash")?.as_str()?;
            Some(format!("deployments/{}", name.strip_suffix(hash)?.strip_suffix('-')?))
        }
        _ => None,
    }
}

/// What runs by an object: all of it except what identifies and counts its pods.
fn runs(mut object: Value) -> Value {
    for (parent, key) in [
        ("", "metadata"),
        ("", "status"),
        ("/spec", "replicas"),
        ("/spec", "suspend"),
        ("/spec", "paused"),
        ("/spec/template", "metadata"),
        ("/spec/jobTemplate/spec/template", "metadata"),
    ] {
        if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(key);
        }
    }
    object
}

/// What a client accepts, as far as it is JSON: only that can be redacted.
fn as_json(accepted: Option<&HeaderValue>) -> HeaderValue {
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let kinds = accepted.split(',').map(str::trim).filter(|kind| kind.starts_with("application/json"));
    let kinds = kinds.collect::<Vec<_>>().join(",");
    HeaderValue::try_from(kinds)
        .ok()
        .filter(|kinds| !kinds.is_empty())
        .unwrap_or_else(|| HeaderValue::from_static("application/json"))
}

/// A response without the values of Secrets.
fn redacted(body: &Bytes) -> Result<Bytes, String> {
    let mut value: Value = serde_json::from_slice(body).map_err(|error| {
        format!("the values of Secrets cannot be redacted: the response is no JSON ({error})")
    })?;
    secrets::redact(&mut value);
    Ok(value.to_string().into())
}
