//! The shape of the rules in `hosts.yaml`.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::words::{ToolActionWire, ToolVerbWire, WhereWire};

/// A command that nobody runs, or a default that does not hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeverWire {
    /// Its name; that of a default replaces the default.
    pub name: Spanned<String>,
    /// `true` switches the default of this name off.
    #[serde(default)]
    pub off: bool,
    /// The pattern, or several, that a command's words are held against.
    pub argv: Option<Spanned<OneOrMore>>,
    /// Why, and what to do instead: the agent reads it.
    pub reason: Option<Spanned<String>>,
    /// On the agent's own machine, on others, or on any of them, which is the default.
    #[serde(rename = "where")]
    pub place: Option<WhereWire>,
    /// The tiers that it holds for; all of them, and sessions without one, unless given.
    #[serde(default)]
    pub tiers: Vec<Spanned<u8>>,
    /// Examples that it denies, checked when the file is read.
    #[serde(default)]
    pub matches: Vec<Spanned<String>>,
    /// Examples that it does not deny, checked, too.
    #[serde(default)]
    pub differs: Vec<Spanned<String>>,
}

/// A text or a list of texts.
#[derive(Debug)]
pub struct OneOrMore(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMore(texts))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}

/// A glob, alone or with the place where it holds.
#[derive(Debug)]
pub struct PathRuleWire {
    pub path: String,
    pub place: Option<WhereWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathRuleMapWire {
    /// The glob.
    path: String,
    /// On the agent's own machine, which is the default, on others, or on any of them.
    #[serde(rename = "where")]
    place: Option<WhereWire>,
}

impl<'de> Deserialize<'de> for PathRuleWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMap;

        impl<'de> Visitor<'de> for TextOrMap {
            type Value = PathRuleWire;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, or `{path: …, where: …}`")
            }

            fn visit_str<E>(self, text: &str) -> Result<PathRuleWire, E> {
                Ok(PathRuleWire { path: text.to_owned(), place: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PathRuleWire, A::Error> {
                let PathRuleMapWire { path, place } =
                    Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                Ok(PathRuleWire { path, place })
            }
        }

        deserializer.deserialize_any(TextOrMap)
    }
}

/// What a tool of an MCP server does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRuleWire {
    /// The kind of action; `never`: nobody calls it.
    pub action: ToolActionWire,
    /// How it restarts; `restart` unless given.
    pub verb: Option<ToolVerbWire>,
    /// The argument that names the service, or a JSON pointer to it.
    pub service: Option<Spanned<String>>,
    /// The argument that names the host, or a JSON pointer to it.
    pub host: Option<Spanned<String>>,
    /// The argument that names the recipients of a notification, or a JSON pointer to it.
    pub to: Option<Spanned<String>>,
}
