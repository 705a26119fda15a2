//! What operators usually write instead of the form of a key, with the remedy.

use serde_json::Value;

use super::subject::Name;
use super::tree::{Form, Node};
use crate::inventory::written::{command, list};

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
        _ => None,
    }
}
