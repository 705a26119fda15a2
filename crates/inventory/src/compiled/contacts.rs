//! Contacts and modes in the compiled policy.

use super::mirrors::mirrors;
use crate::inventory::choices::AudienceWire;
use crate::model::message::{Contact, Modes};

mirrors! {
    ContactWire <=> Contact { name: String, addresses: Vec<String>, direct: bool, draft: bool }
    ModesWire <=> Modes { interactive: AudienceWire, mission: AudienceWire, background: AudienceWire }
}

impl Default for ModesWire {
    fn default() -> Self {
        Modes::default().into()
    }
}
