//! Ansible: hosts of inventories in INI and YAML with the variables beside them, and services of playbooks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::setup::import::draft::{Draft, Host, Key, Service, push_new};
use crate::setup::import::naming::{self, is_name};
use opsctl_policy::paths::glob::matches;
use opsctl_reader::manifest::playbook;

/// An inventory: its groups, and the variables of groups and hosts.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Hosts in their order, with the groups that list them.
    hosts: Vec<(String, Vec<String>)>,
    /// The groups that are part of a group.
    children: BTreeMap<String, Vec<String>>,
    host_variables: BTreeMap<String, Map<String, Value>>,
    group_variables: BTreeMap<String, Map<String, Value>>,
}

/// The group of all hosts.
const ALL: &str = "all";

/// Names of a variable: the current one, and the one of old releases.
const ADDRESS: [&str; 2] = ["ansible_host", "ansible_ssh_host"];
const USER: [&str; 2] = ["ansible_user", "ansible_ssh_user"];
const BECOME: [&str; 1] = ["ansible_become"];
const PORT: [&str; 2] = ["ansible_port", "ansible_ssh_port"];

/// Connections of Ansible that are ssh.
const SSH: [&str; 5] = ["ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh"];

/// Beginnings of encrypted values: those of Ansible and sops.
const ENCRYPTED: [&str; 2] = ["$ANSIBLE_VAULT", "ENC["];

/// Modules that change nothing.
const CHECKS: [&str; 14] = [
    "assert",
    "debug",
    "fail",
    "getent",
    "package_facts",
    "ping",
    "service_facts",
    "set_fact",
    "setup",
    "slurp",
    "stat",
    "uri",
    "wait_for",
    "wait_for_connection",
];

/// The value of a variable.
#[derive(Debug, PartialEq, Eq)]
enum Variable {
    Missing,
    Text(String),
    /// An expression or an encrypted value.
    Unknown,
}

impl Variable {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Missing | Self::Unknown => None,
        }
    }

    /// A comment on a variable whose value is not known.
    fn doubt(&self, name: &str) -> Option<String> {
        (*self == Self::Unknown).then(|| format!("guess: its {name} is an expression"))
    }
}

impl Inventory {
    /// Reads an inventory in INI.
    pub fn of_ini(text: &str) -> Self {
        let mut inventory = Self::default();
        let (mut group, mut kind) = ("ungrouped".to_owned(), String::new());
        for line in
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
        {
            if let Some(section) = line.strip_prefix('[').and_then(|line| Some(line.split_once(']')?.0)) {
                let (name, of) = section.split_once(':').unwrap_or((section, ""));
                (group, kind) = (name.trim().to_owned(), of.trim().to_owned());
                continue;
            }
            let words = words(line);
            let Some((first, rest)) = words.split_first() else { continue };
            match kind.as_str() {
                "children" => inventory.add_child(&group, first),
                "vars" => {
                    if let Some((name, value)) = line.split_once('=') {
                        inventory.set_group(&group, name.trim(), Value::from(unquoted(value.trim())));
                    }
                }
                _ => {
                    for host in expanded(first) {
                        let (host, port) = with_port(&host);
                        inventory.add_host(&group, host);
                        let pairs = rest.iter().filter_map(|word| word.split_once('='));
                        let pairs = pairs.chain(port.map(|port| (PORT[0], port)));
                        for (name, value) in pairs {
                            inventory.set_host(host, name, Value::from(value));
                        }
                    }
                }
            }
        }
        inventory
    }

    /// Reads an inventory in YAML; `None` if the text is not one.
    pub fn of_yaml(text: &str) -> Option<Self> {
        let content: Value = serde_saphyr::from_str(text).ok()?;
        let groups = content.as_object()?;
        let is_group = |group: &Value| {
            group.as_object().is_some_and(|group| {
                !group.is_empty()
                    && group.keys().all(|key| matches!(key.as_str(), "hosts" | "children" | "vars"))
            })
        };
        if groups.is_empty() || !groups.values().all(is_group) {
            return None;
        }
        let mut inventory = Self::default();
        groups.iter().for_each(|(name, group)| inventory.add_group(name, group, 0));
        (!inventory.hosts.is_empty()).then_some(inventory)
    }

    fn add_group(&mut self, name: &str, group: &Value, depth: usize) {
        const DEEPEST: usize = 32;
        let entries =
            |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        for (pattern, variables) in entries(group.get("hosts")) {
            for host in expanded(&pattern) {
                self.add_host(name, &host);
                for (variable, value) in entries(Some(&variables)) {
                    self.set_host(&host, &variable, value);
                }
            }
        }
        for (variable, value) in entries(group.get("vars")) {
            self.set_group(name, &variable, value);
        }
        for (child, content) in entries(group.get("children")) {
            self.add_child(name, &child);
            if depth < DEEPEST {
                self.add_group(&child, &content, depth + 1);
            }
        }
    }

    /// Whether it has a host.
    pub fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Adds the variables of a file of `host_vars` or `group_vars`. Text that is not a map, such as an encrypted file, has none.
    pub fn add_file(&mut self, is_group: bool, name: &str, text: &str) {
        let Ok(Value::Object(variables)) = serde_saphyr::from_str::<Value>(text) else { return };
        for (variable, value) in variables {
            if is_group {
                self.set_group(name, &variable, value);
            } else if self.hosts.iter().any(|(host, _)| host == name) {
                self.set_host(name, &variable, value);
            }
        }
    }

    fn add_host(&mut self, group: &str, host: &str) {
        let group = group.to_owned();
        match self.hosts.iter_mut().find(|(known, _)| known == host) {
            Some((_, groups)) if groups.contains(&group) => {}
            Some((_, groups)) => groups.push(group),
            None => self.hosts.push((host.to_owned(), vec![group])),
        }
    }

    fn add_child(&mut self, group: &str, child: &str) {
        push_new(self.children.entry(group.to_owned()).or_default(), child.to_owned());
    }

    fn set_host(&mut self, host: &str, name: &str, value: Value) {
        self.host_variables.entry(host.to_owned()).or_default().insert(name.to_owned(), value);
    }

    fn set_group(&mut self, group: &str, name: &str, value: Value) {
        self.group_variables.entry(group.to_owned()).or_default().insert(name.to_owned(), value);
    }

    /// The groups of a host, the nearest first, and `all` at last.
    fn groups(&self, own: &[String]) -> Vec<String> {
        let mut groups: Vec<String> = own.to_vec();
        let mut at = 0;
        while let Some(group) = groups.get(at).cloned() {
            for (parent, children) in &self.children {
                if children.contains(&group) && parent != ALL {
                    push_new(&mut groups, parent.clone());
                }
            }
            at += 1;
        }
        groups.retain(|group| group != ALL);
        groups.push(ALL.to_owned());
        groups
    }

    /// A variable of a host: its own, else that of its nearest group.
    fn variable(&self, host: &str, groups: &[String], names: &[&str]) -> Variable {
        let of_groups = groups.iter().filter_map(|group| self.group_variables.get(group));
        let mut all = self.host_variables.get(host).into_iter().chain(of_groups);
        let text = match all.find_map(|variables| names.iter().find_map(|name| variables.get(*name))) {
            None | Some(Value::Null) => return Variable::Missing,
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(value)) => value.to_string(),
            Some(_) => return Variable::Unknown,
        };
        match text.as_str() {
            "" => Variable::Missing,
            expression
                if expression.contains("{{") || ENCRYPTED.iter().any(|mark| expression.starts_with(mark)) =>
            {
                Variable::Unknown
            }
            _ => Variable::Text(text),
        }
    }

    /// Adds the hosts.
    pub fn draft(&self, source: &str, draft: &mut Draft) {
        for (written, own) in &self.hosts {
            let groups = self.groups(own);
            let name = written.split('.').next().filter(|_| !is_address(written)).unwrap_or(written);
            let name = naming::name(name);
            let get = |names: &[&str]| self.variable(written, &groups, names);
            let (stated, user, port) = (get(&ADDRESS), get(&USER), get(&PORT));
            let address = stated.text().unwrap_or(written).to_owned();
            let connection = get(&["ansible_connection"]);
            let other = connection.text().filter(|name| !SSH.contains(name));
            let is_local = other == Some("local");
            // The machine that runs Ansible is not a host of the operator's, unless it is the only one.
            if matches!(written.as_str(), "localhost" | "127.0.0.1") && self.hosts.len() > 1 {
                continue;
            }
            let mut comments = vec![source.to_owned()];
            let is_shown = |group: &&str| ![ALL, "ungrouped"].contains(group);
            let shown: Vec<&str> = own.iter().map(String::as_str).filter(is_shown).collect();
            if !shown.is_empty() {
                comments.push(format!("groups: {}", shown.join(", ")));
            }
            if !is_address(&address) && !is_host_name(&address) {
                draft.notes.push(format!("{source}: the address of {name} is not known"));
                continue;
            }
            comments.extend(stated.doubt("ansible_host"));
            comments.extend(
                other.filter(|_| !is_local).map(|other| format!("no ssh: its connection is {other}")),
            );
            // A name with a domain is one that other machines look up, too.
            if stated == Variable::Missing && !is_local && !(other.is_none() && written.contains(['.', ':']))
            {
                comments.push("guess: its address is its name".to_owned());
            }
            if other.is_none() {
                let no_user = "guess: ssh without ansible_user".to_owned();
                comments.extend((user == Variable::Missing).then_some(no_user));
                comments.extend(user.doubt("ansible_user"));
                comments.extend(port.doubt("ansible_port"));
            }
            let port = port.text().filter(|port| *port != "22");
            let ssh = other.is_none().then(|| destination(user.text(), &address, port));
            let address = if is_local && address == *written { "127.0.0.1".to_owned() } else { address };
            let mut host = Host::new(name, address, ssh, comments);
            host.is_stated = stated.text().is_some() || is_local;
            let becomes = get(&BECOME)
                .text()
                .is_some_and(|text| ["true", "yes"].contains(&text.to_lowercase().as_str()));
            if becomes && host.ssh.is_some() && user.text() != Some("root") {
                host.asking.insert("sudo", "true".to_owned());
                host.comments.push("guess: sudo, its ansible_become".to_owned());
            }
            draft.add_listed_host(host, naming::name(written));
        }
    }

    /// The only host of a pattern of a play: a host, or a group with one host.
    fn only_host(&self, pattern: &str) -> Option<String> {
        let is_meant = |(host, own): &&(String, Vec<String>)| {
            host == pattern || self.groups(own).iter().any(|group| group == pattern)
        };
        let mut found = self.hosts.iter().filter(is_meant);
        let (host, _) = found.next()?;
        found.next().is_none().then(|| naming::name(host.split('.').next().unwrap_or(host)))
    }
}

/// Adds the service that a playbook deploys; none if its plays concern all hosts, other roles, several services, or only check.
pub fn draft_playbook(file: &str, text: &str, source: &str, inventory: &Inventory, draft: &mut Draft) {
    let Ok(Value::Array(mut plays)) = serde_saphyr::from_str::<Value>(text) else { return };
    // Handlers run only after another task has changed something, and units of the distribution are no services.
    plays.iter_mut().filter_map(Value::as_object_mut).for_each(|play| drop(play.remove("handlers")));
    let text = &Value::Array(plays.clone()).to_string();
    let tasks = playbook::managed(text);
    let is_service = |name: &&String| !draft.known.distribution.iter().any(|glob| matches(glob, name));
    let managed: Vec<&String> = tasks.iter().filter(is_service).collect();
    let stated = playbook::stated(text);
    let name = match (&stated, managed.as_slice()) {
        (Some(stated), []) => stated.clone(),
        (Some(stated), [only]) if stated == *only => stated.clone(),
        (None, [only]) => (*only).clone(),
        (_, []) => return,
        (_, several) => {
            let names = several.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            let note = format!("{source} manages {names}: add it to `playbooks` of each that it deploys");
            draft.notes.push(note);
            return;
        }
    };
    let concerns_it = |play: &Value| concerns(play, &name, stated.is_some());
    if !is_name(file) || !is_name(&name) || !plays.iter().all(concerns_it) {
        return;
    }
    let hosts: BTreeSet<String> = plays
        .iter()
        .filter_map(|play| play.get("hosts")?.as_str())
        .filter_map(|pattern| inventory.only_host(pattern))
        .collect();
    // The service may be known by the name of its container or unit.
    let has_name = |service: &&mut Service| {
        let lists = |key: Key| service.keys.get(&key).is_some_and(|entry| entry.values.contains(&name));
        service.name == name || lists(Key::Containers) || lists(Key::Units)
    };
    if let Some(known) = draft.services.iter_mut().find(has_name) {
        add_playbook(known, file, stated.is_some());
        push_new(&mut known.sources, source.to_owned());
        return;
    }
    let mut service = Service::new(naming::name(&name), source, true);
    if let [host] = hosts.iter().collect::<Vec<_>>().as_slice() {
        service.guess(Key::Host, *host, "the host of the playbook");
    }
    if playbook::manages_unit(text, &name) {
        service.add(Key::Units, name);
    }
    add_playbook(&mut service, file, stated.is_some());
    draft.add_service(service);
}

/// Adds a playbook, which is a guess unless its variables name the service.
fn add_playbook(service: &mut Service, file: &str, is_stated: bool) {
    if is_stated {
        service.add(Key::Playbooks, file);
    } else {
        service.guess(Key::Playbooks, file, "its plays name no other service");
    }
}

/// Whether a play concerns only the service of this name: it has hosts of its own, no role of another name (roles get the
/// service in a variable where it is `stated`), and a task that may change something.
fn concerns(play: &Value, service: &str, is_stated: bool) -> bool {
    let hosts = play.get("hosts").and_then(Value::as_str);
    let is_everywhere = |hosts: &str| hosts.split([',', ':']).any(|one| matches!(one.trim(), "all" | "*"));
    if hosts.is_none_or(is_everywhere) || play.get("check_mode") == Some(&Value::Bool(true)) {
        return false;
    }
    let role_of = |role: &Value| {
        let name = role.as_str().or_else(|| role.get("role").or_else(|| role.get("name"))?.as_str());
        name.map(str::to_owned)
    };
    let roles = play.get("roles").and_then(Value::as_array).into_iter().flatten();
    if !is_stated && roles.clone().any(|role| role_of(role).as_deref() != Some(service)) {
        return false;
    }
    let lists = ["tasks", "pre_tasks", "post_tasks"].iter().filter_map(|key| play.get(*key)?.as_array());
    let only_checks = |task: &Value| {
        let is_check = |module: &String| {
            let module = module.rsplit('.').next().unwrap_or(module);
            CHECKS.contains(&module)
        };
        task.get("check_mode") == Some(&Value::Bool(true))
            || task.as_object().is_some_and(|task| task.keys().any(is_check))
    };
    roles.count() > 0 || lists.flatten().any(|task| !only_checks(task))
}

/// The words of a line, with quotes around parts of them removed, up to a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text)
}

/// The hosts of a pattern with ranges such as `web[01:03]`, `db[a:c]` and `n[0:8:2]`; at most 1000.
pub fn expanded(pattern: &str) -> Vec<String> {
    const MOST: usize = 1000;
    let range = || {
        let (front, rest) = pattern.split_once('[')?;
        let (range, back) = rest.split_once(']')?;
        let mut bounds = range.split(':');
        let (from, to) = (bounds.next()?, bounds.next()?);
        let step: usize = bounds.next().map_or(Some(1), |step| step.parse().ok())?;
        let values: Vec<String> = if let (Ok(first), Ok(last)) = (from.parse::<u32>(), to.parse::<u32>()) {
            let width = if from.starts_with('0') { from.len() } else { 0 };
            let numbers = (first..=last).step_by(step.max(1)).take(MOST);
            numbers.map(|number| format!("{number:0width$}")).collect()
        } else {
            let (first, last) = (from.chars().next()?, to.chars().next()?);
            (first..=last).step_by(step.max(1)).take(MOST).map(String::from).collect()
        };
        Some(values.into_iter().map(|value| format!("{front}{value}{back}")).collect::<Vec<_>>())
    };
    match range() {
        Some(hosts) => hosts.iter().flat_map(|host| expanded(host)).take(MOST).collect(),
        None => vec![pattern.to_owned()],
    }
}

/// A host and the port behind it, as in `web:2222`; an IPv6 address has none.
fn with_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((front, port)) if !front.contains(':') && port.parse::<u16>().is_ok() => (front, Some(port)),
        _ => (host, None),
    }
}

/// An ssh destination; one with a port is a URL.
fn destination(user: Option<&str>, address: &str, port: Option<&str>) -> String {
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    match port {
        Some(port) => {
            let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
            format!("ssh://{user}{address}:{port}")
        }
        None => format!("{user}{address}"),
    }
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

fn is_host_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
        && !text.starts_with(['-', '.'])
        && text.contains(|c: char| c.is_ascii_alphabetic())
}
