//! The data of a report.

use chrono::{DateTime, Utc};

use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::guard::spending::Spending;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::pages::attention::{Attention, Known, last_day};
use opsctl_inventory::Installation;
use opsctl_inventory::compiled::Compiled;
use opsctl_ledger::records::decisions::{Decision, Statistics, Which};
use opsctl_ledger::records::history::{ActionRecord, Period};
use opsctl_ledger::records::notices::Problem;
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_ledger::{Event, Lease, Ledger, Result};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_probe::hosts::PingedHost;

/// How much of the history is read and shown.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The maximum number of rows of one kind that are read.
    pub rows: u32,
    /// The maximum number of rows in the table of a service; further ones are counted.
    pub of_service: usize,
}

impl Extent {
    /// That of a report, which is written once.
    pub const REPORT: Self = Self { rows: 20_000, of_service: 25 };

    /// That of a page, which is made for each look at it.
    pub const PAGE: Self = Self { rows: 2_000, of_service: 8 };
}

/// The maximum number of open questions that are counted.
const MOST_QUESTIONS: u32 = 100;

/// The data of a report.
#[derive(Debug)]
pub struct ReportData<'a> {
    /// How much of the history it has.
    pub extent: Extent,
    /// The creation time, from which relative times are computed.
    pub now: DateTime<Utc>,
    /// The start of the period.
    pub since: DateTime<Utc>,
    /// The configured tier of sessions, if any.
    pub tier: Option<Tier>,
    /// Whether sessions are dry runs.
    pub dry_run: bool,
    /// The services, hosts and limits.
    pub installation: &'a Installation,
    /// The usage of budgets, most important first.
    pub budgets: Vec<ServiceBudget>,
    /// Whether there is a ledger.
    pub has_ledger: bool,
    /// The reachability of hosts; `None` if it was not checked.
    pub hosts: Option<Vec<PingedHost>>,
    /// The critical notices of the last day.
    pub problems: Vec<Problem>,
    /// The number of open questions to a person.
    pub questions: usize,
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
    /// The agent whose actions, decisions, events and sessions they are; `None`: those of all agents.
    pub agent: Option<String>,
    /// The agents of the ledger. Their names are shown if there are several.
    pub agents: Vec<String>,
    /// The services that one agent is remediating.
    pub leases: Vec<Lease>,
}

impl<'a> ReportData<'a> {
    /// The data of the time from `since` to `now`, without the reachability of hosts: of an agent, or of all agents (`None`).
    /// Without a ledger, it has no history.
    pub fn read(
        environment: &Environment,
        compiled: &'a Compiled,
        ledger: Option<&Ledger>,
        agent: Option<&str>,
        (since, now, extent): (DateTime<Utc>, DateTime<Utc>, Extent),
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let installation = &compiled.installation;
        let mut data = Self {
            extent,
            now,
            since,
            tier: environment.tier.or(compiled.tier),
            dry_run: environment.dry_run,
            installation,
            budgets: budgets::of_agents(environment, installation, agent, now, warnings),
            has_ledger: ledger.is_some(),
            hosts: None,
            problems: vec![],
            undelivered: 0,
            questions: 0,
            guard_failures: failures::kept(environment),
            actions: Period::default(),
            decisions: Period::default(),
            events: Period::default(),
            runs: Period::default(),
            statistics: Statistics::default(),
            spending: Spending::read(ledger, &installation.policy.spend, now)?,
            agent: agent.map(str::to_owned),
            agents: vec![],
            leases: vec![],
        };
        if let Some(ledger) = ledger {
            data.agents = ledger.agents()?;
            data.leases = ledger.leases(now)?;
            data.read_history(ledger)?;
        }
        Ok(data)
    }

    fn read_history(&mut self, ledger: &Ledger) -> Result<()> {
        let Self { now, since, extent: Extent { rows, .. }, .. } = *self;
        let agent = self.agent.as_deref();
        let is_of_agent = |of: &Option<String>| agent.is_none_or(|agent| of.as_deref() == Some(agent));
        self.problems = ledger.problems(now)?;
        self.problems.retain(|problem| is_of_agent(&problem.agent));
        let questions = ledger.questions(WhichQuestions::Open, MOST_QUESTIONS, now)?;
        self.questions = questions.iter().filter(|question| is_of_agent(&question.agent)).count();
        self.undelivered = ledger.undelivered_notices(now)?;
        self.actions = ledger.actions_since(since, rows)?;
        self.actions.rows.retain(|action| is_of_agent(&action.agent));
        let which = Which { since: Some(since), agent, ..Which::default() };
        self.decisions = ledger.decisions_of_period(which, rows)?;
        self.events = ledger.events_of(agent, since, rows)?;
        self.runs = ledger.runs(agent, Some(since), rows)?;
        self.statistics = ledger.statistics(agent, since)?;
        Ok(())
    }

    /// What needs attention.
    pub fn attention(&self) -> Attention {
        let since = last_day(self.now);
        let unchecked = |decision: &&Decision| {
            decision.verdict.starts_with("fail-") && decision.at.is_some_and(|at| at > since)
        };
        let mut unchecked = self.decisions.rows.iter().filter(unchecked);
        let last_unchecked = unchecked.next();
        Attention::of(&Known {
            now: self.now,
            has_ledger: self.has_ledger,
            ledger_error: None,
            questions: self.questions,
            guard_failures: self.guard_failures,
            unchecked: (
                usize::from(last_unchecked.is_some()) + unchecked.count(),
                last_unchecked.and_then(|decision| decision.at),
            ),
            problems: &self.problems,
            undelivered: self.undelivered,
            hosts: self.hosts.as_deref(),
            lists_hosts: !self.installation.inventory.hosts.is_empty(),
            budgets: &self.budgets,
            last_run: self.runs.rows.first(),
        })
    }

    /// The name of an agent, if the ledger has several.
    pub fn named<'b>(&self, agent: Option<&'b String>) -> Option<&'b String> {
        agent.filter(|_| self.agents.len() > 1)
    }
}
