//! Selections of words of a command line, and the targets of actions that they name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IntoDeserializer, value};
use serde::ser::{Serialize, Serializer};

use super::constant::{Constant, Statics, plain};
use super::keys::{self, Read, invalid};

/// A selection of words of a command line, without options and their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// None.
    None,
    /// All words from this one on, counted from 0.
    From(usize),
    /// This word, counted from 0.
    Only(usize),
    /// The last word.
    Last,
    /// The words that `*` in the verb matches.
    Starred,
    /// The last part of the program's own path.
    OwnName,
    /// This name, whichever words follow.
    Constant(&'static str),
    /// The values of an option, or of one of several, as in `-n|--name`.
    ValueOf(&'static str),
}

plain! { Words, "Words::"; }

/// What a position may be.
const POSITIONS: &str = "a position: `...` (every word), `2...`, `1`, `last`, an option such as `--name` or `-n|--name`, or a \
                         name such as `=unbound`";

impl Words {
    /// The words at a position as it is written: `2...`, `last`, `--name`.
    fn at(position: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let kept = |text: &str| &*text.to_owned().leak();
        Some(match position {
            "..." => Self::From(0),
            "" => Self::None,
            "last" => Self::Last,
            "*" => Self::Starred,
            "name" => Self::OwnName,
            _ if position.starts_with('-') => Self::ValueOf(kept(position)),
            _ => match (position.strip_prefix('='), position.strip_suffix("...")) {
                (Some(name), _) if !name.is_empty() => Self::Constant(kept(name)),
                (_, Some(digits)) => Self::From(number(digits)?),
                (_, None) => Self::Only(number(position)?),
            },
        })
    }
}

/// The position, with a blank or dots before it.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::From(0) => f.write_str("..."),
            Self::From(index) => write!(f, " {}...", index + 1),
            Self::Only(index) => write!(f, " {}", index + 1),
            Self::Last => f.write_str(" last"),
            Self::Starred => f.write_str(" *"),
            Self::OwnName => f.write_str(" name"),
            Self::Constant(name) => write!(f, " ={name}"),
            Self::ValueOf(option) => write!(f, " {option}"),
        }
    }
}

/// Words that are files: `word 2...`, `none`.
impl Read for Words {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        let words = match kind_and_position(&written) {
            ("none", "") => Some(Self::None),
            ("word", position) => Self::at(position),
            _ => None,
        };
        words.ok_or_else(|| invalid(&written, "`word...`, `word 2...`, `word 1`, `word last` or `none`"))
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            words => serializer.collect_str(&format_args!("word{words}")),
        }
    }
}

/// The target of an action: a kind, and the position of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The kind.
    pub kind: TargetKind,
    /// The words that name it.
    pub at: Words,
}

/// The kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A service, by any of its names in the inventory.
    Service,
    /// A container.
    Container,
    /// Compose services, or the project where none is named.
    Compose,
    /// A compose or swarm project.
    Project,
    /// A systemd or init unit.
    Unit,
    /// A daemon, or a program that a supervisor runs; in a container, it belongs to the service of the container.
    Process,
    /// A virtual machine or a system container.
    Guest,
    /// A Kubernetes workload: `KIND NAME…` or `KIND/NAME…`.
    Workload,
    /// A helm release.
    Release,
    /// An Ansible playbook.
    Playbook,
    /// The recipients that `recipients` describes.
    Recipients,
    /// The recipients in apprise's arguments and configuration.
    Apprise,
    /// The addresses of HTTP requests.
    Requests,
    /// No target.
    Nothing,
}

keys::choices! { TargetKind }

impl Target {
    /// A target without a name in the words.
    pub const fn unnamed(kind: TargetKind) -> Self {
        Self { kind, at: Words::None }
    }
}

impl Constant for Target {
    fn type_name() -> String {
        "Target".to_owned()
    }

    fn expression(&self, statics: &mut Statics) -> String {
        let (kind, at) = (self.kind.expression(statics), self.at.expression(statics));
        format!("Target {{ kind: {kind}, at: {at} }}")
    }
}

impl Read for Target {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        let (kind, position) = kind_and_position(&written);
        let kind = TargetKind::deserialize(IntoDeserializer::<value::Error>::into_deserializer(kind));
        let kind = kind.map_err(|_| invalid(&written, "a target and its position, such as `service 1`"))?;
        let at = Words::at(position).ok_or_else(|| invalid(&written, POSITIONS))?;
        Ok(Self { kind, at })
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The target as it is written: `service 1`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.serialize(&mut *f)?;
        write!(f, "{}", self.at)
    }
}

/// `container...` → `container`, `...`.
fn kind_and_position(written: &str) -> (&str, &str) {
    let end = written.find(|c: char| c.is_whitespace() || c == '.').unwrap_or(written.len());
    let (kind, position) = written.split_at(end);
    (kind, position.trim())
}
