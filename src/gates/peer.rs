//! The session on whose behalf a peer asks a gate.

use std::time::Instant;

use chrono::Utc;
use serde_json::Value;

use crate::guard::process::socket::event;
use crate::machine::agent_side::AgentSide;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::message::SessionFacts;
use crate::machine::request::Request;
use crate::machine::runner::RunnerEnvironment;
use opsctl_ledger::sessions::client_runs::Running;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_redact::Redactor;

/// A folder that no machine has.
const NOWHERE: &str = "/proc/none";

/// The request of a peer of the guard: a user of the agent's side, and what it states of its session. The guard's own record
/// determines the tier: that of the stated session if it runs, otherwise the lowest of all that run. What the peer states can
/// only lower it; without a tier of any, it is the lowest. Nothing of the agent's machine is asked or believed: what a command
/// depends on there is unknown, and its folders are no scratch folders of a host.
pub fn request(stated: SessionFacts, uid: u32, own: &Environment) -> Request {
    let mut facts = SessionFacts {
        tier: stated.tier,
        mode: stated.mode,
        dry_run: stated.dry_run,
        agent: stated.agent,
        role: stated.role,
        session: stated.session,
        client_session: stated.client_session,
        secrets: stated.secrets,
        results_dir: NOWHERE.to_owned(),
        state_dir: NOWHERE.to_owned(),
        project_dir: NOWHERE.to_owned(),
        ..SessionFacts::default()
    };
    let running = running(uid, own);
    let recorded = match &running {
        Err(_) => Some(Tier::Observe),
        Ok(running) => {
            let stated = running.iter().find(|run| facts.session.as_ref() == Some(&run.session));
            facts.session = match (stated, running.as_slice()) {
                // A peer may state none, as the programs of an engine.
                (Some(run), _) | (None, [run]) => Some(run.session.clone()),
                (None, _) => facts.session.take(),
            };
            stated.map(|run| run.tier).or_else(|| running.iter().map(|run| run.tier).min())
        }
    };
    let mut environment = event::environment(&facts, own, &RunnerEnvironment::of_process());
    let lowest = [environment.tier, recorded].into_iter().flatten().min();
    let of_policy = || installation::header_in_force(own).tier;
    environment.tier = lowest.or_else(of_policy).or(Some(Tier::Observe));
    environment.started = Instant::now();
    let secrets = Redactor::of_forms(std::mem::take(&mut facts.secrets));
    let agent = AgentSide::of_caller(facts, Box::new(|_| Some(Value::Null)));
    Request { environment, agent, secrets, now: Utc::now() }
}

/// The sessions that this user has begun and that run.
fn running(uid: u32, own: &Environment) -> Result<Vec<Running>> {
    let Some(ledger) = Ledger::open_existing(own.ledger.limited())? else { return Ok(vec![]) };
    let policy = installation::in_force(own, &mut vec![]).installation.policy;
    ledger.running(uid, &policy, ledger.now(Utc::now())?)
}
