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
    pub name: Spanned<String>,
    #[serde(default)]
    pub off: bool,
    pub argv: Option<Spanned<OneOrMore>>,
    pub reason: Option<Spanned<String>>,
    #[serde(rename = "where")]
    pub place: Option<WhereWire>,
    #[serde(default)]
    pub tiers: Vec<Spanned<u8>>,
    #[serde(default)]
    pub matches: Vec<Spanned<String>>,
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
    path: String,
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
    pub action: ToolActionWire,
    pub verb: Option<ToolVerbWire>,
    pub service: Option<Spanned<String>>,
    pub host: Option<Spanned<String>>,
}
