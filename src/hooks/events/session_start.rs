//! A session starts: the session context is printed to stdout.

use std::time::Duration;

use super::context_warning;
use crate::guard::{budgets, failures, kept, outage};
use crate::hooks::answer::Answer;
use crate::hooks::context::text::{Reading, Shown};
use crate::hooks::context::{self, Reader, SessionFiles};
use crate::hooks::registry::{self, Details};
use crate::hooks::session_context::{self, Composed, State};
use crate::machine::installation;
use crate::machine::request::Request;
use crate::machine::started;
use crate::machine::unreported;
use crate::machine::warning::Warning;
use opsctl_ledger::cooldown::cooldown_edit;
use opsctl_ledger::records::notices::Problem;
use opsctl_ledger::{Event, Ledger, LedgerError, Result};
use opsctl_policy::model::display::relative_time::timestamp;
use opsctl_policy::model::records::event::{HookCall, SessionStart};
use opsctl_policy::model::records::session::Activity;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_probe::hosts;

/// The time limit for all hosts together.
const PING_DEADLINE: Duration = Duration::from_secs(2);

/// How many events are shown.
const EVENTS: u32 = 10;

/// Prints the session context. A section without data states that.
pub fn handle(call: &HookCall, start: &SessionStart, request: &Request) -> Answer {
    let mut request = started::restored(request).unwrap_or_else(|| request.clone());
    // The parts of the context read the ledger one after another, and opening it costs more than reading it.
    request.environment.ledger.pool.get_or_insert_default();
    let request = &request;
    let mut warnings = Vec::new();
    // The context is empty again, and fills again.
    if matches!(start.source.as_deref(), Some("clear" | "compact")) {
        warnings.extend(context_warning::reset(call, request).err().map(Warning::from));
    }
    let context = compose(Reader::default(), request, &mut warnings);
    let policy = installation::in_force(request, &mut vec![]).installation.policy;
    match unreported::settle_overdue(request, &policy, request.now) {
        Ok(unsent) => warnings.extend(unsent),
        Err(error) => warn_once(error, &mut warnings),
    }
    // Last, so that the files that this may create are not taken for a history.
    let details = Details { tier: context.tier, model: start.model.as_deref() };
    match registry::record(call, Some(&Activity::Started(start)), details, request) {
        Ok(_) => {
            outage::prepare(&request.state_dir);
            kept::lines(request).prepare();
            let created = cooldown_edit::create_if_missing(&request.cooldown_file());
            warnings.extend(created.err().map(Warning::CooldownFileNotCreated));
        }
        Err(error) => {
            let message = format!("Guard failed to record a session: {error}");
            let session = call.session.as_deref();
            warnings.extend(failures::report(request, session, &message, None, request.now));
            warn_once(error, &mut warnings);
        }
    }
    Answer::context(context.text, warnings)
}

/// The session context.
pub struct SessionContext {
    /// The whole text.
    pub text: String,
    /// The files that it includes.
    pub reading: Reading,
    /// How much of each file is included.
    pub shares: Vec<Shown>,
    /// The tier of the session.
    pub tier: Option<Tier>,
}

/// Composes the session context for `reader`; its tier and role default to those of this session.
pub fn compose(reader: Reader<'_>, request: &Request, warnings: &mut Vec<Warning>) -> SessionContext {
    let compiled = installation::in_force(request, warnings);
    let installation = &compiled.installation;
    let snapshot = budgets::snapshot(request, installation, request.now, warnings);
    let budgets = snapshot.map(|(snapshot, now)| budgets::in_order(installation, &snapshot, now));
    let events = latest_events(request).unwrap_or_else(|error| {
        warn_once(error, warnings);
        None
    });
    let (hosts, ping_warning) = hosts::look(&installation.inventory.hosts, PING_DEADLINE);
    warnings.extend(ping_warning.map(Warning::from));
    let problems = problems(request);
    let state =
        State { budgets: budgets.as_deref(), problems: &problems, events: events.as_deref(), hosts: &hosts };
    let reader = Reader {
        tier: reader.tier.or(request.tier).or(compiled.tier),
        role: reader.role.or(request.role.as_deref()),
    };
    let SessionFiles { reading, repositories } = context::files_of(reader, &compiled, request);
    let Composed { text, files_room } = session_context::with_files(&state, &repositories, &reading);
    let shares = reading.shares(files_room);
    SessionContext { text, reading, shares, tier: reader.tier }
}

/// Warns of the ledger unless there is such a warning: its parts come from the same file.
fn warn_once(error: LedgerError, warnings: &mut Vec<Warning>) {
    let warning = Warning::from(error);
    if !warnings.iter().any(|known| known.to_string() == warning.to_string()) {
        warnings.push(warning);
    }
}

/// Problems of the last day that need a person's attention, and notifications that were not delivered. A ledger that cannot be
/// read gives none: there is a warning of it already.
fn problems(request: &Request) -> Vec<String> {
    let mut problems = Vec::new();
    let kept = failures::kept(request);
    if kept > 0 {
        problems.push(format!(
            "The guard has failed {kept} times, and the ledger cannot be used; ask an operator to check it"
        ));
    }
    if let Ok(Some(ledger)) = Ledger::open_existing(&request.ledger) {
        for Problem { title, at, .. } in ledger.problems(request.now).unwrap_or_default() {
            let at = at.map_or_else(|| "unknown time".to_owned(), timestamp);
            problems.push(format!("{at} | {title}"));
        }
        match ledger.undelivered_notices(request.now) {
            Ok(0) | Err(_) => {}
            Ok(count) => {
                problems.push(format!("Undelivered notifications: {count}; `opsctl notify` shows why"));
            }
        }
    }
    problems
}

fn latest_events(request: &Request) -> Result<Option<Vec<Event>>> {
    Ledger::read_at(&request.ledger, |ledger| ledger.latest_events(EVENTS).map(Some))
}
