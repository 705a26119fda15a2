//! Hand-overs from one session to a higher tier: `handoff.json`, schema version 1.

pub mod desk;
mod error;
mod wire;

use crate::model::policy::Tier;
pub use error::HandoffError;

/// The maximum size of a hand-over, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024;

/// A valid hand-over.
#[derive(Debug, Clone, PartialEq)]
pub struct Handoff {
    /// The recommended tier.
    pub to: Tier,
    /// The affected services, at least one.
    pub services: Vec<String>,
    /// The text for the next tier: the hand-over without unknown keys.
    pub text: String,
}

/// Parses and checks the hand-over of a session of tier `from`.
pub fn check(text: &[u8], from: Tier) -> Result<Handoff, HandoffError> {
    let wire = wire::read(text)?;
    let to = u8::try_from(wire.recommended_tier)
        .ok()
        .and_then(Tier::from_number)
        .filter(|tier| *tier > Tier::Observe)
        .ok_or(HandoffError::NoSuchTier(wire.recommended_tier))?;
    if to <= from {
        return Err(HandoffError::NotHigher { from: from.number(), to: to.number() });
    }
    let services = wire.services();
    if services.is_empty() {
        return Err(HandoffError::NoService);
    }
    let is_name =
        |name: &String| !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control);
    if !services.iter().all(is_name) {
        return Err(HandoffError::ServiceName);
    }
    Ok(Handoff { to, services, text: wire.to_text()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn complete() -> Value {
        json!({
            "schema_version": 1,
            "recommended_tier": 2,
            "services_affected": ["jellyfin"],
            "check_results": [
                {"service": "jellyfin", "check_type": "http", "status": "unhealthy", "error": "502", "response_time_ms": 41.5},
                {"service": "jellyfin", "check_type": "smoke signals", "status": "?"}
            ],
            "investigation_findings": "out of memory",
            "remediation_attempted": null,
            "invented": {"by": "a model"}
        })
    }

    fn checked(change: impl FnOnce(&mut Value), from: Tier) -> Result<Handoff, HandoffError> {
        let mut value = complete();
        change(&mut value);
        check(value.to_string().as_bytes(), from)
    }

    #[test]
    fn a_valid_hand_over_is_accepted_without_unknown_keys() {
        let handoff = checked(|_| {}, Tier::Observe).unwrap();
        assert_eq!(
            (handoff.to, handoff.services.as_slice()),
            (Tier::Remediate, ["jellyfin".to_owned()].as_slice())
        );
        assert!(handoff.text.contains("out of memory") && handoff.text.contains("smoke signals"));
        assert!(!handoff.text.contains("invented") && !handoff.text.contains("remediation_attempted"));
        assert_eq!(check(handoff.text.as_bytes(), Tier::Observe).unwrap(), handoff);
    }

    #[test]
    fn a_single_name_is_accepted_as_list() {
        let handoff = checked(|value| value["services_affected"] = json!("jellyfin"), Tier::Observe).unwrap();
        assert_eq!(handoff.services, ["jellyfin"]);
    }

    #[test]
    fn errors_say_what_to_write_instead() {
        for (key, value, from, words) in [
            ("recommended_tier", json!(9), Tier::Observe, "recommends tier 9"),
            ("recommended_tier", json!(1), Tier::Observe, "recommends tier 1"),
            ("recommended_tier", json!(2), Tier::Remediate, "of tier 2 recommends tier 2"),
            ("recommended_tier", json!("two"), Tier::Observe, "not a hand-over"),
            ("schema_version", json!(2), Tier::Observe, "schema_version 2"),
            ("schema_version", Value::Null, Tier::Observe, "not a hand-over"),
            ("services_affected", json!([]), Tier::Observe, "names no service"),
            ("services_affected", json!(["a\nb"]), Tier::Observe, "control characters"),
            ("check_results", json!("none"), Tier::Observe, "not a hand-over"),
        ] {
            let error = checked(|whole| whole[key] = value, from).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(words), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
        let error = check(b"{\n  \"schema_version\": 1,,\n}", Tier::Observe).unwrap_err().to_string();
        assert!(error.contains("line 2, column 23"), "{error}");
    }
}
