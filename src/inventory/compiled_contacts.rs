//! Contacts and modes as they stand in the compiled policy.

use serde::{Deserialize, Serialize};

use super::words::AudienceWire;
use crate::model::message::{Contact, Modes};

#[derive(Serialize, Deserialize)]
pub struct ContactWire {
    name: String,
    addresses: Vec<String>,
    direct: bool,
    draft: bool,
}

impl From<Contact> for ContactWire {
    fn from(contact: Contact) -> Self {
        let Contact { name, addresses, direct, draft } = contact;
        Self { name, addresses, direct, draft }
    }
}

impl From<ContactWire> for Contact {
    fn from(wire: ContactWire) -> Self {
        let ContactWire { name, addresses, direct, draft } = wire;
        Self { name, addresses, direct, draft }
    }
}

#[derive(Serialize, Deserialize)]
pub struct ModesWire {
    interactive: AudienceWire,
    mission: AudienceWire,
    background: AudienceWire,
}

impl From<Modes> for ModesWire {
    fn from(modes: Modes) -> Self {
        let Modes { interactive, mission, background } = modes;
        Self { interactive: interactive.into(), mission: mission.into(), background: background.into() }
    }
}

impl From<ModesWire> for Modes {
    fn from(wire: ModesWire) -> Self {
        let ModesWire { interactive, mission, background } = wire;
        Self { interactive: interactive.into(), mission: mission.into(), background: background.into() }
    }
}

impl Default for ModesWire {
    fn default() -> Self {
        Modes::default().into()
    }
}
