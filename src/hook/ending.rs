//! What an agent is told that is about to end its turn: that its context is nearly full, and to report.

use chrono::{DateTime, Utc};

use super::answer::{Answer, Remarks};
use super::context_warning;
use crate::context::usage::Awaited;
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::model::mode::Mode;
use crate::model::policy::Tier;
use crate::policy::report;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::session::markers;

/// The level of context from which an agent is sent on for a turn to hear of it: what it knows is lost with it. Below, the
/// next prompt is soon enough.
const WORTH_A_TURN: u8 = 80;

/// Adds to the answer of a Stop hook. Every turn more costs all of the context once more, so a session is sent on at most
/// once to report, and for its context only while no hook has sent it on; where it goes on anyway it hears of both.
pub fn add(
    answer: Answer,
    call: &HookCall,
    again: bool,
    words: &str,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Answer {
    let mut notes = answer.notes;
    let mut reasons: Vec<String> = answer.denial.into_iter().collect();
    reasons.extend(report_missing(call, words, environment, now, &mut notes));
    if !reasons.is_empty() {
        reasons.extend(context_warning::news(call, Awaited::Answer(words), 0, environment, now, &mut notes));
        return Answer::block(reasons.join("\n\n"), notes);
    }
    let context = if again {
        vec![]
    } else {
        context_warning::news(call, Awaited::Answer(words), WORTH_A_TURN, environment, now, &mut notes)
            .into_iter()
            .collect()
    };
    Remarks { context, notes }.into_answer("Stop")
}

/// The request to report, once to a session in the background that has not: nobody looks at it.
fn report_missing(
    call: &HookCall,
    words: &str,
    environment: &Environment,
    now: DateTime<Utc>,
    notes: &mut Vec<String>,
) -> Option<String> {
    let session = call.session.as_deref().filter(|_| environment.mode == Some(Mode::Background))?;
    if !markers::find(words).is_empty() {
        return None;
    }
    let ask = || {
        let mut ledger = Ledger::open(&environment.db_path)?.for_the_record();
        let change = ledger.change()?;
        let ask = !change.has_reported(session)? && change.ask_for_report(session, now)?;
        change.commit()?;
        Ok(ask)
    };
    let ask = ask().unwrap_or_else(|error: LedgerError| {
        // What cannot be remembered would be asked without end.
        notes.push(format!("{error}; the session was not asked to report"));
        false
    });
    ask.then(|| report::missing(installation::tier_in_force(environment) != Some(Tier::Full)))
}
