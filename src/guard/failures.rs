//! Failures of opsctl itself. If the ledger cannot be used, they are kept in a file in its folder, or counted if that cannot be
//! written, either; the next hook that can use the ledger records them as critical events.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::outage::{self, Outage};
use crate::machine::environment::Environment;
use crate::machine::notify;
use crate::machine::warning::Warning;
use opsctl_ledger::records::decisions::NewDecision;
use opsctl_ledger::{CallId, Change, Ledger, Result, Source, time};
use opsctl_machine::kept_lines::{Claimed, KeptLines};
use opsctl_policy::model::display::relative_time::timestamp;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::notice::Notice;
use opsctl_policy::texts::notices::guard_failed;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Failure {
    at: String,
    session: Option<String>,
    message: String,
    #[serde(default)]
    decision: Option<UnrecordedDecision>,
}

/// A decision that could not be recorded when it was made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UnrecordedDecision {
    /// `fail-open` or `fail-closed`.
    pub verdict: String,
    /// The actions as text.
    pub actions: String,
    /// The services of the actions, separated by blanks.
    pub services: String,
}

fn kept_lines(environment: &Environment) -> KeptLines {
    KeptLines::new(&environment.state_dir, "guard-failures")
}

/// Keeps a failure for later and notifies the operators, unless they were notified of one a moment ago. The ledger is not
/// used: it is what has failed.
pub fn report(
    environment: &Environment,
    session: Option<&str>,
    message: &str,
    decision: Option<UnrecordedDecision>,
    now: DateTime<Utc>,
) -> Option<Warning> {
    let notice = guard_failed(message, session, now);
    let quiet = notice.quiet_until.map_or(TimeDelta::zero(), |until| until - now);
    let notified = last_kept(environment).is_some_and(|last| last <= now && now - last < quiet);
    let decision = decision.map(|decision| {
        let actions = opsctl_redact::text(&decision.actions).into_owned();
        UnrecordedDecision { actions, ..decision }
    });
    let (at, session_id) = (timestamp(now), session.map(str::to_owned));
    let message = opsctl_redact::text(message).into_owned();
    let failure = Failure { at, session: session_id, message, decision };
    let kept = serde_json::to_string(&failure).map(|line| kept_lines(environment).append(&line));
    // The state folder may be what is broken, and stderr has the failure.
    let is_counted_quiet = !matches!(kept, Ok(Ok(())))
        && !outage::add(&environment.state_dir, session, &failure.message, quiet, now);
    let notified = notified || is_counted_quiet;
    // The guard, which has not answered, notifies when it gets the kept failure.
    if notified || environment.guard.is_some() {
        None
    } else {
        notify::raise_apart(environment, session, &notice, None, now)
    }
}

/// How many failures are kept and not yet in the ledger.
pub fn kept(environment: &Environment) -> usize {
    let uncounted = outage::read(&environment.state_dir).map_or(0, |outage| outage.count);
    let lines = kept_lines(environment).text().map_or(0, |text| text.lines().count());
    lines.saturating_add(usize::try_from(uncounted).unwrap_or(usize::MAX))
}

/// When the last kept failure happened.
fn last_kept(environment: &Environment) -> Option<DateTime<Utc>> {
    let text = kept_lines(environment).text()?;
    let last: Failure = serde_json::from_str(text.lines().next_back()?).ok()?;
    time::read(&last.at)
}

/// Records the kept failures as events. They are removed once the change is committed.
pub fn record_kept(change: &Change<'_>, environment: &Environment) -> Result<Option<Kept>> {
    let Some(kept) = take_kept(environment) else { return Ok(None) };
    let text = String::from_utf8_lossy(&kept.text);
    for failure in text.lines().filter_map(|line| serde_json::from_str::<Failure>(line).ok()) {
        if let Some(at) = time::read(&failure.at) {
            record_one(change, Source::Hook, &failure, at)?;
        }
    }
    Ok(Some(kept))
}

/// The kept failures in the state folder, to record them or to send them to the guard.
pub fn take_kept(environment: &Environment) -> Option<Kept> {
    let state_dir = &environment.state_dir;
    let (claimed, outage) = (kept_lines(environment).claim(), outage::read(state_dir));
    if claimed.is_none() && outage.is_none() {
        return None;
    }
    let mut text = claimed.as_ref().map(|claimed| claimed.text.clone()).unwrap_or_default();
    if let Some(outage) = &outage {
        // The last line may have been cut off.
        text.push(b'\n');
        let (at, session, message) = (timestamp(outage.last), outage.session.clone(), outage.text());
        let failure = Failure { at, session, message, decision: None };
        text.extend(serde_json::to_vec(&failure).unwrap_or_default());
        text.push(b'\n');
    }
    Some(Kept { text, claimed, outage: outage.map(|outage| (state_dir.clone(), outage)) })
}

/// Kept failures, a line each, of which this process takes care.
#[derive(Debug)]
pub struct Kept {
    /// The lines.
    pub text: Vec<u8>,
    claimed: Option<Claimed>,
    /// The counted failures among them, and their state folder.
    outage: Option<(PathBuf, Outage)>,
}

impl Kept {
    /// Removes them, once they are recorded.
    pub fn remove(self) {
        if let Some(claimed) = self.claimed {
            claimed.remove();
        }
        if let Some((folder, outage)) = self.outage {
            outage::clear(&folder, &outage);
        }
    }
}

/// How failures that the agent's side states are marked and bounded.
pub struct Stated<'a> {
    /// A text as it is recorded.
    pub text: &'a dyn Fn(&str) -> String,
    /// A time as it is recorded.
    pub moment: &'a dyn Fn(DateTime<Utc>) -> DateTime<Utc>,
    /// A notice as it is raised; `None` if it is not.
    pub notice: &'a dyn Fn(Notice) -> Option<Notice>,
}

/// Records failures that the agent's side has kept, a line each, and each once.
pub fn record_sent(environment: &Environment, lines: &[&str], stated: &Stated<'_>) -> Result<()> {
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    let mut new = Vec::new();
    for line in lines {
        let Ok(mut failure) = serde_json::from_str::<Failure>(line) else { continue };
        let Some(at) = time::read(&failure.at).map(stated.moment) else { continue };
        failure.message = (stated.text)(&failure.message);
        failure.session = failure.session.map(|session| session.chars().take(200).collect());
        if let Some(decision) = &mut failure.decision {
            decision.actions = (stated.text)(&decision.actions);
            decision.services = decision.services.chars().take(1000).collect();
        }
        failure.at = time::write(at);
        if !change.has_event(&failure.message, at)? {
            record_one(&change, Source::Peer, &failure, at)?;
            new.push((failure, at));
        }
    }
    change.commit()?;
    for (Failure { session, message, .. }, at) in new {
        let Some(notice) = (stated.notice)(guard_failed(&message, session.as_deref(), at)) else { continue };
        // A notice that is not delivered now waits for the next flush.
        let _ = notify::raise(environment, session.as_deref(), &notice, at);
    }
    Ok(())
}

/// Records a failure as an event, and the decision of which it is part.
fn record_one(change: &Change<'_>, source: Source, failure: &Failure, at: DateTime<Utc>) -> Result<()> {
    let session = failure.session.as_deref();
    if let Some(UnrecordedDecision { verdict, actions, services }) = &failure.decision
        && ["fail-open", "fail-closed"].contains(&verdict.as_str())
    {
        let decision = NewDecision {
            call: CallId { session, tool_use: None },
            verdict,
            rule: "on_failure",
            actions,
            services,
            reason: &failure.message,
            ..NewDecision::default()
        };
        change.note_decision(&decision, at)?;
    }
    let event = NewEvent { level: Level::Critical, service: None, message: failure.message.clone() };
    change.add_event_from(source, session, &event, at)
}
