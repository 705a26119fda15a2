//! Serves records of the agent's side: notices, failures that were kept, and sessions.

use chrono::Utc;
use serde_json::{Value, json};

use crate::guard::failures;
use crate::ledger::client_runs::{NewRun, RunEnd, Waiting};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::link::message::{RecordCall, Reply, WaitingRunWire};
use crate::model::event::{Level, NewEvent};
use crate::model::policy::Tier;
use crate::runtime::environment::Environment;
use crate::runtime::{notify, records};

/// The outcomes of a session.
const OUTCOMES: [&str; 6] = ["completed", "failed", "timeout", "signalled", "not_started", "waiting"];

/// Whether the ledger is complete, and can be read and written.
pub fn ping(environment: &Environment) -> Reply {
    match Ledger::loss_at(&environment.ledger, &environment.state_dir) {
        Ok(Some(loss)) => Reply::Failed(loss.to_string()),
        Ok(None) => reply(Ledger::check_writing(&environment.ledger).map(|()| Value::Null)),
        Err(error) => reply(Err(error)),
    }
}

/// Records failures that the agent's side has kept.
pub fn kept(payload: &[u8], environment: &Environment) -> Reply {
    reply(failures::record_sent(environment, &String::from_utf8_lossy(payload)).map(|()| Value::Null))
}

/// Records a notice and has it delivered.
pub fn notice(payload: &[u8], environment: &Environment) -> Reply {
    match notify::accept(environment, &String::from_utf8_lossy(payload)) {
        Ok(warning) => Reply::Value(json!(warning.map(|warning| warning.to_string()))),
        Err(error) => Reply::Refused(error.to_string()),
    }
}

/// Records a session, an event of it, or looks one up.
pub fn record(call: RecordCall, environment: &Environment) -> Reply {
    reply(try_record(call, environment))
}

fn reply(done: Result<Value, LedgerError>) -> Reply {
    match done {
        Ok(value) => Reply::Value(value),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

fn try_record(call: RecordCall, environment: &Environment) -> Result<Value, LedgerError> {
    let now = Utc::now();
    let tier_of = |number: u8| Tier::from_number(number).unwrap_or(Tier::Observe);
    if let RecordCall::LatestRun { tier, stated } = &call {
        let ledger = Ledger::open_existing(&environment.ledger)?;
        let latest = ledger.map(|ledger| ledger.latest_run(tier_of(*tier), stated.as_deref())).transpose()?;
        return Ok(json!(latest.flatten()));
    }
    if let RecordCall::Waiting { session } = &call {
        return Ok(json!(
            records::waiting_runs(environment, session.as_deref(), now)?
                .into_iter()
                .map(WaitingRunWire::from)
                .collect::<Vec<_>>()
        ));
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    let value = match call {
        RecordCall::Begin { session, tier, model, log, parent } => {
            json!(change.begin_run(&NewRun {
                session: &session,
                tier: tier_of(tier),
                model: &model,
                log: log.as_deref(),
                parent: parent.as_deref(),
                at: now,
            })?)
        }
        RecordCall::Resume { row } => {
            change.resume_run(row, now)?;
            Value::Null
        }
        RecordCall::End { row, end } => {
            let waiting = end.waiting.map(Waiting::from);
            let end = RunEnd {
                waiting: waiting.as_ref(),
                outcome: OUTCOMES.into_iter().find(|known| *known == end.outcome).unwrap_or("failed"),
                exit_code: end.exit_code,
                cost_usd: end.cost_usd,
                turns: end.turns,
                input_tokens: end.input_tokens,
                output_tokens: end.output_tokens,
                duration_ms: end.duration_ms,
                at: now,
            };
            change.end_run(row, &end)?;
            Value::Null
        }
        RecordCall::Event { once, of_agent, session, level, service, message } => {
            let source = if of_agent { Source::Agent } else { Source::Runner };
            let level = Level::named(&level).unwrap_or(Level::Critical);
            if !once || !change.is_recent_event(session.as_deref(), &message)? {
                let event = NewEvent { level, service, message };
                change.add_event_from(source, session.as_deref(), &event, now)?;
            }
            Value::Null
        }
        RecordCall::Reported(session) => {
            change.note_report(&session, now)?;
            Value::Null
        }
        RecordCall::LatestRun { .. } | RecordCall::Waiting { .. } => Value::Null,
    };
    change.commit()?;
    Ok(value)
}
