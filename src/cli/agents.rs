//! The agents of a ledger that several of them share.

use super::failure::Failure;
use crate::ledger::Ledger;
use crate::runtime::environment::Environment;

/// Whether the ledger has rows of more than one agent: then their names are shown.
pub fn are_several(environment: &Environment) -> Result<bool, Failure> {
    Ok(match Ledger::open_existing(&environment.ledger)? {
        Some(ledger) => ledger.agents()?.len() > 1,
        None => false,
    })
}
