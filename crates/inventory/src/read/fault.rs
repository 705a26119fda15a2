//! Why a value cannot be read, in the words of an operator.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};
use serde_json::Value;

use super::subject::{Name, Subject};
use super::tree::{Form, Node};
use super::usual;
use crate::error::{Mistake, suggestion};
use opsctl_policy::targets::nearest::nearest;

/// A failed attempt to read a document.
#[derive(Debug)]
pub enum Fault {
    /// A problem whose position is not known yet.
    Raised(Problem),
    /// The value with the problem is left out of the next attempt; `None` for a problem that follows from another.
    Settled(Option<Mistake>),
}

/// What is wrong with a value.
#[derive(Debug)]
pub enum Problem {
    /// The value has another form than this one.
    Form(String),
    /// The value is `true`, `no` or the like where a name is expected; the remedy.
    Boolean(String),
    /// The value is not a map with these keys.
    Map(&'static [&'static str]),
    /// The value is not valid; the remedy.
    Value(String),
    /// The value has the right form, and its type refuses it: what it is not, and the remedy.
    Refused(String, String),
    /// The value is not a whole number up to this one.
    Number { most: String },
    /// The value is none of these words.
    Choice(&'static [&'static str]),
    /// The key is none of these.
    Key(&'static [&'static str]),
    /// The key occurs twice.
    Twice,
    /// The map does not have this key.
    Missing(&'static str),
}

impl Problem {
    pub fn form(expected: &str) -> Self {
        Self::Form(expected.to_owned())
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Raised(problem)
    }
}

impl Fault {
    /// The fault of this value.
    #[must_use]
    pub fn at(self, subject: Subject<'_>) -> Self {
        let Self::Raised(problem) = self else { return self };
        subject.node.leave_out();
        let (what, remedy) = describe(problem, subject);
        Self::Settled(Some(Mistake::at(subject.node.location, what, remedy)))
    }

    /// The fault of a key in the map with this name.
    #[must_use]
    pub fn at_key(self, key: &Node, value: &Node, map: Name<'_>) -> Self {
        let Self::Raised(problem) = self else { return self };
        value.leave_out();
        let text = key.text().unwrap_or_default();
        let (what, remedy) = match problem {
            Problem::Twice => (format!("duplicate key `{text}`"), "remove one of the two".to_owned()),
            Problem::Key(keys) => {
                let of = if matches!(map, Name::File) { String::new() } else { format!(" of {map}") };
                key.leave_out();
                let remedy = usual::key(text, keys).unwrap_or_else(|| suggestion(text, keys.iter().copied()));
                (format!("unknown key `{text}`{of}"), remedy)
            }
            Problem::Form(expected) if expected != "text" => {
                (format!("`{text}` is not a valid key of {map}"), format!("write {expected}"))
            }
            _ => (format!("a key of {map} is not text"), "write a name".to_owned()),
        };
        Self::Settled(Some(Mistake::at(key.location, what, remedy)))
    }

    /// The fault of a map without one of its keys.
    #[must_use]
    pub fn in_map(self, map: Subject<'_>) -> Self {
        let Self::Raised(Problem::Missing(missing)) = self else { return self };
        map.node.leave_out();
        // An unknown key is probably the missing one, and its message lists the keys of the map.
        let is_known = map
            .node
            .entries()
            .iter()
            .any(|(key, value)| key.is_left_out() || value.is_left_out() && key.text() == Some(missing));
        let location = match map.name {
            Name::Key(key) => key.location,
            Name::File | Name::Entry(_) => map.node.location,
        };
        let mistake = (!is_known).then(|| {
            let remedy = usual::missing(missing).map_or_else(|| format!("add `{missing}:`"), str::to_owned);
            Mistake::at(location, format!("{} has no `{missing}`", map.name), remedy)
        });
        Self::Settled(mistake)
    }
}

/// What is wrong, and how to fix it.
fn describe(problem: Problem, Subject { node, name }: Subject<'_>) -> (String, String) {
    let value = match &node.form {
        Form::Scalar(text, _) => format!("`{text}`"),
        Form::List(_) => "a list".to_owned(),
        Form::Map(_) => "a map".to_owned(),
    };
    let invalid = match name {
        Name::Entry(Some(key)) => {
            format!("{value} is not a valid entry of `{}`", key.text().unwrap_or_default())
        }
        Name::File | Name::Key(_) | Name::Entry(None) => format!("{value} is not a valid value of {name}"),
    };
    if matches!(node.form, Form::Scalar(_, Value::Null)) {
        let remedy = match name {
            Name::Entry(_) => "write one, or remove the entry",
            Name::File | Name::Key(_) => "write one, or remove the key",
        };
        return (format!("{name} has no value"), remedy.to_owned());
    }
    match problem {
        Problem::Form(expected) => form(&expected, &value, invalid, node, name),
        Problem::Value(remedy) => (invalid, remedy),
        Problem::Refused(what, remedy) => (format!("{value} {what}"), remedy),
        Problem::Boolean(remedy) => (format!("{value} is a YAML boolean, not text"), remedy),
        Problem::Map(fields) => {
            let remedy = usual::short_map(fields, node, name);
            let (what, usual) = form("a map", &value, invalid, node, name);
            (what, remedy.unwrap_or(usual))
        }
        // ssh returns 255 if it fails.
        Problem::Number { .. } if name.key() == Some("expect") => (invalid, "write 0 to 254".to_owned()),
        Problem::Number { most } => (invalid, format!("write a whole number from 0 to {most}")),
        Problem::Choice(words) => {
            let remedy = suggestion(node.text().unwrap_or_default(), words.iter().copied());
            (invalid, remedy)
        }
        // These concern keys; serde raises none of them for a value.
        Problem::Key(_) | Problem::Twice | Problem::Missing(_) => (invalid, "remove it".to_owned()),
    }
}

/// The message on a value of another form.
fn form(expected: &str, value: &str, invalid: String, node: &Node, name: Name<'_>) -> (String, String) {
    let words: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    if let (Some(text), false) = (node.text(), words.is_empty()) {
        let remedy = match nearest(text, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write {expected}"),
        };
        return (invalid, remedy);
    }
    if let Some(remedy) = usual::remedy(expected, node, name) {
        return (format!("{name} must be {expected}, not {value}"), remedy);
    }
    let remedy = match (expected, &node.form) {
        ("a list", Form::Map(_)) => "begin each entry with `- `, without `: `".to_owned(),
        ("a map", Form::List(items)) if items.iter().all(|item| item.value("name").is_some()) => {
            let names = items.iter().filter_map(|item| item.value("name")?.text());
            let first = names.take(1).collect::<String>();
            format!("write `{first}:` with its other keys on the lines below it, without `- ` and `name:`")
        }
        ("a map", Form::List(_)) => "write its keys as `key: value`, without `- `".to_owned(),
        ("a map", _) if matches!(name, Name::File) => "write keys, such as `hosts:`".to_owned(),
        ("a map", _) => "write its keys on the lines below it, as `key: value`".to_owned(),
        ("text", Form::Map(_)) => "write one value; put text that contains `: ` in quotes".to_owned(),
        ("text", _) => "write one value, without `[ ]` and `- `".to_owned(),
        (_, Form::Scalar(_, Value::Bool(_) | Value::Number(_))) => "put text in quotes".to_owned(),
        (expected, _) => format!("write {expected}"),
    };
    (format!("{name} must be {expected}, not {value}"), remedy)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: fmt::Display>(what: T) -> Self {
        let text = what.to_string();
        match text.split_once("; ") {
            Some((what, remedy)) => Problem::Refused(what.to_owned(), remedy.to_owned()),
            None => Problem::Form(text),
        }
        .into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Problem::Form(expected.to_string()).into()
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Problem::Form(expected.to_string()).into()
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Problem::Key(expected).into()
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Problem::Choice(expected).into()
    }

    fn missing_field(field: &'static str) -> Self {
        Problem::Missing(field).into()
    }
}
