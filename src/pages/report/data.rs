//! The data of a report.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::denials;
use super::filter::Filter;
use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::guard::spending::Spending;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::pages::attention::{Attention, Known, last_day};
use opsctl_inventory::Installation;
use opsctl_inventory::compiled::Compiled;
use opsctl_ledger::LastCheck;
use opsctl_ledger::records::chain::Head;
use opsctl_ledger::records::decisions::{Decision, Statistics, Which};
use opsctl_ledger::records::history::{ActionRecord, Period};
use opsctl_ledger::records::notices::Problem;
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_ledger::sessions::SeenSession;
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_ledger::{Event, Lease, Ledger, Result};
use opsctl_policy::model::records::question::Question;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_probe::hosts::PingedHost;

/// How much of the history is read and shown.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The maximum number of rows of one kind that are read.
    pub rows: u32,
    /// The maximum number of rows in the table of a service; further ones are counted.
    pub of_service: usize,
    /// The maximum number of denials in the table; further ones are counted.
    pub denials: usize,
}

/// The maximum number of rows of one kind among which a filter selects, if the ledger has no index for it.
const SEARCHED: u32 = 4_000;

/// The maximum number of denials that are read without a filter.
const MOST_DENIALS: u32 = 1_000;

/// The maximum number of questions and of sessions that are read, the latest ones.
const MOST_QUESTIONS: u32 = 200;
const MOST_SESSIONS: u32 = 500;

impl Extent {
    /// That of a report, which is written once.
    pub const REPORT: Self = Self { rows: 20_000, of_service: 6, denials: 24 };

    /// That of a page, which is made for each look at it.
    pub const PAGE: Self = Self { rows: 2_000, of_service: 4, denials: 6 };
}

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
    pub open_questions: usize,
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
    /// The denials of the period.
    pub denials: Period<Decision>,
    /// What would have been denied in the period, and ran.
    pub watched: Period<Decision>,
    /// The end of the chain of the audit.
    pub audit_head: Option<Head>,
    /// The latest questions of the period, newest first.
    pub questions: Vec<Question>,
    /// The sessions that hooks have seen in the period.
    pub seen: Vec<SeenSession>,
    /// The last health check of each service, of any time.
    pub checks: Vec<LastCheck>,
    /// What was spent on requests to the model.
    pub spending: Spending,
    /// Which actions, decisions, events and sessions they are.
    pub filter: Filter,
    /// The agents of the ledger. Their names are shown if there are several.
    pub agents: Vec<String>,
    /// The services that one agent is remediating.
    pub leases: Vec<Lease>,
}

impl<'a> ReportData<'a> {
    /// The data of the time from `since` to `now`, or to the end of the filter, without the reachability of hosts. Without a
    /// ledger, it has no history.
    pub fn read(
        environment: &Environment,
        compiled: &'a Compiled,
        ledger: Option<&Ledger>,
        filter: &Filter,
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
            budgets: budgets::of_agents(environment, installation, filter.agent.as_deref(), now, warnings),
            has_ledger: ledger.is_some(),
            hosts: None,
            problems: vec![],
            undelivered: 0,
            open_questions: 0,
            guard_failures: failures::kept(environment),
            actions: Period::default(),
            decisions: Period::default(),
            events: Period::default(),
            runs: Period::default(),
            statistics: Statistics::default(),
            spending: Spending::read(ledger, &installation.policy.spend, now)?,
            denials: Period::default(),
            watched: Period::default(),
            audit_head: None,
            questions: vec![],
            seen: vec![],
            checks: vec![],
            filter: filter.clone(),
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
        let Self { now, since, installation, .. } = *self;
        let filter = self.filter.clone();
        let runs = self.extent.rows;
        if filter.is_narrow() {
            self.extent.rows = self.extent.rows.max(SEARCHED);
        }
        let rows = self.extent.rows;
        // Of many, only the number is shown.
        let denials = if filter.is_narrow() { rows } else { rows.min(MOST_DENIALS) };
        let (agent, until) = (filter.agent.as_deref(), filter.until);
        let is_of_agent = |of: &Option<String>| agent.is_none_or(|agent| of.as_deref() == Some(agent));
        self.problems = ledger.problems(now)?;
        self.problems.retain(|problem| is_of_agent(&problem.agent));
        let questions = ledger.questions(WhichQuestions::Open, MOST_QUESTIONS, now)?;
        self.open_questions = questions.iter().filter(|question| is_of_agent(&question.agent)).count();
        self.undelivered = ledger.undelivered_notices(now)?;
        self.checks = ledger.last_checks()?;
        self.actions = ledger.actions_since(since, until, rows)?;
        self.actions.rows.retain(|action| is_of_agent(&action.agent));
        self.decisions = ledger.decisions_of_period(filter.which(since), rows)?;
        self.denials =
            denials::read(denials::DENIED, ledger, &installation.inventory, &filter, since, denials)?;
        self.watched =
            denials::read(denials::WATCHED, ledger, &installation.inventory, &filter, since, denials)?;
        self.audit_head = Some(ledger.audit_head()?);
        self.events = ledger.events_of_period(Which { session: None, ..filter.which(since) }, rows)?;
        self.runs = ledger.runs(agent, (Some(since), until), runs)?;
        self.statistics = ledger.statistics(agent, since, until)?;
        self.seen = ledger.sessions_seen(agent, since, MOST_SESSIONS)?;
        self.questions = ledger.questions(WhichQuestions::All, MOST_QUESTIONS, now)?;
        let is_of_period = |at| at >= since && until.is_none_or(|until| at < until);
        self.questions.retain(|question| is_of_agent(&question.agent) && is_of_period(question.asked_at));
        if filter.is_narrow() {
            self.retain(&filter);
        }
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
            questions: self.open_questions,
            guard_failures: self.guard_failures,
            unchecked: (
                usize::from(last_unchecked.is_some()) + unchecked.count(),
                last_unchecked.and_then(|decision| decision.at),
            ),
            problems: &self.problems,
            undelivered: self.undelivered,
            hosts: self.hosts.as_deref(),
            lists_hosts: !self.installation.inventory.hosts.is_empty(),
            checks: &self.checks,
            budgets: &self.budgets,
            last_run: self.runs.rows.first(),
        })
    }

    /// Keeps what a filter selects of that for which the ledger has no index.
    fn retain(&mut self, filter: &Filter) {
        let inventory = &self.installation.inventory;
        let tiers: BTreeMap<String, u8> = (self.runs.rows.iter().map(|run| (run.session.clone(), run.tier)))
            .chain(self.seen.iter().filter_map(|seen| Some((seen.id.clone(), seen.tier?))))
            .collect();
        let tier = |session: Option<&str>| session.and_then(|session| tiers.get(session).copied());
        self.decisions.rows.retain(|decision| filter.selects_decision(inventory, decision));
        self.actions.rows.retain(|action| {
            let session = action.session.as_deref();
            filter.selects(inventory, &[&action.service], action.host.as_deref(), (session, tier(session)))
        });
        self.events.rows.retain(|event| {
            let service: Vec<&str> = event.service.as_deref().into_iter().collect();
            let session = event.session.as_deref();
            filter.selects(inventory, &service, None, (session, tier(session)))
        });
        self.questions.retain(|question| {
            let service: Vec<&str> = question.service.as_deref().into_iter().collect();
            filter.selects(inventory, &service, None, (Some(&question.session), question.tier))
        });
        // Services and hosts are those of actions and denials.
        let of_session = Filter { service: None, host: None, ..filter.clone() };
        let decided = self.decisions.rows.iter().filter_map(|decision| decision.session.as_deref());
        let acted = self.actions.rows.iter().filter_map(|action| action.session.as_deref());
        let active: BTreeSet<&str> = decided.chain(acted).collect();
        let is_kept = |session: &str, tier: Option<u8>| {
            of_session.selects(inventory, &[], None, (Some(session), tier))
                && (filter.service.is_none() && filter.host.is_none() || active.contains(session))
        };
        self.runs.rows.retain(|run| is_kept(&run.session, Some(run.tier)));
        self.seen.retain(|seen| is_kept(&seen.id, seen.tier));
    }

    /// The end of the period.
    pub fn until(&self) -> DateTime<Utc> {
        self.filter.until.map_or(self.now, |until| until.min(self.now))
    }

    /// The name of an agent, if the ledger has several.
    pub fn named<'b>(&self, agent: Option<&'b String>) -> Option<&'b String> {
        agent.filter(|_| self.agents.len() > 1)
    }
}
