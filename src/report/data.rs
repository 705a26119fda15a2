//! What a page shows.

use chrono::{DateTime, Utc};

use crate::guard::budgets::ServiceBudget;
use crate::inventory::Installation;
use crate::ledger::Event;
use crate::ledger::client_runs::Run;
use crate::ledger::decisions::{Decision, Statistics};
use crate::ledger::history::{ActionRecord, Period};
use crate::ledger::notices::Problem;
use crate::model::policy::Tier;
use crate::probe::hosts::Found;

/// What a page is made of.
#[derive(Debug)]
pub struct ReportData<'a> {
    /// When it is made: every distance in time is told from here.
    pub now: DateTime<Utc>,
    /// What happened before is not told.
    pub since: DateTime<Utc>,
    /// The tier that sessions are held to; `None`: none is named.
    pub tier: Option<Tier>,
    /// The services, hosts and limits.
    pub installation: &'a Installation,
    /// What the services have used, what matters first.
    pub budgets: Vec<ServiceBudget>,
    /// The hosts as they were found a moment ago; `None`: nobody has looked.
    pub hosts: Option<Vec<Found<'a>>>,
    /// What a person was called for within the last day.
    pub problems: Vec<Problem>,
    /// Notices of the last day that nobody has heard.
    pub undelivered: u32,
    /// Failures of the guard that wait for a ledger that can be written.
    pub guard_failures: usize,
    /// What has run.
    pub actions: Period<ActionRecord>,
    /// Decisions on commands that act.
    pub decisions: Period<Decision>,
    /// Events, whoever wrote them.
    pub events: Period<Event>,
    /// Sessions of the client.
    pub runs: Period<Run>,
    /// How long hooks took, and what rules objected to.
    pub statistics: Statistics,
}
