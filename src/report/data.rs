//! The data of a report.

use chrono::{DateTime, Utc};

use crate::guard::budgets::ServiceBudget;
use crate::guard::spending::Spending;
use crate::inventory::Installation;
use crate::ledger::Event;
use crate::ledger::client_runs::Run;
use crate::ledger::decisions::{Decision, Statistics};
use crate::ledger::history::{ActionRecord, Period};
use crate::ledger::notices::Problem;
use crate::model::policy::Tier;
use crate::probe::hosts::Found;

/// The data of a report.
#[derive(Debug)]
pub struct ReportData<'a> {
    /// The creation time, from which relative times are computed.
    pub now: DateTime<Utc>,
    /// The start of the period.
    pub since: DateTime<Utc>,
    /// The configured tier of sessions, if any.
    pub tier: Option<Tier>,
    /// The services, hosts and limits.
    pub installation: &'a Installation,
    /// The usage of budgets, most important first.
    pub budgets: Vec<ServiceBudget>,
    /// The reachability of hosts; `None` if it was not checked.
    pub hosts: Option<Vec<Found<'a>>>,
    /// The critical notices of the last day.
    pub problems: Vec<Problem>,
    /// The number of undelivered notices of the last day.
    pub undelivered: u32,
    /// The number of guard failures that are not recorded because the ledger cannot be written.
    pub guard_failures: usize,
    /// The actions of the period.
    pub actions: Period<ActionRecord>,
    /// The decisions of the period.
    pub decisions: Period<Decision>,
    /// The events of the period, of all writers.
    pub events: Period<Event>,
    /// The sessions of the period.
    pub runs: Period<Run>,
    /// Hook durations, and denials per rule.
    pub statistics: Statistics,
    /// What was spent on requests to the model.
    pub spending: Spending,
}
