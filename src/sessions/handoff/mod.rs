//! Hand-overs from one session to a higher tier: `handoff.json`, schema version 1.

pub mod desk;
mod error;
mod wire;

pub use error::HandoffError;
use opsctl_policy::model::rights::policy::Tier;
pub use wire::{FROM_SESSION, MAX_BYTES};

/// The JSON schema of a structured result, which may contain a hand-over.
pub const RESULT_SCHEMA: &str = include_str!("result-schema.json");

/// A valid hand-over.
#[derive(Debug, Clone, PartialEq)]
pub struct Handoff {
    /// The recommended tier.
    pub to: Tier,
    /// The affected services, at least one.
    pub services: Vec<String>,
    /// The id of the session that handed over, if it is known.
    pub from_session: Option<String>,
    /// The text for the next tier: the whole hand-over, unknown keys included, without `null` fields.
    pub text: String,
}

impl Handoff {
    /// The hand-over with another id of the session that handed over.
    pub fn handed_over_by(&self, session: Option<&str>) -> Result<Self, HandoffError> {
        let mut wire = wire::read(self.text.as_bytes())?;
        wire.set_from_session(session);
        Ok(Self { from_session: session.map(str::to_owned), text: wire.to_text()?, ..self.clone() })
    }
}

/// Parses and checks the hand-over of a session of tier `from`.
pub fn check(text: &[u8], from: Tier) -> Result<Handoff, HandoffError> {
    let wire = wire::read(text)?;
    let services = wire.services();
    if services.is_empty() {
        return Err(HandoffError::NoService);
    }
    let is_name =
        |name: &String| !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control);
    if !services.iter().all(is_name) {
        return Err(HandoffError::ServiceName);
    }
    if from == Tier::Full {
        return Err(HandoffError::HighestTier(services.join(", ")));
    }
    let to = wire.recommended_tier()?;
    if to <= from {
        return Err(HandoffError::NotHigher { from: from.number(), to: to.number() });
    }
    let from_session = wire.stated_session().map(str::to_owned);
    Ok(Handoff { to, services, from_session, text: wire.to_text()? })
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
                {"service": "jellyfin", "check_type": "smoke signals", "status": "?", "error": null},
                {"service": "jellyfin", "status": "unhealthy", "seen_by": "a person"}
            ],
            "investigation_findings": "out of memory",
            "remediation_attempted": null,
            "ssh_access_map": {"ie01": {"user": "root"}},
            "cooldown_state": {"jellyfin": {"restarts": 1}},
            "invented": {"by": "a model"}
        })
    }

    fn checked(change: impl FnOnce(&mut Value), from: Tier) -> Result<Handoff, HandoffError> {
        let mut value = complete();
        change(&mut value);
        check(value.to_string().as_bytes(), from)
    }

    #[test]
    fn a_valid_hand_over_keeps_every_key_that_has_a_value() {
        let handoff = checked(|_| {}, Tier::Observe).unwrap();
        assert_eq!(
            (handoff.to, handoff.services.as_slice()),
            (Tier::Remediate, ["jellyfin".to_owned()].as_slice())
        );
        let mut expected = complete();
        expected.as_object_mut().unwrap().shift_remove("remediation_attempted");
        expected["check_results"][1].as_object_mut().unwrap().shift_remove("error");
        assert_eq!(serde_json::from_str::<Value>(&handoff.text).unwrap(), expected);
        assert_eq!(check(handoff.text.as_bytes(), Tier::Observe).unwrap(), handoff);
    }

    #[test]
    fn null_fields_and_other_spellings_of_numbers_are_accepted() {
        for (key, value) in [
            ("check_results", Value::Null),
            ("investigation_findings", Value::Null),
            ("schema_version", json!(1.0)),
            ("schema_version", json!("1.0")),
            ("recommended_tier", json!(2.0)),
        ] {
            let handoff = checked(|whole| whole[key] = value.clone(), Tier::Observe).unwrap();
            assert_eq!(handoff.to, Tier::Remediate, "{key}: {value}");
            assert!(handoff.text.starts_with("{\n  \"schema_version\": 1,\n  \"recommended_tier\": 2,"));
        }
    }

    #[test]
    fn the_session_that_handed_over_replaces_a_stated_one() {
        let handoff = checked(|whole| whole["from_session"] = json!("invented"), Tier::Observe).unwrap();
        assert_eq!(handoff.from_session.as_deref(), Some("invented"));
        let real = handoff.handed_over_by(Some("real")).unwrap();
        assert!(real.text.contains("\"from_session\": \"real\"") && real.text.contains("out of memory"));
        assert_eq!(check(real.text.as_bytes(), Tier::Observe).unwrap(), real);
        assert!(!real.handed_over_by(None).unwrap().text.contains("from_session"));
    }

    #[test]
    fn indentation_does_not_exceed_the_maximum_size() {
        let mut nested = json!(vec![1; 5000]);
        for _ in 0..60 {
            nested = json!([nested]);
        }
        let error = checked(|whole| whole["invented"] = nested, Tier::Observe).unwrap_err();
        assert!(error.to_string().contains("at most 65536 are allowed"), "{error}");
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
            ("recommended_tier", json!(3), Tier::Full, "handed over jellyfin, and no tier is higher"),
            ("recommended_tier", json!(2.5), Tier::Observe, "recommends tier 2.5"),
            ("services_affected", Value::Null, Tier::Observe, "names no service"),
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
