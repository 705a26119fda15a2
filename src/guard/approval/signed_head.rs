//! The end of the audit, as a person signs it.

use chrono::{DateTime, Utc};

use super::statement::{self, Bytes};
use super::{ApprovalError, signing_key};
use crate::machine::environment::Environment;
use opsctl_ledger::records::chain::Head;
use opsctl_policy::model::rights::public_key::PublicKey;

const FORMAT: &str = "opsctl-audit-head-v1";

fn bytes(head: &Head, at: DateTime<Utc>) -> Vec<u8> {
    let mut bytes = Bytes::of(FORMAT);
    bytes.number(head.entries);
    bytes.text(&head.hash);
    bytes.number(at.timestamp());
    bytes.into_inner()
}

/// The signature of the end of the audit at this time.
pub fn sign(head: &Head, at: DateTime<Utc>, environment: &Environment) -> Result<String, ApprovalError> {
    Ok(statement::sign(&signing_key(environment)?, &bytes(head, at)))
}

/// Whether a person with the key has signed it.
pub fn is_genuine(head: &Head, at: DateTime<Utc>, signature: &str, key: PublicKey) -> bool {
    statement::verify(&bytes(head, at), signature, key)
}
