//! The JSON schema of `handoff.json`, parsed leniently because a model writes it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::error::HandoffError;
use opsctl_policy::model::rights::policy::Tier;

/// The maximum size of a hand-over, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024;

/// The key with the id of the session that handed over, which opsctl sets.
pub const FROM_SESSION: &str = "from_session";

#[derive(Debug, Deserialize)]
pub struct HandoffWire {
    #[serde(deserialize_with = "number")]
    schema_version: f64,
    #[serde(deserialize_with = "number")]
    recommended_tier: f64,
    #[serde(default)]
    services_affected: Option<NamesWire>,
    #[serde(default)]
    check_results: Option<Vec<Map<String, Value>>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A list of names, or one name.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a list of names")]
enum NamesWire {
    Many(Vec<String>),
    One(String),
}

/// A number, or a text that is one: `1`, `1.0` and `"1.0"`.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let read = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    read.ok_or_else(|| D::Error::custom("expected a number"))
}

/// Parses a hand-over and checks its schema version.
pub fn read(text: &[u8]) -> Result<HandoffWire, HandoffError> {
    let wire: HandoffWire = serde_json::from_slice(text).map_err(|error| {
        // The parser's message ends in " at line L column C".
        let words = error.to_string();
        let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
        let what = opsctl_redact::shortened(what, 200);
        HandoffError::Shape(format!("{what} at line {}, column {}", error.line(), error.column()))
    })?;
    if is(wire.schema_version, 1) { Ok(wire) } else { Err(HandoffError::Version(wire.schema_version)) }
}

/// Whether a number is this whole one: `2` and `2.0` are.
fn is(number: f64, whole: u8) -> bool {
    (number - f64::from(whole)).abs() < f64::EPSILON
}

impl HandoffWire {
    /// The recommended tier: 2 or 3.
    pub fn recommended_tier(&self) -> Result<Tier, HandoffError> {
        let tiers = [Tier::Remediate, Tier::Full];
        let found = tiers.into_iter().find(|tier| is(self.recommended_tier, tier.number()));
        found.ok_or(HandoffError::NoSuchTier(self.recommended_tier))
    }

    pub fn services(&self) -> Vec<String> {
        let names = match &self.services_affected {
            Some(NamesWire::Many(names)) => names.clone(),
            Some(NamesWire::One(name)) => vec![name.clone()],
            None => vec![],
        };
        names.iter().map(|name| name.trim().to_owned()).collect()
    }

    /// The id of the session that handed over, if it is stated.
    pub fn stated_session(&self) -> Option<&str> {
        self.others.get(FROM_SESSION)?.as_str()
    }

    /// Replaces the id of the session that handed over; `None` removes it.
    pub fn set_from_session(&mut self, session: Option<&str>) {
        self.others.insert(FROM_SESSION.to_owned(), json!(session));
    }

    /// The whole hand-over without `null` fields, as text.
    pub fn to_text(&self) -> Result<String, HandoffError> {
        let mut whole = Map::new();
        whole.insert("schema_version".to_owned(), json!(1));
        whole.insert("recommended_tier".to_owned(), json!(self.recommended_tier()?.number()));
        whole.insert("services_affected".to_owned(), json!(self.services()));
        if let Some(checks) = &self.check_results {
            whole.insert("check_results".to_owned(), checks.iter().cloned().map(without_null).collect());
        }
        whole.extend(self.others.clone());
        let text = serde_json::to_string_pretty(&without_null(whole))
            .map_err(|error| HandoffError::Shape(error.to_string()))?;
        // Indentation can multiply the length of deeply nested lists.
        let length = text.len() as u64;
        if length > MAX_BYTES { Err(HandoffError::TooLarge(length)) } else { Ok(text) }
    }
}

fn without_null(mut fields: Map<String, Value>) -> Value {
    fields.retain(|_, value| !value.is_null());
    Value::Object(fields)
}
