//! Serves records of the agent's side: notices, failures that were kept, and sessions.

use std::time::Instant;

use chrono::Utc;
use serde_json::{Value, json};

use super::rates::{Kind, Rates};
use super::stated::{self, Wrong};
use crate::guard::failures;
use crate::ledger::client_runs::{NewRun, RunEnd, Waiting};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::link::message::{RecordCall, Reply, WaitingRunWire};
use crate::model::policy::Tier;
use crate::runtime::environment::Environment;
use crate::runtime::notify::Raised;
use crate::runtime::{notify, records};

/// The most failures of one request that are recorded.
const MOST_KEPT: u32 = 200;

/// Whether the ledger is complete, and can be read and written.
pub fn ping(environment: &Environment) -> Reply {
    match Ledger::loss_at(&environment.ledger, &environment.state_dir) {
        Ok(Some(loss)) => Reply::Failed(loss.to_string()),
        Ok(None) => reply(Ledger::check_writing(&environment.ledger).map(|()| Value::Null)),
        Err(error) => reply(Err(error)),
    }
}

/// Records failures that the agent's side has kept: at most as many as its user may record now. The rest is left out, because
/// what is refused would be sent for ever.
pub fn kept(payload: &[u8], environment: &Environment, peer: u32, rates: &Rates) -> Reply {
    let now = Utc::now();
    let lines = String::from_utf8_lossy(payload);
    let lines: Vec<&str> = lines.lines().collect();
    let wanted = u32::try_from(lines.len()).unwrap_or(u32::MAX).min(MOST_KEPT);
    let most = rates.take(peer, Kind::Records, wanted, Instant::now());
    let stated = failures::Stated {
        text: &stated::text,
        moment: &|at| stated::moment(at, now),
        notice: &|notice| stated::notice(notice, now).ok(),
    };
    let lines = lines.get(..most as usize).unwrap_or(&lines);
    reply(failures::record_sent(environment, lines, &stated).map(|()| Value::Null))
}

/// Records a notice and has it delivered.
pub fn notice(payload: &[u8], environment: &Environment, peer: u32, rates: &Rates) -> Reply {
    if let Some(why) = rates.refusal(peer, Kind::Notices, Instant::now()) {
        return Reply::Refused(why);
    }
    match notify::accept(environment, &String::from_utf8_lossy(payload), &stated_by_peer) {
        Ok(warning) => Reply::Value(json!(warning.map(|warning| warning.to_string()))),
        Err(error) => Reply::Refused(error.to_string()),
    }
}

/// A notice and its event, as a peer states them.
fn stated_by_peer(raised: Raised) -> Result<Raised, Wrong> {
    let session = raised.session.as_deref().map(|session| stated::name("session", session)).transpose()?;
    let event = raised.event.as_ref();
    let event = event.map(|event| stated::event(event.level.as_str(), event.service.clone(), &event.message));
    Ok(Raised {
        session: session.map(str::to_owned),
        at: raised.at,
        notice: stated::notice(raised.notice, Utc::now())?,
        event: event.transpose()?,
    })
}

/// Records a session, an event of it, or looks one up.
pub fn record(call: RecordCall, environment: &Environment, peer: u32, rates: &Rates) -> Reply {
    if let Some(why) = rates.refusal(peer, Kind::Records, Instant::now()) {
        return Reply::Refused(why);
    }
    match checked(&call) {
        Ok(()) => {
            try_record(call, environment, peer).unwrap_or_else(|error| Reply::Failed(error.to_string()))
        }
        Err(why) => Reply::Refused(why),
    }
}

/// Checks the names and numbers of a record.
fn checked(call: &RecordCall) -> Result<(), Wrong> {
    let session_of = |session: &Option<String>| match session {
        Some(session) => stated::name("session", session).map(drop),
        None => Ok(()),
    };
    match call {
        RecordCall::Begin { session, tier, model, log, parent } => {
            stated::name("session", session)?;
            stated::tier(*tier)?;
            stated::name("model", model)?;
            if let Some(log) = log {
                stated::path("log", log)?;
            }
            session_of(parent)
        }
        RecordCall::End { end, .. } => stated::outcome(end).map(drop),
        RecordCall::Event { session, level, service, .. } => {
            session_of(session)?;
            stated::event(level, service.clone(), "").map(drop)
        }
        RecordCall::Reported(session) => stated::name("session", session).map(drop),
        RecordCall::LatestRun { tier, stated: session } => {
            stated::tier(*tier)?;
            session_of(session)
        }
        RecordCall::Waiting { session } => session_of(session),
        RecordCall::Resume { .. } => Ok(()),
    }
}

fn reply(done: Result<Value, LedgerError>) -> Reply {
    match done {
        Ok(value) => Reply::Value(value),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

fn try_record(call: RecordCall, environment: &Environment, peer: u32) -> Result<Reply, LedgerError> {
    let now = Utc::now();
    let tier_of = |number: u8| Tier::from_number(number).unwrap_or(Tier::Observe);
    if let RecordCall::LatestRun { tier, stated } = &call {
        let ledger = Ledger::open_existing(&environment.ledger)?;
        let latest = ledger.map(|ledger| ledger.latest_run(tier_of(*tier), stated.as_deref())).transpose()?;
        return Ok(Reply::Value(json!(latest.flatten())));
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    if let RecordCall::Waiting { session } = &call {
        let mut runs = Vec::new();
        for run in records::waiting_runs(environment, session.as_deref(), now)? {
            if ledger.is_run_of(run.row, peer)? {
                runs.push(WaitingRunWire::from(run));
            }
        }
        return Ok(Reply::Value(json!(runs)));
    }
    if let RecordCall::Resume { row } | RecordCall::End { row, .. } = &call
        && !ledger.is_run_of(*row, peer)?
    {
        let agent = environment.ledger.agent_name();
        return Ok(Reply::Refused(format!("session {row} was not begun by agent {agent} of user {peer}")));
    }
    let change = ledger.change()?;
    let mut value = Value::Null;
    match call {
        RecordCall::Begin { session, tier, model, log, parent } => {
            value = json!(change.begin_run(&NewRun {
                session: &session,
                tier: tier_of(tier),
                model: &model,
                log: log.as_deref(),
                parent: parent.as_deref(),
                peer: Some(peer),
                at: now,
            })?);
        }
        RecordCall::Resume { row } => {
            change.resume_run(row, now)?;
        }
        RecordCall::End { row, end } => {
            // It has been checked.
            let Ok(outcome) = stated::outcome(&end) else { return Ok(Reply::Value(Value::Null)) };
            let waiting = end.waiting.map(Waiting::from);
            let end = RunEnd {
                waiting: waiting.as_ref(),
                outcome,
                exit_code: end.exit_code,
                cost_usd: end.cost_usd,
                turns: end.turns,
                input_tokens: end.input_tokens,
                output_tokens: end.output_tokens,
                duration_ms: end.duration_ms,
                at: now,
            };
            change.end_run(row, &end)?;
        }
        RecordCall::Event { once, of_agent, session, level, service, message } => {
            let source = if of_agent { Source::Agent } else { Source::Peer };
            if let Ok(event) = stated::event(&level, service, &message)
                && !(once && change.is_recent_event(session.as_deref(), &event.message)?)
            {
                change.add_event_from(source, session.as_deref(), &event, now)?;
            }
        }
        RecordCall::Reported(session) => change.note_report(&session, now)?,
        RecordCall::LatestRun { .. } | RecordCall::Waiting { .. } => {}
    }
    change.commit()?;
    Ok(Reply::Value(value))
}
