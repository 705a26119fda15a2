//! What the rules, the budgets and persons decide on a call, with the ledger as it stands.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::acting::ActingCall;
use super::asking::{AfterDenial, Needed, approved, grants};
use crate::guard::kept::Beside;
use crate::machine::environment::Environment;
use opsctl_ledger::file::mark::LedgerLoss;
use opsctl_ledger::{CallId, Change, Ledger, Location, Result};
use opsctl_policy::budgets::hosts;
use opsctl_policy::decide::{BudgetKey, Reservation, Snapshot};
use opsctl_policy::model::records::question::Grant;
use opsctl_policy::model::records::verdict::{Asked, Reason, Verdict};
use opsctl_policy::model::rights::ask::Topic;
use opsctl_policy::model::rights::policy::{OnFailure, Policy};

/// The ledger as a decision reads it: within a transaction, or as it exists.
pub trait Book {
    /// The usage of these budgets.
    fn usage(&self, keys: &[BudgetKey], policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot>;

    /// Whether a call has a reservation in it, or had one.
    fn knows(&self, call: CallId<'_>) -> Result<bool>;

    /// What the ledger has lost; `None` if it is complete.
    fn loss(&self, state_dir: &Path) -> Result<Option<LedgerLoss>>;

    /// The unexpired grants of a budget.
    fn grants_of(&self, key: &BudgetKey, now: DateTime<Utc>) -> Result<Vec<Grant>>;
}

impl Book for Change<'_> {
    fn usage(&self, keys: &[BudgetKey], policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot> {
        Change::usage(self, keys, policy, now)
    }

    fn knows(&self, call: CallId<'_>) -> Result<bool> {
        self.has_call(call)
    }

    fn loss(&self, state_dir: &Path) -> Result<Option<LedgerLoss>> {
        Change::loss(self, state_dir)
    }

    fn grants_of(&self, key: &BudgetKey, now: DateTime<Utc>) -> Result<Vec<Grant>> {
        Change::grants_of(self, key, now)
    }
}

/// The ledger, if it exists; nothing is written to it.
pub struct Existing<'a>(&'a Location, Option<Ledger>);

impl<'a> Existing<'a> {
    /// Opens the ledger.
    pub fn open(location: &'a Location) -> Result<Self> {
        Ok(Self(location, Ledger::open_existing(location)?))
    }

    /// The time of the ledger.
    pub fn now(&self, here: DateTime<Utc>) -> Result<DateTime<Utc>> {
        self.1.as_ref().map_or(Ok(here), |ledger| ledger.now(here))
    }
}

impl Book for Existing<'_> {
    fn usage(&self, keys: &[BudgetKey], policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot> {
        self.1.as_ref().map_or(Ok(Snapshot::new()), |ledger| ledger.usage(keys, policy, now))
    }

    fn knows(&self, call: CallId<'_>) -> Result<bool> {
        self.1.as_ref().map_or(Ok(false), |ledger| ledger.has_call(call))
    }

    fn loss(&self, state_dir: &Path) -> Result<Option<LedgerLoss>> {
        Ledger::loss_at(self.0, state_dir)
    }

    fn grants_of(&self, key: &BudgetKey, now: DateTime<Utc>) -> Result<Vec<Grant>> {
        let mut grants = self.1.as_ref().map_or(Ok(vec![]), |ledger| ledger.grants(now))?;
        grants.retain(|grant| grant.service == key.service && grant.kind == key.kind);
        Ok(grants)
    }
}

/// The budgets on which a call draws, and what is known of them besides the ledger.
#[derive(Clone, Copy)]
pub struct History<'a> {
    /// The budgets.
    pub keys: &'a [BudgetKey],
    /// What the ledger does not contain.
    pub beside: &'a Beside,
}

impl History<'_> {
    /// The usage of the budgets with this ledger.
    pub fn usage(&self, book: &dyn Book, policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot> {
        let mut snapshot = book.usage(self.keys, policy, now)?;
        self.beside.without(|call| book.knows(call))?.merge(&mut snapshot, self.keys);
        Ok(snapshot)
    }

    /// The usage that is known without the ledger.
    pub fn alone(&self) -> Snapshot {
        let mut snapshot = Snapshot::new();
        self.beside.merge(&mut snapshot, self.keys);
        snapshot
    }
}

/// A decision on a call, and what has to be written with it.
pub struct Decided {
    /// The verdict.
    pub verdict: Verdict,
    /// What is left to do.
    pub rest: Rest,
    /// What is reserved.
    pub reservations: Vec<Reservation>,
    /// The grants that it uses.
    pub uses: grants::Uses,
    /// Who has allowed it.
    pub remark: Option<String>,
    /// The notice to deliver after the commit.
    pub notice: Option<i64>,
    /// The usage that it is based on.
    pub snapshot: Snapshot,
    /// What the ledger has lost.
    pub lost: Option<LedgerLoss>,
}

/// What is left to do after a decision.
pub enum Rest {
    /// Its rows are written and committed.
    Rows,
    /// The denial is recorded.
    Denied,
    /// The denial by a budget is recorded and reported.
    Exhausted,
    /// The call is denied: the ledger has lost rows, and `policy.on_failure` is closed.
    LostRows(LedgerLoss),
    /// The client is asked, and the decision begins anew.
    Needed(Needed),
}

/// Decides on a call. `ask` has a person asked about these objections, and returns what became of it.
pub fn decided(
    acting: &ActingCall<'_>,
    book: &dyn Book,
    history: History<'_>,
    environment: &Environment,
    ask: &dyn Fn(&[Reason]) -> Result<AfterDenial>,
) -> Result<Decided> {
    let policy = &acting.installation.policy;
    let lost = book.loss(&environment.state_dir)?;
    let snapshot = history.usage(book, policy, acting.now)?;
    let by_rules = acting.by_rules(&snapshot, acting.now);
    // A denial that depends on no budget needs no usage.
    let by_budget = acting.objections.is_empty() && !history.keys.is_empty();
    let decided = Decided {
        verdict: by_rules.verdict,
        rest: if by_budget { Rest::Exhausted } else { Rest::Denied },
        reservations: by_rules.reservations,
        uses: vec![],
        remark: None,
        notice: None,
        snapshot,
        lost,
    };
    if decided.verdict != Verdict::Silent {
        let (reasons, reservations) = acting.all_objections(&decided.snapshot);
        if acting.is_watched(&reasons) {
            // It runs, so it counts.
            let verdict = Verdict::Watched(reasons);
            return Ok(Decided { verdict, rest: Rest::Rows, reservations, ..decided });
        }
    }
    let closed = decided.lost.clone().filter(|_| policy.on_failure == OnFailure::Closed);
    match (&decided.verdict, closed) {
        (Verdict::Silent, Some(rows)) => Ok(Decided { rest: Rest::LostRows(rows), ..decided }),
        (Verdict::Silent, None) => Ok(Decided { rest: Rest::Rows, ..decided }),
        // What a lost row would have denied cannot be asked about.
        (_, Some(_)) => Ok(decided),
        (_, None) => lifted(decided, acting, book, ask),
    }
}

/// The decision after persons have lifted the denial, or were asked to.
fn lifted(
    denied: Decided,
    acting: &ActingCall<'_>,
    book: &dyn Book,
    ask: &dyn Fn(&[Reason]) -> Result<AfterDenial>,
) -> Result<Decided> {
    let (mut reasons, reservations) = acting.all_objections(&denied.snapshot);
    let is_of_service = |reason: &Reason| reason.topic == Some(Topic::Budget) && reason.rule != hosts::RULE;
    if reasons.iter().all(is_of_service) {
        let granted = |key: &BudgetKey| book.grants_of(key, acting.now);
        if let Some(uses) = grants::covering(&reservations, acting.budgets(&denied.snapshot), granted)? {
            let remark = Some(grants::in_words(&uses));
            let (verdict, rest) = (Verdict::Silent, Rest::Rows);
            return Ok(Decided { verdict, rest, reservations, uses, remark, ..denied });
        }
    }
    Ok(match ask(&reasons)? {
        AfterDenial::Needed(needed) => Decided { rest: Rest::Needed(needed), ..denied },
        AfterDenial::Denied(None) => denied,
        AfterDenial::Denied(Some(reason)) => {
            reasons.push(reason);
            Decided { verdict: Verdict::Deny(reasons), rest: Rest::Denied, ..denied }
        }
        AfterDenial::Forged(reason, notice) => {
            reasons.push(reason);
            Decided { verdict: Verdict::Deny(reasons), rest: Rest::Rows, notice, ..denied }
        }
        AfterDenial::Asked { question, at_terminal, notice } => {
            let verdict = Verdict::Ask(Asked { question, at_terminal, reasons });
            // The person at the terminal answers after this hook.
            let reservations = if at_terminal { reservations } else { vec![] };
            Decided { verdict, rest: Rest::Rows, reservations, notice, ..denied }
        }
        AfterDenial::Approved(id, answer) => {
            let remark = Some(approved(id, &answer));
            Decided { verdict: Verdict::Silent, rest: Rest::Rows, reservations, remark, ..denied }
        }
    })
}
