//! Judges requests to an engine.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_probe::health::line;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;

use super::calls::Call;
use super::container::{self, Container};
use super::memory::{Created, Endpoints, Memory};
use super::own::Own;
use super::registry;
use super::table::{Does, Kind, Row, Table};
use super::veil::{self, Veil};
use super::words::{self, Words};
use crate::gates::admission::{self, Admission, Ticket};
use crate::gates::approved::States;
use crate::gates::containers::reach::Reach;
use crate::gates::peer;
use crate::gates::proxy::request::{Asked, Ended, Judge, Pass, Peer, Refusal, Rewrite};
use crate::gates::proxy::target::Target;
use crate::gates::proxy::upstream::Upstream;
use crate::gates::remote::input::{self, Stdin};
use crate::guard::process::socket::peers::Peers;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::message::SessionFacts;
use crate::machine::request::Request as Question;

/// The most bytes of a body that is read.
const MOST_BODY: usize = 1024 * 1024;

/// Why what belongs to the guard is not changed.
pub const OWN: &str = "this is the guard's own container, or shares a volume or a folder with it, and the guard's keys are there; leave it as it is, or ask an operator";

/// The most requests that are judged at once: writers of the ledger wait for each other anyway.
const MOST_TURNS: usize = 4;

/// The standard input of a command, which is not known: no command that a shell reads from it is.
pub const STDIN: &str = " <\"$STDIN\"";

/// The judge of a gate before an engine.
pub struct Engine {
    environment: Arc<Environment>,
    peers: Peers,
    user: Option<u32>,
    pub(super) only_listed: bool,
    pub(super) host: Option<String>,
    /// The requests that it knows.
    pub table: Table,
    /// What it keeps of requests.
    pub memory: Arc<Memory>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) container: OnceCell<Option<Own>>,
    turns: Semaphore,
}

impl Judge for Engine {
    const UPGRADES: &'static [&'static str] = &["tcp", "h2c"];

    async fn judge(&self, asked: &mut Asked) -> Result<Pass, Refusal> {
        let uid = match asked.peer {
            Peer::User(uid) => Some(uid),
            Peer::Client(_) => self.user,
        };
        let uid =
            uid.ok_or_else(|| Refusal::forbidden("this gate has no user for clients with certificates"))?;
        if let Some(why) = self.peers.refusal(uid).filter(|_| matches!(asked.peer, Peer::User(_))) {
            return Err(Refusal::forbidden(why));
        }
        match self.decide(asked, uid).await {
            Err(refusal) if refusal.status == StatusCode::FORBIDDEN && self.watches() => {
                // No rule objects to it, but the gate does not know it.
                let url = format!("http://localhost{}", asked.target.path());
                let words =
                    ["curl", "--unix-socket", "/var/run/docker.sock", "-X", asked.method.as_str(), &url];
                let words = words.map(str::to_owned);
                Ok(self.admitted(uid, &line(&words)).await?.1)
            }
            decided => decided,
        }
    }

    fn refusal(&self, refusal: &Refusal, target: Option<&Target>) -> Value {
        let Refusal { status, message } = refusal;
        if target.is_some_and(|target| target.segments.iter().take(2).any(|part| part == "libpod")) {
            json!({ "cause": message, "message": message, "response": status.as_u16() })
        } else {
            json!({ "message": message })
        }
    }
}

impl Engine {
    /// The judge of a gate before this engine, which is that of a host of hosts.yaml, or of this machine.
    pub fn new(
        environment: Arc<Environment>,
        upstream: Arc<Upstream>,
        host: Option<String>,
    ) -> Result<Self, String> {
        Ok(Self {
            environment,
            peers: Peers::of_process(),
            user: None,
            only_listed: false,
            host,
            table: Table::built_in()?,
            memory: Arc::default(),
            upstream,
            container: OnceCell::new(),
            turns: Semaphore::new(MOST_TURNS),
        })
    }

    /// With limits: `user` is whose sessions clients with certificates belong to.
    #[must_use]
    pub fn limited(self, user: Option<u32>, only_listed: bool) -> Self {
        Self { user, only_listed, ..self }
    }

    async fn decide(&self, asked: &mut Asked, uid: u32) -> Result<Pass, Refusal> {
        let call = Call::read(asked, uid, &self.table)?;
        match call.does {
            Does::Changes(row) => self.change(asked, &call, row).await,
            _ if asked.upgrade.is_some() => {
                Err(Refusal::forbidden("this request cannot change the protocol"))
            }
            does => self.read(asked, &call, matches!(does, Does::Redacted)).await,
        }
    }

    /// The host of the engine, if it is one of hosts.yaml.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Whether the gate only records what it would refuse.
    fn watches(&self) -> bool {
        let monitor = installation::in_force(&self.environment, &mut vec![]).installation.policy.monitor;
        monitor.everything || monitor.gates.contains(&Gate::Engine)
    }

    /// A request that only reads. It has no body.
    async fn read(&self, asked: &mut Asked, call: &Call<'_>, is_redacted: bool) -> Result<Pass, Refusal> {
        asked.put(Bytes::new());
        if self.only_listed && call.is_of("containers", &asked.target) && call.place("name").is_some() {
            self.container(&asked.target, call, "name").await?;
        }
        if self.only_listed && asked.target.segments.ends_with(&["containers".to_owned(), "stats".to_owned()])
        {
            return Err(Refusal::forbidden("name one container: this gate does not list all of them"));
        }
        let is_list = self.only_listed
            && asked.target.segments.ends_with(&["containers".to_owned(), "json".to_owned()]);
        let listed = if is_list { Some(self.inventory().await?) } else { None };
        if !is_redacted && !is_list {
            return Ok(Pass::default());
        }
        let veil = Veil { listed, ..self.veil(is_redacted).await? };
        if !veil.redacts && veil.listed.is_none() && veil.own.is_empty() {
            return Ok(Pass::default());
        }
        Ok(Pass { rewrite: Some(rewritten(asked, veil)), ..Pass::default() })
    }

    /// What clients do not see of a response with variables.
    async fn veil(&self, is_redacted: bool) -> Result<Veil, Refusal> {
        let own = self.own().await?.map(|own| own.variables.clone()).unwrap_or_default();
        Ok(Veil { redacts: is_redacted && self.redacts(), listed: None, own })
    }

    fn redacts(&self) -> bool {
        installation::header_in_force(&self.environment).redact_output
    }

    async fn change(&self, asked: &mut Asked, call: &Call<'_>, row: &Row) -> Result<Pass, Refusal> {
        if asked.upgrade.is_some() && !matches!(row.kind, Kind::Begin | Kind::Attach | Kind::Session) {
            return Err(Refusal::forbidden("this request cannot change the protocol"));
        }
        let mut words = Words::default();
        words.query(&asked.target.query, &row.query).map_err(Refusal::forbidden)?;
        let mut body = self.body(asked, row, &mut words).await?;
        let segments = asked.target.segments.iter().cloned().map(Value::from).collect();
        if let Some(own) = self.own().await?
            && (own.is_named(&body) || own.is_named(&Value::Array(segments)))
        {
            return Err(Refusal::forbidden(OWN));
        }
        if row.kind == Kind::Create {
            return self.create(&asked.target, call, words, &body).await;
        }
        if let Some((option, value)) = words.host.first() {
            let value = opsctl_redact::shortened(value, 100);
            return Err(Refusal::forbidden(format!(
                "`{option} {value}` is not allowed by this gate; leave it out"
            )));
        }
        if row.kind == Kind::Registry {
            let name = call.bound("names", &asked.target);
            let asked = words.rest.first().unwrap_or(&name);
            self.is_known_registry(asked).await?;
        }
        let mut container = self.concerned(asked, call, &words, &mut body).await?;
        let acts = call.place("container").is_some() && !matches!(row.kind, Kind::Rename | Kind::Remove);
        if let Some(container) = container.as_ref().filter(|_| acts)
            && self.does_nothing(row.kind, call, container).await?
        {
            return Ok(Pass::default());
        }
        let reach = match container.as_mut().filter(|_| row.kind.works_within()) {
            Some(container) => self.reach(container).await?,
            None => Reach::Itself,
        };
        let concerned = if call.place("service").is_some() {
            let (id, name) = self.service(&asked.target, call).await?;
            set(asked, call.place("service"), id);
            vec![name]
        } else if call.place("pod").is_some() {
            let (id, containers) = self.pod(&asked.target, call).await?;
            set(asked, call.place("pod"), id);
            containers
        } else {
            let mut words: Vec<String> = container.iter().map(|container| container.word.clone()).collect();
            if let Some(container) = container.as_ref().filter(|_| row.starts()) {
                words.extend(self.required(call, container).await?);
            }
            words
        };
        let concerns = container.as_ref().filter(|_| row.kind == Kind::Connect);
        let connects = concerns.and_then(|container| {
            let network = call.place("name").and_then(|at| asked.target.segments.get(at));
            let network = network.map(String::as_str).unwrap_or_default();
            self.connected(call, container, network, &body, &mut words)
        });
        let is_whole = connects.is_none() && row.body.as_deref() != Some("stream") && !words.lacks;
        let text = connects.unwrap_or_else(|| call.text(row, &concerned, &words, &asked.target));
        match (row.kind, container) {
            (Kind::Stop, Some(container)) => {
                let (is_counted, pass) = self.admitted_as(call.uid, &text, States::of(is_whole)).await?;
                if !is_counted {
                    self.memory.stopped.put(format!("{} {}", call.uid, container.word), ());
                }
                Ok(pass)
            }
            (Kind::Start, Some(container)) => self.start(call.uid, &container, &text).await,
            (Kind::Remove, Some(container)) => {
                let created = self.memory.created.get(&container.id);
                // One that is to replace another one has done nothing yet.
                let is_unused = |created: &Created| {
                    !container.is_listed && created.may_be != Endpoints::Any
                        || created.name.is_some() && container::replaced(&container.name).is_some()
                };
                if created.as_ref().is_some_and(is_unused) {
                    // It was created through this gate, lately, and is no service.
                    return Ok(Pass::default());
                }
                let (_, pass) = self.admitted_as(call.uid, &text, States::of(is_whole)).await?;
                self.memory.removed.put(container.name.clone(), container);
                Ok(pass)
            }
            (Kind::Rename, Some(container)) => self.rename(&container, &words),
            (Kind::Exec, Some(container)) => self.exec(call, (&container, reach), words, &body).await,
            (Kind::Begin, _) => self.begin(asked, call),
            (Kind::Attach, Some(container)) => self.attach(asked, call, (&container, reach)),
            (Kind::Copy, Some(container)) => {
                self.copy(asked, call, (&container, reach), row.body.is_some()).await
            }
            (Kind::Commit, Some(container)) => self.commit(call, container, words).await,
            _ => {
                let mut pass = self.admitted_as(call.uid, &text, States::of(is_whole)).await?.1;
                if row.redacted {
                    pass.rewrite = Some(rewritten(asked, self.veil(true).await?));
                }
                Ok(pass)
            }
        }
    }

    /// Whether a request stops what does not run and has not its place yet; refuses all else of such a container.
    async fn does_nothing(
        &self,
        kind: Kind,
        call: &Call<'_>,
        container: &Container,
    ) -> Result<bool, Refusal> {
        let waits = self.has_its_place(call, container).await;
        match (kind, container.at("/State/Running")) {
            // Compose stops what is left of a recreation that was refused, too.
            (Kind::Stop, running) => Ok(waits.is_err() && *running == Value::Bool(false)),
            _ => waits.map(|()| false),
        }
    }

    /// An image is to be made of a container. With secrets in its variables it is not: who reads the image has them.
    async fn commit(&self, call: &Call<'_>, container: Container, mut words: Words) -> Result<Pass, Refusal> {
        if self.redacts() && opsctl_redact::json(&mut container.at("/Config/Env").clone()) > 0 {
            return Err(Refusal::forbidden(format!(
                "`{}` has variables with secrets, which an image of it would contain; ask an operator",
                container.name
            )));
        }
        let mut all = vec![call.program.to_owned(), "commit".to_owned(), container.word];
        all.append(&mut words.rest);
        Ok(self.admitted(call.uid, &line(&all)).await?.1)
    }

    /// Reads the body of a request as its row states it.
    async fn body(&self, asked: &mut Asked, row: &Row, words: &mut Words) -> Result<Value, Refusal> {
        let Some(name) = row.body.as_deref() else {
            let read = asked.read(MOST_BODY).await?;
            let is_empty = words::body(&read).is_ok_and(|body| body == json!({}));
            asked.put(Bytes::new());
            let refused = || Refusal::forbidden("this request has no body");
            return (is_empty || row.kind == Kind::Session).then_some(Value::Null).ok_or_else(refused);
        };
        let Some(keys) = self.table.bodies.get(name) else { return Ok(Value::Null) };
        let mut body = words::body(&asked.read(MOST_BODY).await?).map_err(Refusal::forbidden)?;
        words.body(&mut body, keys).map_err(Refusal::forbidden)?;
        let set = self.table.sets.get(name).into_iter().flatten();
        if let Some(entries) = body.as_object_mut() {
            entries.extend(set.map(|(key, value)| (key.clone(), Value::from(*value))));
        }
        asked.put(written(&body)?);
        Ok(body)
    }

    /// The container that a request concerns. The request names it by its ID then, so that it is the one that is judged.
    async fn concerned(
        &self,
        asked: &mut Asked,
        call: &Call<'_>,
        words: &Words,
        body: &mut Value,
    ) -> Result<Option<Container>, Refusal> {
        if call.place("container").is_some() {
            let container = self.container(&asked.target, call, "container").await?;
            set(asked, call.place("container"), container.id.clone());
            return Ok(Some(container));
        }
        if let Some(name) = &words.container {
            let container = self.named(call, name).await?;
            if let Some(entry) = body.get_mut("Container") {
                *entry = Value::from(container.id.as_str());
            }
            asked.put(written(body)?);
            return Ok(Some(container));
        }
        let Some((_, name)) = asked.target.query.iter_mut().find(|(name, _)| name == "container") else {
            return Ok(None);
        };
        let container = self.named(call, name).await?;
        name.clone_from(&container.id);
        Ok(Some(container))
    }

    /// Refuses a registry by an address or with a port, unless it is a host of the inventory: the engine would connect to it.
    async fn is_known_registry(&self, name: &str) -> Result<(), Refusal> {
        let Some(registry) = registry::by_address(name) else { return Ok(()) };
        if self.inventory().await?.find_host(registry::host(registry)).is_some() {
            return Ok(());
        }
        Err(Refusal::forbidden(format!(
            "the registry `{registry}` is refused, because the engine would connect to it: it is an address or has a port, and hosts.yaml does not list it as a host"
        )))
    }

    /// The inventory in force.
    pub async fn inventory(&self) -> Result<Inventory, Refusal> {
        let environment = Arc::clone(&self.environment);
        let read = move || installation::in_force(&environment, &mut vec![]).installation.inventory;
        spawn_blocking(read).await.map_err(|error| unanswered(&error.to_string()))
    }

    /// Judges a command. Returns whether it is counted for this request, and the request that settles it.
    pub async fn admitted(&self, uid: u32, text: &str) -> Result<(bool, Pass), Refusal> {
        self.admitted_as(uid, text, States::InPart).await
    }

    /// Judges a command that states this much of the request.
    pub async fn admitted_as(&self, uid: u32, text: &str, states: States) -> Result<(bool, Pass), Refusal> {
        let command = input::command(self.host.as_deref(), text, Stdin::Plain);
        let admission = self
            .asked_of(uid, move |request| admission::admit(Gate::Engine, (&command, states), request))
            .await?;
        match admission {
            Admission::Refused(reason) => Err(Refusal::forbidden(reason)),
            Admission::Passes(ticket) => {
                let is_counted = ticket.is_counted();
                Ok((is_counted, Pass { ended: Some(self.settles(uid, ticket)), ..Pass::default() }))
            }
        }
    }

    /// Refuses a command that gets input which is not read, if what it does depends on it.
    pub async fn ignores_input(&self, uid: u32, text: &str) -> Result<(), Refusal> {
        let (host, text) = (self.host.clone(), text.to_owned());
        let depends = self.asked_of(uid, move |request| input::depends(host.as_deref(), &text, request));
        if depends.await? { Err(Refusal::forbidden(input::UNREAD)) } else { Ok(()) }
    }

    /// Refuses a command to which this rule objects. Nothing is counted or recorded.
    pub async fn passes(&self, uid: u32, rule: &'static str, command: String) -> Result<(), Refusal> {
        let found = self.asked_of(uid, move |request| admission::objection(rule, &command, request)).await?;
        found.map_or(Ok(()), |reason| Err(Refusal::forbidden(reason)))
    }

    /// Answers a question with the request of a user, on a thread for blocking work.
    async fn asked_of<T: Send + 'static>(
        &self,
        uid: u32,
        question: impl FnOnce(&Question) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed =
            |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "opsctl: the request could not be judged");
        let _turn = self.turns.acquire().await.map_err(|_| unanswered("the gate ends"))?;
        let environment = Arc::clone(&self.environment);
        let asked = move || question(&peer::request(SessionFacts::default(), uid, &environment));
        spawn_blocking(asked).await.map_err(failed)
    }

    /// Settles a ticket with the status of the response. A connection that breaks leaves the outcome unknown, which counts.
    fn settles(&self, uid: u32, ticket: Ticket) -> Ended {
        let environment = Arc::clone(&self.environment);
        Box::new(move |status| {
            let Some(status) = status else { return };
            let is_done =
                status.is_success() || status.is_informational() || status == StatusCode::NOT_MODIFIED;
            let result = if is_done {
                ToolResult::Succeeded
            } else {
                ToolResult::Failed(format!("the engine answered with status {status}"))
            };
            spawn_blocking(move || {
                ticket.settle(&result, &peer::request(SessionFacts::default(), uid, &environment));
            });
        })
    }
}

/// Changes the response to a request, which must be readable.
fn rewritten(asked: &mut Asked, veil: Veil) -> Rewrite {
    asked.headers.remove(axum::http::header::ACCEPT_ENCODING);
    Box::new(move |head, body| veil::changed(&head.headers, body, &veil))
}

/// Replaces a part of the path.
fn set(asked: &mut Asked, place: Option<usize>, text: String) {
    if let Some(part) = place.and_then(|at| asked.target.segments.get_mut(at)) {
        *part = text;
    }
}

/// The bytes of a body that was read.
pub fn written(body: &Value) -> Result<Bytes, Refusal> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| unanswered(&error.to_string()))
}

/// The refusal of an option that gives a container rights of the host.
pub fn rights(option: &str, value: &str) -> Refusal {
    let value = opsctl_redact::shortened(value, 100);
    Refusal::forbidden(format!(
        "`{option} {value}` is allowed only for a container that replaces an equal one, because it can give rights of the host; leave it out, or ask an operator to create the container"
    ))
}

/// The refusal of a request for which the engine could not be asked.
pub fn unanswered(why: &str) -> Refusal {
    Refusal::new(
        StatusCode::BAD_GATEWAY,
        format!("the engine could not be asked ({why}); retry, or ask an operator"),
    )
}
