//! The shape of the keys about verification in `hosts.yaml`.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_saphyr::Spanned;

use super::words::VerifierWire;

/// A DNS name: plain, or with what is expected of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsFullWire {
    pub name: Option<Spanned<String>>,
    pub address: Option<Spanned<String>>,
    pub server: Option<Spanned<String>>,
}

/// `dns: NAME` or `dns: {name, address, server}`.
#[derive(Debug)]
pub enum DnsWire {
    Name(String),
    Full(Box<DnsFullWire>),
}

/// What a session has to prove; what is left out keeps its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyWire {
    pub attempts: Option<Spanned<u32>>,
    pub mode: Option<VerifierWire>,
    pub grace: Option<Spanned<String>>,
    pub deadline: Option<Spanned<String>>,
}

impl<'de> Deserialize<'de> for DnsWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrMap;

        impl<'de> Visitor<'de> for NameOrMap {
            type Value = DnsWire;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a DNS name, or a map with `name`, `address` and `server`")
            }

            fn visit_str<E>(self, text: &str) -> Result<DnsWire, E> {
                Ok(DnsWire::Name(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DnsWire, A::Error> {
                DnsFullWire::deserialize(MapAccessDeserializer::new(map))
                    .map(|wire| DnsWire::Full(Box::new(wire)))
            }
        }

        deserializer.deserialize_any(NameOrMap)
    }
}
