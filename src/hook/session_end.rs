//! The session is over: what it reserved and never used goes back.

use super::answer::Answer;
use crate::guard::failures;
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::runtime::environment::Environment;

/// Releases the session's open reservations. A ledger that does not exist has none.
pub fn handle(call: &HookCall, environment: &Environment) -> Answer {
    let Some(session) = &call.session else { return Answer::silent() };
    if !environment.db_path.exists() {
        return Answer::silent();
    }
    match release(session, environment) {
        Ok(()) => Answer::silent(),
        Err(error) => Answer::passing(vec![format!("{error}; open reservations expire by themselves")]),
    }
}

fn release(session: &str, environment: &Environment) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    change.release_session(session)?;
    let kept = failures::write_down(&change, environment)?;
    change.commit()?;
    failures::forget(kept);
    Ok(())
}
