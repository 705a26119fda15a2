//! A decision as the chain of the audit contains it.

use ring::digest::{SHA256, digest};
use serde::Serialize;

/// A decision that the end of a transaction adds to the chain, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Entry {
    pub at: String,
    pub session: Option<String>,
    pub tool_use: Option<String>,
    pub tier: Option<u8>,
    pub verdict: String,
    pub rule: String,
    pub actions: String,
    pub services: String,
    pub budgets: String,
    pub reason: String,
    pub micros: Option<i64>,
    pub effect: Option<String>,
    pub agent: Option<String>,
    pub command: String,
    pub hosts: String,
    pub person: Option<String>,
    pub undo: Option<String>,
}

impl Entry {
    /// The text over which the hash is computed.
    pub(crate) fn canonical(&self) -> String {
        // Texts and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The hash of this decision after the one with the hash `before`.
    pub(crate) fn hash(&self, before: &str, number: i64) -> String {
        let text = format!("{before}{number}{}", self.canonical());
        digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Without a character that a server cannot store.
    pub(crate) fn storable(mut self) -> Self {
        let optional = [
            &mut self.session,
            &mut self.tool_use,
            &mut self.effect,
            &mut self.agent,
            &mut self.person,
            &mut self.undo,
        ];
        let texts = [
            &mut self.rule,
            &mut self.actions,
            &mut self.services,
            &mut self.budgets,
            &mut self.reason,
            &mut self.command,
            &mut self.hosts,
        ];
        for text in optional.into_iter().flatten().chain(texts) {
            if text.contains('\0') {
                *text = text.replace('\0', "\u{fffd}");
            }
        }
        self
    }
}
