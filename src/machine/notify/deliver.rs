//! Delivers notices from the outbox: one, in a process of its own, or all that are pending.

use std::thread::sleep;
use std::time::{Duration, Instant};

use chrono::Utc;

use super::apprise::{self, DEADLINE, Message, NotifyError, Sent, Target};
pub use super::wire::DeliverError;
use super::wire::Raised;
use crate::machine::environment::Environment;
use opsctl_ledger::records::notices::{NoticeState, StoredNotice};
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::records::notice::Notice;

/// The pauses between delivery attempts, long enough for a target to restart.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// The polling interval while another process delivers.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The result of flushing the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flushed {
    /// The number of delivered notices.
    pub delivered: u32,
    /// The number of notices of the last day that are not delivered.
    pub waiting: u32,
}

/// Adds what only the delivered form of a notice contains.
pub type Addition = fn(&Environment, StoredNotice, Target) -> (StoredNotice, Target);

/// Delivers one notice, with retries, and records the result. Does nothing if another process has claimed it.
pub fn one(environment: &Environment, id: i64, add: Addition) -> Result<()> {
    let Some(target) = Target::of(environment) else { return Ok(()) };
    let mut pauses = PAUSES.into_iter();
    loop {
        let Some(notice) = claim(environment, id)? else { return Ok(()) };
        let result = send(environment, &target, notice, DEADLINE, add);
        let pause = match &result {
            Err(error) if error.may_pass() => pauses.next(),
            _ => None,
        };
        settle(environment, id, &result, pause.is_some())?;
        let Some(pause) = pause else { return Ok(()) };
        // The claim is released meanwhile, so that a flush need not wait.
        sleep(pause);
    }
}

/// Records and delivers a notice that [`super::raise_apart`] passed on as JSON. If it cannot be recorded, it is delivered
/// anyway.
pub fn raised(environment: &Environment, text: &str, add: Addition) -> Result<(), DeliverError> {
    let raised = Raised::from_json(text)?;
    match super::write_down(environment, &raised) {
        Ok(None) => Ok(()),
        Ok(Some(id)) => Ok(one(environment, id, add)?),
        Err(_) => {
            unwritten(environment, &raised.notice);
            Ok(())
        }
    }
}

fn unwritten(environment: &Environment, notice: &Notice) {
    let Some(target) = Target::of(environment) else { return };
    let Notice { level, title, body, tags, .. } = notice;
    let mut pauses = PAUSES.into_iter();
    while let Err(error) = apprise::send(&target, Message { level: *level, title, body, tags }, DEADLINE) {
        match pauses.next().filter(|_| error.may_pass()) {
            Some(pause) => sleep(pause),
            None => return,
        }
    }
}

/// Sends every pending notice once and waits for other senders, for at most `deadline` in total.
pub fn all(environment: &Environment, target: &Target, deadline: Duration, add: Addition) -> Result<Flushed> {
    let started = Instant::now();
    let left = || deadline.saturating_sub(started.elapsed());
    let mut flushed = Flushed::default();
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(flushed) };
    let mut tried = Vec::new();
    while !left().is_zero() {
        // In this order: a delivery that ends between the two queries is then due.
        let under_way = ledger.notices_under_way(ledger.now(Utc::now())?)?;
        let due = ledger.due_notices(ledger.now(Utc::now())?)?;
        let Some(id) = due.into_iter().find(|id| !tried.contains(id)) else {
            if under_way {
                sleep(LOOK_AGAIN);
                continue;
            }
            break;
        };
        tried.push(id);
        let Some(notice) = claim(environment, id)? else { continue };
        let result = send(environment, target, notice, left().min(DEADLINE), add);
        settle(environment, id, &result, true)?;
        flushed.delivered += u32::from(result.is_ok());
    }
    flushed.waiting = ledger.undelivered_notices(Utc::now())?;
    Ok(flushed)
}

fn claim(environment: &Environment, id: i64) -> Result<Option<StoredNotice>> {
    Ledger::write(&environment.ledger, |change| change.claim_notice(id, change.now(Utc::now())))
}

fn send(
    environment: &Environment,
    target: &Target,
    notice: StoredNotice,
    deadline: Duration,
    add: Addition,
) -> Result<Sent, NotifyError> {
    let (notice, target) = add(environment, notice, target.clone());
    let StoredNotice { level, title, body, tags, .. } = &notice;
    apprise::send(&target, Message { level: *level, title, body, tags }, deadline)
}

fn settle(environment: &Environment, id: i64, result: &Result<Sent, NotifyError>, again: bool) -> Result<()> {
    let (state, remark) = match result {
        Ok(Sent::ToAll) => (NoticeState::Delivered, None),
        Ok(Sent::ToSome) => (NoticeState::Delivered, Some("not every target accepted it".to_owned())),
        Ok(Sent::ToNobody) => (NoticeState::NoTarget, Some("no target has one of its tags".to_owned())),
        Err(error) if again => (NoticeState::Pending, Some(error.to_string())),
        Err(error) => (NoticeState::Failed, Some(error.to_string())),
    };
    Ledger::write(&environment.ledger, |change| {
        change.settle_notice(id, state, remark.as_deref(), change.now(Utc::now()))
    })
}
