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
    /// The name; SERVICE.DOMAIN unless given.
    pub name: Option<Spanned<String>>,
    /// An address that must be among those that it resolves to.
    pub address: Option<Spanned<String>>,
    /// The DNS server that is asked, by address or as one of `hosts`; the system's unless given.
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
    /// How often a session is sent on, 1 to 8; 3 unless given.
    pub attempts: Option<Spanned<u32>>,
    /// Who looks: the hook (`command`), a model with the rendered prompt (`agent`), or `both`, the default.
    pub mode: Option<VerifierWire>,
    /// How long a service may take to come back; `30s` unless given.
    pub grace: Option<Spanned<String>>,
    /// The time of one verification; `1m` unless given.
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
