//! Serves records of the agent's side: notices, failures that were kept, and sessions.

use std::time::Instant;

use chrono::Utc;
use serde_json::{Value, json};

use super::rates::{Kind, Rates};
use super::stated::{self, Wrong};
use crate::guard::failures;
use crate::guard::looks::survey;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::message::{RecordCall, Reply};
use crate::machine::notify::Raised;
use crate::machine::{notify, records};
use opsctl_ledger::sessions::client_runs::NewRun;
use opsctl_ledger::{Ledger, Result};

/// The most failures of one request that are recorded.
const MOST_KEPT: u32 = 200;

/// Whether the ledger is complete, and can be read and written; the names that several agents share.
pub fn ping(environment: &Environment) -> Reply {
    let location = &environment.ledger;
    let shared = || {
        Ledger::check_writing(location)?;
        Ok(json!(survey::shared_names(location, Utc::now())?))
    };
    match Ledger::loss_at(location, &environment.state_dir) {
        Ok(Some(loss)) => Reply::Failed(loss.to_string()),
        Ok(None) => reply(shared()),
        Err(error) => reply(Err(error)),
    }
}

/// The checks of hosts and services, made on the guard's side.
pub fn survey(environment: &Environment, peer: u32, rates: &Rates) -> Reply {
    if let Some(why) = rates.refusal(peer, Kind::Records, Instant::now()) {
        return Reply::Refused(why);
    }
    let inventory = installation::in_force(environment, &mut vec![]).installation.inventory;
    survey::survey(&inventory)
        .map_or_else(|error| Reply::Failed(error.to_string()), |looks| Reply::Value(json!(looks)))
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
    let mut event = raised.event;
    event.as_mut().map(stated::event).transpose()?;
    Ok(Raised {
        session: session.map(str::to_owned),
        at: raised.at,
        notice: stated::notice(raised.notice, Utc::now())?,
        event,
    })
}

/// Records a session, an event of it, or looks one up.
pub fn record(call: RecordCall, environment: &Environment, peer: u32, rates: &Rates) -> Reply {
    if let Some(why) = rates.refusal(peer, Kind::Records, Instant::now()) {
        return Reply::Refused(why);
    }
    match checked(call) {
        Ok(call) => {
            try_record(call, environment, peer).unwrap_or_else(|error| Reply::Failed(error.to_string()))
        }
        Err(why) => Reply::Refused(why),
    }
}

/// Checks the names and numbers of a record, and marks its texts.
fn checked(mut call: RecordCall) -> Result<RecordCall, Wrong> {
    let session_of = |session: &Option<String>| match session {
        Some(session) => stated::name("session", session).map(drop),
        None => Ok(()),
    };
    match &mut call {
        RecordCall::Begin(NewRun { session, tier, model, log, parent }) => {
            stated::name("session", session)?;
            stated::tier(*tier)?;
            stated::name("model", model)?;
            if let Some(log) = log {
                stated::path("log", log)?;
            }
            session_of(parent)?;
        }
        RecordCall::End { end, refused, .. } => {
            stated::end(end)?;
            refused.iter().try_for_each(|call| stated::name("call", call).map(drop))?;
        }
        RecordCall::Event { session, event, .. } => {
            session_of(session)?;
            stated::event(event)?;
        }
        RecordCall::Reported(session) | RecordCall::Before(session) => {
            stated::name("session", session).map(drop)?;
        }
        RecordCall::Verified { tier, objection, .. } => {
            stated::tier(*tier)?;
            *objection = objection.take().map(|reason| stated::text(&reason));
        }
        RecordCall::LatestRun { tier, stated: session } => {
            stated::tier(*tier)?;
            session_of(session)?;
        }
        RecordCall::Waiting { session } => session_of(session)?,
        RecordCall::Resume { .. } | RecordCall::VerifierDue { .. } => {}
    }
    Ok(call)
}

fn reply(done: Result<Value>) -> Reply {
    match done {
        Ok(value) => Reply::Value(value),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

fn try_record(call: RecordCall, environment: &Environment, peer: u32) -> Result<Reply> {
    if let RecordCall::Resume { row }
    | RecordCall::End { row, .. }
    | RecordCall::VerifierDue { row }
    | RecordCall::Verified { row, .. } = &call
        && !Ledger::open(&environment.ledger)?.is_run_of(*row, peer)?
    {
        let agent = environment.ledger.agent_name();
        return Ok(Reply::Refused(format!("session {row} was not begun by agent {agent} of user {peer}")));
    }
    records::perform(environment, call, Some(peer), Utc::now()).map(Reply::Value)
}
