//! The JSON schema of `handoff.json`, parsed leniently because a model writes it.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::error::HandoffError;

#[derive(Debug, Serialize, Deserialize)]
pub struct HandoffWire {
    schema_version: i64,
    pub recommended_tier: i64,
    services_affected: NamesWire,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    check_results: Vec<CheckWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    investigation_findings: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remediation_attempted: Option<Value>,
}

/// A list of names, or one name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of names")]
enum NamesWire {
    Many(Vec<String>),
    One(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct CheckWire {
    service: String,
    check_type: String,
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_time_ms: Option<Number>,
}

/// Parses a hand-over and checks its schema version.
pub fn read(text: &[u8]) -> Result<HandoffWire, HandoffError> {
    let wire: HandoffWire = serde_json::from_slice(text).map_err(|error| {
        // The parser's message ends in " at line L column C".
        let words = error.to_string();
        let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
        let what: String = what.chars().filter(|c| !c.is_control()).take(200).collect();
        HandoffError::Shape(format!("{what} at line {}, column {}", error.line(), error.column()))
    })?;
    if wire.schema_version == 1 { Ok(wire) } else { Err(HandoffError::Version(wire.schema_version)) }
}

impl HandoffWire {
    pub fn services(&self) -> Vec<String> {
        let names = match &self.services_affected {
            NamesWire::Many(names) => names.clone(),
            NamesWire::One(name) => vec![name.clone()],
        };
        names.iter().map(|name| name.trim().to_owned()).collect()
    }

    pub fn to_text(&self) -> Result<String, HandoffError> {
        serde_json::to_string_pretty(self).map_err(|error| HandoffError::Shape(error.to_string()))
    }
}
