//! Compose files: services, their containers, ports, web pages and folders.

use std::collections::BTreeMap;
use std::path::PathBuf;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::container::{Port, add_data, add_health, add_ports};
use super::labels;
use super::variables::Variables;
use crate::setup::import::draft::{Draft, Key, Service, push_new};
use crate::setup::import::known::Known;
use crate::setup::import::naming::{self, Names, is_name};

/// Ends the key of a value that replaces the one of the files before it: compose's tags `!override` and `!reset`.
const REPLACES: &str = "!override";

/// How deep `extends` is followed.
const DEEPEST: usize = 8;

/// A project: the files that compose merges.
#[derive(Debug)]
pub struct Project {
    /// Its files, relative to what the operator named, for comments.
    pub source: String,
    /// The folder to which its paths are relative, absolute.
    pub folder: PathBuf,
    /// Its name, and why that is a guess.
    pub name: (String, Option<&'static str>),
    /// Why it is not certain that its services run.
    pub doubt: Option<String>,
    /// Whether it is a stack of swarm.
    pub is_stack: bool,
    /// The merged content.
    pub content: Value,
    /// Its variables.
    pub variables: Variables,
}

/// The text of a compose file with tags of compose as part of the key.
pub fn with_tags_in_keys(text: &str) -> String {
    let tag = Regex::new(r"([\w-]+):[ \t]*!(?:override|reset)\b");
    tag.map_or_else(
        |_| text.to_owned(),
        |tag| tag.replace_all(text, format!("\"$1{REPLACES}\":")).into_owned(),
    )
}

/// A key without the tag that is part of it.
pub fn plain_key(key: &str) -> &str {
    key.strip_suffix(REPLACES).unwrap_or(key)
}

/// Merges compose files: maps by key, lists one behind the other, except where a tag states that the later value replaces the
/// earlier one.
pub fn merge(into: &mut Value, over: Value) {
    match (into, over) {
        (Value::Object(into), Value::Object(over)) => {
            for (key, value) in over {
                match key.strip_suffix(REPLACES) {
                    Some(plain) => drop(into.insert(plain.to_owned(), value)),
                    None => merge(into.entry(key).or_insert(Value::Null), value),
                }
            }
        }
        (Value::Array(into), Value::Array(over)) => {
            let new: Vec<Value> = over.into_iter().filter(|item| !into.contains(item)).collect();
            into.extend(new);
        }
        // Labels, variables and the like may be a map in one file and a list in another one.
        (Value::Array(into), Value::Object(over)) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            into.extend(over.iter().map(|(name, value)| Value::from(format!("{name}={}", text(value)))));
        }
        (into @ Value::Null, Value::Object(over)) => {
            *into = Value::Object(Map::new());
            merge(into, Value::Object(over));
        }
        (into, over) => *into = over,
    }
}

/// The content with every service that extends another one merged over it. `open` reads a file that one names, by its path as it
/// is written; what it does not return stays as it is.
pub fn extended(mut content: Value, open: &mut dyn FnMut(&str) -> Option<Value>) -> Value {
    let own = content.clone();
    for service in
        content.get_mut("services").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    {
        let over = service.take();
        *service = with_base(over, &own, open, DEEPEST);
    }
    content
}

fn with_base(
    mut service: Value,
    file: &Value,
    open: &mut dyn FnMut(&str) -> Option<Value>,
    left: usize,
) -> Value {
    let Some(extends) = service.get("extends").cloned().filter(|_| left > 0) else { return service };
    let name = extends.as_str().or_else(|| extends.get("service")?.as_str());
    let other = extends.get("file").and_then(Value::as_str).map(&mut *open);
    let base = match &other {
        None => Some(file),
        Some(other) => other.as_ref(),
    };
    let found =
        name.zip(base).and_then(|(name, file)| Some((file.get("services")?.get(name)?.clone(), file)));
    let Some((base, file)) = found else { return service };
    let mut merged = with_base(base, file, open, left - 1);
    if let Some(over) = service.as_object_mut() {
        over.remove("extends");
    }
    merge(&mut merged, service);
    merged
}

impl Project {
    /// The names of its compose services.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.services().map(|(key, _)| key.as_str())
    }

    /// The names of its services as they are drafted, each with whether a `container_name` states it.
    pub fn names<'a>(
        &'a self,
        known: &'a Known,
        is_common: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        self.services().map(move |(key, value)| self.names_of(key, value, known, &is_common).service)
    }

    fn services(&self) -> impl Iterator<Item = (&String, &Value)> {
        let runs = |value: &Value| {
            let count = value.get("scale").or_else(|| value.get("deploy")?.get("replicas"));
            count.and_then(Value::as_u64) != Some(0)
        };
        let all = self.content.get("services").and_then(Value::as_object).into_iter().flatten();
        all.filter(move |(_, value)| runs(value))
    }

    fn names_of(&self, key: &str, value: &Value, known: &Known, is_common: impl Fn(&str) -> bool) -> Names {
        let stated = value.get("container_name").and_then(|name| self.variables.text(name));
        naming::of_compose(known, &self.name.0, key, stated.as_deref(), is_common(key))
    }

    /// Adds its services. `is_common` states whether a compose service of this name is in several projects, `host` is the host
    /// that the files run on, if something states it.
    pub fn draft(&self, is_common: impl Fn(&str) -> bool, host: Option<(&str, &str)>, draft: &mut Draft) {
        // The names that its services get, by those that they would have if no other project had one of them.
        let mut added: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in self.services() {
            let names = self.names_of(key, value, &draft.known, &is_common);
            let mut service = Service::new(names.service, &self.source, true);
            if let Some(name) = value.get("container_name")
                && self.variables.text(name).is_none()
            {
                service.notes.push("guess: its container_name has a variable that is not known".to_owned());
            }
            service.notes.extend(self.doubt.iter().map(|doubt| format!("guess: {doubt}")));
            if let Some((host, why)) = host {
                service.guess(Key::Host, host, why);
            }
            if !self.is_stack {
                let is_guess = |name: &str| self.name.1.is_some() && name.starts_with(&self.name.0);
                for name in names.containers {
                    if is_guess(&name) && value.get("container_name").is_none() {
                        service.guess(Key::Containers, name, "with the name of its project");
                    } else {
                        service.add(Key::Containers, name);
                    }
                }
            }
            self.add_project(key, &mut service);
            if let Some(value) = value.as_object() {
                self.fill(value, &draft.known, &mut service);
                for (needed, why) in self.needs(value) {
                    if let Some((key, value)) = self.services().find(|(key, _)| **key == needed) {
                        let names = self.names_of(key, value, &draft.known, &is_common);
                        service.guess(Key::Needs, names.service, why);
                    }
                }
            }
            if value.get("restart").is_some_and(|policy| policy == "no" || policy == &Value::Bool(false)) {
                service.guess(Key::Unchecked, "container", "it is not restarted, and may have ended");
            }
            if self.is_awaited(key) {
                service.guess(Key::Unchecked, "container", "another service waits for its end");
            }
            added.insert(service.name.clone(), draft.add_described(service));
        }
        for service in
            draft.services.iter_mut().filter(|service| added.values().any(|own| *own == service.name))
        {
            for needed in service.keys.get_mut(&Key::Needs).into_iter().flat_map(|needs| &mut needs.values) {
                if let Some(name) = added.get(needed) {
                    needed.clone_from(name);
                }
            }
        }
    }

    /// Adds the name of the project, and in swarm that of its service.
    fn add_project(&self, key: &str, service: &mut Service) {
        let (project, guess) = &self.name;
        if !is_name(project) {
            return;
        }
        match guess {
            Some(why) => service.guess(Key::Projects, project, why),
            None => service.add(Key::Projects, project),
        }
        if self.is_stack {
            service.guess(Key::Containers, format!("{project}_{key}"), "its name as a service of swarm");
            service.add(Key::Containers, key);
        }
    }

    /// Whether a service starts after this one has ended.
    fn is_awaited(&self, key: &str) -> bool {
        let condition =
            |value: &Value| value.get("depends_on")?.get(key)?.get("condition")?.as_str().map(str::to_owned);
        self.services()
            .any(|(_, value)| condition(value).as_deref() == Some("service_completed_successfully"))
    }

    fn fill(&self, value: &Map<String, Value>, known: &Known, service: &mut Service) {
        if value.contains_key("extends") {
            service.notes.push("guess: `extends` names what is not there, and is not followed".to_owned());
        }
        let enabled = self.variables.get("COMPOSE_PROFILES").unwrap_or_default();
        let profiles: Vec<String> = self.list(value.get("profiles"));
        if !profiles.is_empty()
            && !profiles.iter().any(|profile| enabled.split(',').any(|name| name == profile))
        {
            service.notes.push(format!("guess: only runs with the profile {}", profiles.join(" or ")));
        }
        let mode = value.get("network_mode").and_then(|mode| self.variables.text(mode));
        let ports = match mode.as_deref() {
            Some("host") => {
                service.notes.push("in the network of its host: add its ports as `tcp`".to_owned());
                vec![]
            }
            Some(mode) if mode.starts_with("service:") || mode.starts_with("container:") => {
                service.notes.push(format!("in the network of {}", mode.rsplit(':').next().unwrap_or(mode)));
                vec![]
            }
            _ => self.ports(value.get("ports"), service),
        };
        let mut labels = self.pairs(value.get("labels"));
        labels.extend(self.pairs(value.get("deploy").and_then(|deploy| deploy.get("labels"))));
        let page = labels::page(&labels, &self.pairs(value.get("environment")));
        let test = value.get("healthcheck").and_then(|check| check.get("test"));
        add_health(page, &self.list(test).join(" "), &ports, service);
        for member in value.get("volumes").and_then(Value::as_array).into_iter().flatten() {
            if let Some((source, target)) = self.mount(member) {
                add_data(&source, &target, &self.folder, known, service);
            }
        }
    }

    /// The compose services whose restart restarts a service, too, with the reason.
    fn needs(&self, value: &Map<String, Value>) -> Vec<(String, &'static str)> {
        let mode = value.get("network_mode").and_then(|mode| self.variables.text(mode));
        let network = mode.as_deref().and_then(|mode| mode.strip_prefix("service:")).map(str::to_owned);
        let network = network.map(|needed| (needed, "it uses its network"));
        let depends = value.get("depends_on").and_then(Value::as_object).into_iter().flatten();
        let restarts = |(needed, how): (&String, &Value)| {
            let restarts = how.get("restart").and_then(Value::as_bool) == Some(true);
            restarts.then(|| (needed.clone(), "its depends_on restarts it"))
        };
        network.into_iter().chain(depends.filter_map(restarts)).collect()
    }

    /// The members of a list of texts, or one text.
    fn list(&self, value: Option<&Value>) -> Vec<String> {
        match value {
            Some(Value::Array(members)) => {
                members.iter().filter_map(|member| self.variables.text(member)).collect()
            }
            Some(value) => self.variables.text(value).into_iter().collect(),
            None => vec![],
        }
    }

    /// Labels or variables, which are a map or a list of `name=value`.
    fn pairs(&self, value: Option<&Value>) -> Vec<(String, String)> {
        match value {
            Some(Value::Object(map)) => map
                .iter()
                .filter_map(|(name, value)| Some((self.variables.expand(name)?, self.variables.text(value)?)))
                .collect(),
            other => self.list(other).iter().filter_map(|pair| labels::pair(pair)).collect(),
        }
    }

    /// Adds the published TCP ports; returns them with the ports of the container.
    fn ports(&self, value: Option<&Value>, service: &mut Service) -> Vec<(u16, u16)> {
        let members = value.and_then(Value::as_array).into_iter().flatten();
        for unknown in members.clone().filter_map(|member| self.unknown_port(member)) {
            let note = format!("port {unknown} has a variable that is not known: add it as `tcp`");
            push_new(&mut service.notes, note);
        }
        add_ports(members.filter_map(|member| self.port(member)), service)
    }

    /// A published port as it is written, if its variables are not known.
    fn unknown_port<'a>(&self, value: &'a Value) -> Option<&'a str> {
        let written = value.get("published").unwrap_or(value).as_str()?;
        self.variables.expand(written).is_none().then_some(written)
    }

    fn port(&self, value: &Value) -> Option<Port> {
        let Value::Object(long) = value else { return Port::of_text(&self.variables.text(value)?) };
        let get = |key: &str| self.variables.text(long.get(key)?);
        let protocol = get("protocol").unwrap_or_else(|| "tcp".to_owned());
        Port::new(get("host_ip"), &get("published")?, &get("target")?, &protocol)
    }

    /// The path of the host that it mounts, and the path in the container.
    fn mount(&self, value: &Value) -> Option<(String, String)> {
        let Value::Object(long) = value else {
            let text = self.variables.text(value)?;
            let mut parts = text.split(':');
            return Some((parts.next()?.to_owned(), parts.next().unwrap_or_default().to_owned()));
        };
        let get = |key: &str| self.variables.text(long.get(key)?);
        let is_bind = get("type").as_deref() == Some("bind");
        is_bind.then(|| Some((get("source")?, get("target").unwrap_or_default())))?
    }
}
