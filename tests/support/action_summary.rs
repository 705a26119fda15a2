//! An action in the few terms in which the corpus, the reader and what really ran can be compared.
#![allow(dead_code, reason = "each test needs its part")]

use std::fmt;

use opsctl_reader::terms::action::{Action, Target};

/// The addresses that the corpus knows hosts by.
const ADDRESSES: [(&str, &str); 4] = [
    ("192.168.100.210", "ie01"),
    ("192.168.100.220", "pie01"),
    ("192.168.100.221", "pie02"),
    ("192.168.5.30", "int01"),
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionSummary {
    pub kind: String,
    pub verb: String,
    pub service: Option<String>,
    pub host: Option<String>,
    pub repeats: bool,
}

impl ActionSummary {
    pub fn new(kind: &str, verb: &str, service: Option<&str>, host: Option<&str>) -> Self {
        Self {
            kind: kind.to_owned(),
            verb: verb.to_owned(),
            service: service.map(str::to_owned),
            host: host.map(|host| name_of(host).to_owned()),
            repeats: false,
        }
    }

    pub fn of(action: &Action) -> Self {
        let service = match &action.target {
            Target::Container(name)
            | Target::ComposeService(name)
            | Target::ComposeProject(name)
            | Target::Release(name)
            | Target::Service(name) => Some(name.as_str()),
            Target::Unit(name) => (!name.contains(['*', '?', '['])).then_some(name.as_str()),
            Target::Workload(_) => action.target.name(),
            Target::Guest(guest) => Some(guest.name.as_str()),
            Target::Playbook(playbook) => playbook.stated.as_deref().or(playbook.guessed.as_deref()),
            Target::Recipients(_) | Target::Unknown | Target::Nothing => None,
        };
        let summary = Self::new(action.kind.as_str(), action.verb.as_str(), service, action.host.as_deref());
        Self { repeats: action.repeats, ..summary }
    }

    /// What is left of the action when one asks only whether the budget is touched in the same way.
    pub fn without_repeats(&self) -> Self {
        Self { repeats: false, ..self.clone() }
    }
}

impl fmt::Display for ActionSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind, self.verb, self.service.as_deref().unwrap_or("?"))?;
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        if self.repeats { f.write_str(", repeats") } else { Ok(()) }
    }
}

/// The actions, one line each.
pub fn list(actions: &[ActionSummary]) -> String {
    if actions.is_empty() {
        return "nothing".to_owned();
    }
    actions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The name of a host that is written as an address.
pub fn name_of(host: &str) -> &str {
    ADDRESSES.iter().find(|(address, _)| *address == host).map_or(host, |(_, name)| name)
}
