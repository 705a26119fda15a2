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
