//! What operators usually write instead of the form of a key, with the remedy.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::subject::Name;
use super::tree::{Form, Node};
use crate::written::{command, list};

#[derive(Default, Deserialize)]
struct Usual {
    lists_of_words: Vec<String>,
    keys: Vec<UsualKey>,
    missing: HashMap<String, String>,
    names: HashMap<String, Option<String>>,
}

#[derive(Deserialize)]
struct UsualKey {
    usual: Vec<String>,
    key: String,
    remedy: Option<String>,
}

static USUAL: LazyLock<Usual> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("usual.yaml")).unwrap_or_default());

/// The remedy for a missing key, if that is more than its name.
pub fn missing(key: &str) -> Option<&'static str> {
    USUAL.missing.get(key).map(String::as_str)
}

/// The remedy for an unknown key that operators usually write for one of these.
pub fn key(text: &str, keys: &[&str]) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let is_meant = |known: &&UsualKey| known.usual.contains(&text) && keys.contains(&known.key.as_str());
    let UsualKey { key, remedy, .. } = USUAL.keys.iter().find(is_meant)?;
    Some(remedy.clone().unwrap_or_else(|| format!("write `{key}`")))
}

/// Whether the entries of the list with this key are single words.
fn is_list_of_words(key: &str) -> bool {
    USUAL.lists_of_words.iter().any(|list| list == key)
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
    name.key().is_some_and(|key| match name {
        Name::Entry(_) => is_list_of_words(key),
        Name::Key(_) | Name::File => USUAL.names.contains_key(key),
    })
}

/// The remedy for `true` and the like as a name.
pub fn name_like_bool(text: &str, name: Name<'_>) -> String {
    let remedy = name.key().and_then(|key| USUAL.names.get(key)).cloned().flatten();
    remedy.unwrap_or_else(|| format!("write `\"{text}\"` if this is the name"))
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
                let is_separator = |c: char| is_list_of_words(key) && (c.is_whitespace() || c == ',');
                format!("write `{}`", list(text.split(is_separator).filter(|word| !word.is_empty())))
            }
        }),
        ("a list of maps", Form::List(_)) => Some("write the keys of each entry as `key: value`".to_owned()),
        ("text", Form::Map(_)) if key == "ssh" => Some("write `ssh: USER@HOST:PORT`".to_owned()),
        ("a map", Form::List(entries)) if key == "never" => {
            let entry = entries.first()?;
            let rule = entry.value("name").unwrap_or(entry).text()?;
            let answer = if entry.value("off").is_some() { "allow" } else { "deny" };
            Some(format!(
                "write the rules by name, such as `{rule}: {answer}`, or `{rule}:` with its keys on the lines below it"
            ))
        }
        ("a map", Form::List(_)) if key == "changes_with" => {
            Some("write the options by the class of the change, such as `{plain: [--repair]}`".to_owned())
        }
        (_, Form::List(_)) if key == "projects" => {
            Some("write `projects: {PROJECT: [SERVICE]}` for a host".to_owned())
        }
        _ => None,
    }
}
