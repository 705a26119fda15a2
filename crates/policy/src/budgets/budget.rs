//! Sliding-window budgets: how much is used, and when the next action fits.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::display::relative_time::timestamp;
use crate::model::rights::policy::Budget;

/// The tolerance for merging histories: an entry of `cooldown.json`, or another writer's row of the ledger, this close to a
/// row of opsctl of its service and kind is the action of that row.
pub const SAME_ACTION: TimeDelta = TimeDelta::seconds(120);

/// The history of one service and one kind of action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// When the counted actions happened, in any order.
    pub entries: Vec<DateTime<Utc>>,
    /// The times of rows of the ledger that do not count: the counters were cleared after them, or they record an action
    /// again.
    pub uncounted: Vec<DateTime<Utc>>,
    /// Whether the last action was a stop, so that the next start closes the cycle without being counted.
    pub stopped: bool,
    /// The time at which the counters were cleared; entries of the file up to this time no longer count.
    pub reset: Option<DateTime<Utc>>,
    /// Another agent that is remediating the service now; `None` if there is none, or agents do not exclude each other.
    pub holder: Option<Holder>,
}

/// An agent that is remediating a service, and excludes all others from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name of the agent.
    pub agent: String,
    /// The end of its lease, unless it acts again or its session ends before.
    pub until: DateTime<Utc>,
}

/// Whether two writers' records of one service and kind are of the same action.
pub fn is_same_action(row: DateTime<Utc>, other: DateTime<Utc>) -> bool {
    (row - other).abs() <= SAME_ACTION
}

impl Usage {
    /// Adds the entries of `cooldown.json` that are not in the ledger.
    pub fn merge_file(&mut self, file: &[DateTime<Utc>]) {
        let reset = self.reset;
        let (later, _) =
            self.split(file.iter().copied().filter(|entry| reset.is_none_or(|reset| *entry > reset)));
        self.entries.extend(later);
    }

    /// Adds the rows of the ledger that other writers recorded, except those that record an action of opsctl again.
    pub fn merge_rows(&mut self, rows: &[DateTime<Utc>]) {
        let (new, again) = self.split(rows.iter().copied());
        self.entries.extend(new);
        self.uncounted.extend(again);
    }

    /// Splits records of other writers into actions that are not known yet, and those that are.
    fn split(
        &self,
        records: impl Iterator<Item = DateTime<Utc>>,
    ) -> (Vec<DateTime<Utc>>, Vec<DateTime<Utc>>) {
        let known = || self.entries.iter().chain(&self.uncounted);
        records.partition(|record| !known().any(|row| is_same_action(*row, *record)))
    }

    /// The entries that count at `now`, newest first.
    ///
    /// An entry from the future counts as long as it is less than a window ahead: setting the clock back must not free
    /// the budget, and a bogus timestamp must not block it for ever.
    pub fn counted(&self, budget: &Budget, now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
        let window = budget.window.delta();
        let mut counted: Vec<_> =
            self.entries.iter().filter(|at| **at > now - window && **at < now + window).copied().collect();
        counted.sort_unstable_by(|a, b| b.cmp(a));
        counted
    }
}

/// Whether a number of actions fits into a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// They fit.
    Fits,
    /// They fit from this time on.
    From(DateTime<Utc>),
    /// They never fit: they alone exceed the limit.
    Never,
}

impl Fit {
    /// When the next action is allowed, as a sentence; `None` if it is now.
    pub fn denial(self, limit: u32) -> Option<String> {
        match self {
            Self::Fits => None,
            Self::From(time) => Some(format!("Next allowed at {}.", timestamp(time))),
            Self::Never if limit == 0 => Some("The limit is 0: no action is allowed.".to_owned()),
            Self::Never => Some("The command alone exceeds the limit.".to_owned()),
        }
    }
}

/// The number of actions of one command, in a denial; empty for one action.
pub fn wanted_in_words(more: u32) -> String {
    if more > 1 { format!(", and this command contains {more} more") } else { String::new() }
}

/// Whether `more` actions fit on top of `counted` (newest first).
///
/// With `more` = 1 the next allowed time is the limit-th most recent entry plus the window.
pub fn fit(counted: &[DateTime<Utc>], budget: &Budget, more: u32) -> Fit {
    let Some(room) = budget.limit.checked_sub(more) else { return Fit::Never };
    // `room` entries may stay in the window; the next older one has to leave it.
    let first_too_many = usize::try_from(room).ok().and_then(|room| counted.get(room));
    match first_too_many {
        Some(entry) => Fit::From(*entry + budget.window.delta()),
        None => Fit::Fits,
    }
}
