//! What the engine states of containers, services and pods when a request is judged.

use axum::body::{Body, Bytes};
use axum::http::header::HOST;
use axum::http::{Request, StatusCode};
use serde_json::Value;

use super::calls::Call;
use super::container::Container;
use super::judge::{Engine, OWN, unanswered};
use super::own::{self, Own};
use crate::gates::containers::reach::Reach;
use crate::gates::proxy::request::{ANSWERS, Refusal, whole};
use crate::gates::proxy::target::Target;
use crate::gates::proxy::upstream::Answer;

/// The most bytes of an answer of the engine.
const MOST_ANSWER: usize = 4 * 1024 * 1024;

/// Why no commands run in a container that reaches the guard or an engine.
const AROUND: &str = "this container has a folder that contains files of the guard, or a volume that may be any folder of the host, and the guard's keys are there; no commands run in it and no files of it are copied; ask an operator";
const REACHES: &str = "this container reaches a container engine without this gate, by its socket, a folder around it, or its address; no commands run in it and no files of it are copied; ask an operator";

impl Engine {
    /// The container that the path of a request names.
    pub(super) async fn container(
        &self,
        target: &Target,
        call: &Call<'_>,
        bound: &str,
    ) -> Result<Container, Refusal> {
        let name = call.place(bound).and_then(|at| target.segments.get(at));
        self.named(call, name.map(String::as_str).unwrap_or_default()).await
    }

    /// The container with this name, ID or beginning of an ID, unless it belongs to the guard or clients do not see it.
    pub(super) async fn named(&self, call: &Call<'_>, name: &str) -> Result<Container, Refusal> {
        let unknown = || Refusal::new(StatusCode::NOT_FOUND, format!("No such container: {name}"));
        let mut container = self.inspected(call, name).await?.ok_or_else(unknown)?;
        if let Some(own) = self.own().await? {
            // What is not known of a volume is no reason here.
            self.resolve(&mut container.json).await.ok();
            if own.has(&container.json) {
                return Err(Refusal::forbidden(OWN));
            }
        }
        if self.only_listed && !container.is_listed { Err(unknown()) } else { Ok(container) }
    }

    /// What a container reaches, of which the description gets what its volumes are. Those through which the guard's files or an engine
    /// are reached are refused.
    pub(super) async fn reach(&self, container: &mut Container) -> Result<Reach, Refusal> {
        // A volume for which the engine could not be asked is unknown.
        self.resolve(&mut container.json).await.ok();
        let reach = Reach::of(&container.json);
        if reach == Reach::Engine {
            return Err(Refusal::forbidden(REACHES));
        }
        let own = self.own().await?;
        let is_around = own.is_some_and(|own| own.is_within_reach_of(&container.json));
        if is_around { Err(Refusal::forbidden(AROUND)) } else { Ok(reach) }
    }

    /// The container of this gate, if it is one of the engine. What is kept does not depend on the request that is judged.
    pub(super) async fn own(&self) -> Result<Option<&Own>, Refusal> {
        let found = self.container.get_or_try_init(|| async {
            let Some(id) = own::id() else { return Ok(None) };
            let Some(mut json) = self.known(&["containers", &id, "json"]).await? else { return Ok(None) };
            self.resolve(&mut json).await?;
            let own = Own::read(&json);
            own.map(Some)
                .ok_or_else(|| unanswered("its description of this gate's container is not understood"))
        });
        Ok(found.await?.as_ref())
    }

    /// The containers that Podman starts with one, because that one needs them, and which do not run, as they are in commands.
    pub(super) async fn required(
        &self,
        call: &Call<'_>,
        container: &Container,
    ) -> Result<Vec<String>, Refusal> {
        // Podman knows this only with a version, which may be an older one.
        let path = ["v4.0.0", "libpod", "containers", &container.id, "json"].map(str::to_owned);
        let (status, body) = self.answer(&Target { segments: path.to_vec(), query: vec![] }).await?;
        // Docker knows no such request, and starts no other container.
        let is_unknown = String::from_utf8_lossy(&body).contains("page not found");
        let json = if status == StatusCode::NOT_FOUND && is_unknown { None } else { read(status, &body)? };
        let ids = json.as_ref().and_then(|json| json.get("Dependencies")?.as_array());
        let mut words = Vec::new();
        for id in ids.into_iter().flatten().filter_map(Value::as_str) {
            let other = self.named(call, id).await?;
            if *other.at("/State/Running") != Value::Bool(true) {
                words.push(other.word);
            }
        }
        Ok(words)
    }

    /// What the engine states of the container with this name, ID or beginning of an ID; `None`: there is none.
    pub async fn inspected(&self, call: &Call<'_>, name: &str) -> Result<Option<Container>, Refusal> {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !is_name {
            return Ok(None);
        }
        let Some(json) = self.state(call, &["containers", name, "json"]).await? else { return Ok(None) };
        let inventory = self.inventory().await?;
        let container = Container::read(json, &inventory, self.host.as_deref());
        container.map(Some).ok_or_else(|| unanswered("its description of a container is not understood"))
    }

    /// The ID and the name of the service of a swarm that the path of a request names.
    pub(super) async fn service(
        &self,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<(String, String), Refusal> {
        let name = call.place("service").and_then(|at| target.segments.get(at));
        let name = name.map(String::as_str).unwrap_or_default();
        let unknown = || Refusal::new(StatusCode::NOT_FOUND, format!("service {name} not found"));
        let json = self.state(call, &["services", name]).await?.ok_or_else(unknown)?;
        let text = |path: &str| json.pointer(path).and_then(Value::as_str).map(str::to_owned);
        text("/ID").zip(text("/Spec/Name")).ok_or_else(unknown)
    }

    /// The ID of a pod, and its containers as they are in commands; its name if it has none.
    pub(super) async fn pod(
        &self,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<(String, Vec<String>), Refusal> {
        let name = call.place("pod").and_then(|at| target.segments.get(at));
        let name = name.map(String::as_str).unwrap_or_default();
        let unknown = || Refusal::new(StatusCode::NOT_FOUND, format!("no pod with name or ID {name} found"));
        let json = self.state(call, &["pods", name, "json"]).await?.ok_or_else(unknown)?;
        let id = json.get("Id").and_then(Value::as_str).ok_or_else(unknown)?;
        let infra = json.get("InfraContainerID");
        let mut words = Vec::new();
        for container in json.get("Containers").and_then(Value::as_array).into_iter().flatten() {
            if let Some(own) = container.get("Id").filter(|id| Some(*id) != infra).and_then(Value::as_str) {
                words.push(self.named(call, own).await?.word);
            }
        }
        if words.is_empty() {
            words.push(name.to_owned());
        }
        Ok((id.to_owned(), words))
    }

    /// Asks the engine for JSON, through the interface of the call; `None`: it states that there is none.
    pub async fn state(&self, call: &Call<'_>, path: &[&str]) -> Result<Option<Value>, Refusal> {
        self.stated(call, path, vec![]).await
    }

    /// Asks the engine for JSON with these parameters.
    pub async fn stated(
        &self,
        call: &Call<'_>,
        path: &[&str],
        query: Vec<(String, String)>,
    ) -> Result<Option<Value>, Refusal> {
        let path = path.iter().map(|part| (*part).to_owned());
        let target = Target { segments: call.prefix.iter().cloned().chain(path).collect(), query };
        let (status, body) = self.answer(&target).await?;
        if status == StatusCode::NOT_FOUND { Ok(None) } else { read(status, &body) }
    }

    /// Asks the engine for JSON through the interface that all engines have, whichever one a client uses; `None`: it states that there
    /// is none.
    pub(super) async fn known(&self, path: &[&str]) -> Result<Option<Value>, Refusal> {
        let segments = path.iter().map(|part| (*part).to_owned()).collect();
        let (status, body) = self.answer(&Target { segments, query: vec![] }).await?;
        // An engine that does not know the request has this status, too.
        let is_none = || String::from_utf8_lossy(&body).to_lowercase().contains("no such ");
        if status == StatusCode::NOT_FOUND && is_none() { Ok(None) } else { read(status, &body) }
    }

    /// The status and the body of the engine's answer to a question of the gate.
    async fn answer(&self, target: &Target) -> Result<(StatusCode, Bytes), Refusal> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = target.uri().ok_or_else(|| unanswered("the name is too long"))?;
        let answer = self.sent(request).await?;
        let status = answer.status();
        let (body, _held) = whole(Body::new(answer.into_body()), MOST_ANSWER, &ANSWERS).await?;
        Ok((status, body))
    }

    /// Sends the gate's own question to the engine.
    pub(super) async fn sent(&self, mut request: Request<Body>) -> Result<Answer, Refusal> {
        request.headers_mut().insert(HOST, self.upstream.host.clone());
        self.upstream.send(request).await.map_err(|error| unanswered(&error))
    }
}

/// The JSON in an answer of the engine.
fn read(status: StatusCode, body: &Bytes) -> Result<Option<Value>, Refusal> {
    if status != StatusCode::OK {
        return Err(unanswered(&format!("it answers with status {status}")));
    }
    serde_json::from_slice(body).map(Some).map_err(|error| unanswered(&error.to_string()))
}
