//! What operators usually write instead of the form of a key, with the remedy.

use serde_json::Value;

use super::subject::Name;
use super::tree::{Form, Node};
use crate::written::{command, list};

/// Keys of lists whose entries are single words.
const LISTS_OF_WORDS: [&str; 13] = [
    "containers",
    "projects",
    "units",
    "workloads",
    "guests",
    "releases",
    "playbooks",
    "tcp",
    "tools",
    "allow",
    "effects",
    "env",
    "tags",
];

/// Keys that operators usually write, each with the key of the map and the remedy if that is more than its name.
const KEYS: [(&[&str], &str, &str); 15] = [
    (&["port", "ports"], "tcp", "write `tcp: [PORT]`"),
    (&["url", "healthcheck", "health_check"], "health", "write `health: {url: URL}`"),
    (&["ip", "ipv4", "ipv6", "hostname", "ansible_host", "addr"], "address", ""),
    (&["user", "port", "ssh_user", "ssh_port"], "ssh", "write `ssh: USER@HOST:PORT`"),
    (&["container_name", "containers_name"], "containers", "write `containers: [NAME]`"),
    (&["unit", "systemd", "service"], "units", "write `units: [NAME]`"),
    (&["compose", "project", "stack", "stacks"], "projects", "write `projects: [NAME]`"),
    (&["playbook"], "playbooks", "write `playbooks: [FILE]`"),
    (&["cmd", "exec"], "command", "write `command: [PROGRAM, ARGUMENT]`"),
    (&["mail", "email", "url"], "addresses", "write `addresses: [ADDRESS]`"),
    (&["command"], "check", "write `check: {command: [PROGRAM, ARGUMENT]}`"),
    (&["vm", "lxc"], "guests", "write `guests: [NAME]`"),
    (&["code", "codes", "expect"], "status", "write `status: [CODE]`"),
    (&["nodes", "servers", "machines"], "hosts", ""),
    (&["apps"], "services", ""),
];

/// Keys that others of the map need, each with the remedy.
const MISSING: [(&str, &str); 4] = [
    ("to", "add the target, such as `to: service 1`"),
    ("does", "add the action that `to`, `needs` and similar keys describe, such as `does: restart`"),
    (
        "runs",
        "add how it runs the command that `after`, `script` and similar keys describe, such as `runs: command`",
    ),
    ("effect", "add the effect that `changes_with` and similar keys limit: `effect: reads`"),
];

/// The remedy for a missing key, if that is more than its name.
pub fn missing(key: &str) -> Option<&'static str> {
    MISSING.iter().find(|(missing, _)| *missing == key).map(|(_, remedy)| *remedy)
}

/// The remedy for an unknown key that operators usually write for one of these.
pub fn key(text: &str, keys: &[&str]) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (_, key, remedy) =
        KEYS.iter().find(|(usual, key, _)| usual.contains(&text.as_str()) && keys.contains(key))?;
    Some(if remedy.is_empty() { format!("write `{key}`") } else { (*remedy).to_owned() })
}

/// The remedy for a value alone instead of a map with these keys.
pub fn short_map(fields: &[&str], node: &Node, name: Name<'_>) -> Option<String> {
    let key = fields.first().filter(|first| ["address", "host", "limit", "command"].contains(first))?;
    match (name, node.text()) {
        (Name::Key(own), Some(text)) => Some(format!("write `{}: {{{key}: {text}}}`", own.text()?)),
        _ => None,
    }
}

/// Whether the value is a name, for which YAML's `yes` and `true` are probably a mistake.
pub fn is_name(name: Name<'_>) -> bool {
    match name {
        Name::Key(_) => {
            name.key().is_some_and(|key| ["address", "ssh", "host", "domain", "url"].contains(&key))
        }
        Name::Entry(_) => name.key().is_some_and(|key| LISTS_OF_WORDS.contains(&key)),
        Name::File => false,
    }
}

/// The remedy for `true` and the like as a name.
pub fn name_like_bool(text: &str, name: Name<'_>) -> String {
    match name.key() {
        Some("ssh") => "write a destination such as `root@ie01` or `ops@nas:2222`".to_owned(),
        Some("address") => "write an address such as `192.168.1.10`, `fd00::10` or `nas.lan`".to_owned(),
        Some("url") => "write one such as `https://nas.lan/health`".to_owned(),
        _ => format!("write `\"{text}\"` if this is the name"),
    }
}

/// The remedy for a value of another form than expected; `None` if nothing is known about the key.
pub fn remedy(expected: &str, node: &Node, name: Name<'_>) -> Option<String> {
    let key = name.key()?;
    match (expected, &node.form) {
        (_, Form::Scalar(_, Value::Bool(_))) if ["dns", "health"].contains(&key) => {
            Some(format!("write `{key}: none` to switch the check off; remove the key for the default"))
        }
        (_, Form::Scalar(text, _)) if key == "check" => {
            Some(format!("write `check: {{command: {}}}`", command(text)))
        }
        (_, Form::List(_)) if key == "check" => {
            Some(format!("write `check: {{command: {}}}`", list(node.words()?)))
        }
        ("a list", Form::Scalar(text, _)) => Some(match text.strip_prefix('-') {
            Some(rest) if rest.starts_with(char::is_alphanumeric) => {
                let first = rest.split_whitespace().next().unwrap_or_default();
                format!("write a blank after each `-`, such as `- {first}`")
            }
            _ if key == "command" => format!("write `{}`", command(text)),
            _ => {
                let text = text.trim_matches(['[', ']']);
                let is_separator = |c: char| LISTS_OF_WORDS.contains(&key) && (c.is_whitespace() || c == ',');
                format!("write `{}`", list(text.split(is_separator).filter(|word| !word.is_empty())))
            }
        }),
        ("a list of maps", Form::List(_)) => Some(match (key, node.words()?.first()) {
            ("never", Some(rule)) => {
                format!("write `- name: {rule}` with its other keys on the lines below it")
            }
            _ => "write the keys of each entry as `key: value`".to_owned(),
        }),
        ("text", Form::Map(_)) if key == "ssh" => Some("write `ssh: USER@HOST:PORT`".to_owned()),
        ("a list", Form::Map(entries)) if key == "never" => {
            let rule = node.value("name").or_else(|| entries.first().map(|(key, _)| key))?.text()?;
            Some(format!("begin each rule with `- name: {rule}`, with its other keys on the lines below it"))
        }
        _ => None,
    }
}
