//! What an engine states of a container.

use opsctl_policy::model::installation::container::Container as Described;
use opsctl_policy::model::installation::identity::Identity;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_reader::terms::action::Target;
use opsctl_reader::terms::reference::Form;
use serde_json::{Value, json};

use super::table::Keys;
use super::words::{Words, is_empty};

/// The labels of a container that name what it belongs to, in the order in which a container is described.
const LABELS: [&str; 4] = [
    "com.docker.compose.service",
    "com.docker.swarm.service.name",
    "PODMAN_SYSTEMD_UNIT",
    "io.kubernetes.pod.name",
];

/// The length of the beginning of an ID in the name of a container that replaces another one.
const SHORT_ID: usize = 12;

/// The name that a container gets when it has replaced another one, and the beginning of the ID of that one:
/// `994b1c2d3e4f_media-jellyfin-1`.
pub fn replaced(name: &str) -> Option<(&str, &str)> {
    let (id, name) = name.split_once('_')?;
    let is_id = id.len() == SHORT_ID && id.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
    is_id.then_some((id, name))
}

/// A container.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The full ID.
    pub id: String,
    /// The name.
    pub name: String,
    /// What it is in commands: the name by which hosts.yaml knows it.
    pub word: String,
    /// Whether hosts.yaml lists it.
    pub is_listed: bool,
    /// All that the engine states.
    pub json: Value,
}

impl Container {
    /// Reads the answer to `GET /containers/NAME/json`; `None` if it is not understood.
    pub fn read(json: Value, inventory: &Inventory, host: Option<&str>) -> Option<Self> {
        let id = json.get("Id")?.as_str()?.to_owned();
        let name = json.get("Name")?.as_str()?.trim_start_matches('/').to_owned();
        let (word, is_listed) = word(&id, &name, json.pointer("/Config/Labels"), (inventory, host))?;
        Some(Self { id, name, word, is_listed, json })
    }

    /// The part of a container's description at this path.
    pub fn at(&self, path: &str) -> &Value {
        self.json.pointer(path).unwrap_or(&Value::Null)
    }

    /// Whether a body states nothing but what this container already runs: command, user, folder and variables.
    pub fn runs(&self, body: &Value) -> bool {
        let is = |key: &str| {
            let (own, stated) = (self.at(&format!("/Config/{key}")), body.get(key).unwrap_or(&Value::Null));
            is_empty(stated) || own == stated
        };
        let variables = body.get("Env").and_then(Value::as_array);
        let own = self.at("/Config/Env").as_array();
        let has = |variable: &Value| own.is_some_and(|own| own.contains(variable));
        ["Cmd", "Entrypoint", "User", "WorkingDir"].into_iter().all(is)
            && variables.is_none_or(|variables| variables.iter().all(has))
    }

    /// The rights of the host that the container has.
    pub fn host(&self, keys: &Keys) -> Vec<(String, String)> {
        let mut words = Words::default();
        for (key, value) in self.at("/HostConfig").as_object().into_iter().flatten() {
            // What is not known gives no right.
            let _ = words.body(&mut json!({ "HostConfig": { key: value } }), keys);
        }
        for key in ["Healthcheck", "Volumes", "Env"] {
            let _ = words.body(&mut json!({ key: self.at(&format!("/Config/{key}")) }), keys);
        }
        words.host
    }
}

/// The name by which hosts.yaml knows a container of a host, and whether it lists it. `None` if the name is not that of a container.
/// A container that is to replace another one has the name of that one.
pub fn word(
    id: &str,
    name: &str,
    labels: Option<&Value>,
    (inventory, host): (&Inventory, Option<&str>),
) -> Option<(String, bool)> {
    let name = std::iter::successors(Some(name), |name| replaced(name).map(|(_, last)| last)).last()?;
    let label = |label: &str| labels.and_then(|labels| labels.get(label)?.as_str()).unwrap_or_default();
    let described = Described::read(&format!("{id}|{name}|{}", LABELS.map(label).join("|")))?;
    let identify = |target: &Target, form| inventory.identify(target, form, host, None);
    let listed = described.targets().into_iter().find_map(|(target, form)| {
        let Identity::Listed(services) = identify(&target, form) else { return None };
        let own = target.name().unwrap_or(name);
        let is_known =
            identify(&Target::Container(own.to_owned()), Form::Name) == Identity::Listed(services.clone());
        if is_known { Some(own.to_owned()) } else { services.into_iter().next() }
    });
    Some(listed.map_or_else(|| (name.to_owned(), false), |word| (word, true)))
}
