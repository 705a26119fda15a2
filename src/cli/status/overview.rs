//! The data of the status.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::events;
use crate::cli::failure::Failure;
use crate::cli::output::complain_all;
use crate::cli::project::environment_in_force;
use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::guard::spending::Spending;
use crate::ledger::client_runs::Run;
use crate::ledger::decisions::Which;
use crate::ledger::notices::Problem;
use crate::ledger::questions::WhichQuestions;
use crate::ledger::{Event, Lease, Ledger, LedgerError, Location};
use crate::model::inventory::Host;
use crate::model::policy::{Policy, Tier};
use crate::model::question::{Grant, Question};
use crate::probe::hosts::{self, Found};
use crate::probe::icmp::Reachability;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// The number of events that are shown.
const EVENTS: u32 = 10;

/// The number of sessions that are shown.
const SESSIONS: usize = 5;

/// The maximum number of open questions that are shown.
const QUESTIONS: u32 = 100;

/// The maximum number of sessions or decisions that are read for a day.
const SESSIONS_OF_A_DAY: u32 = 10_000;

/// The timeout for pinging all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(1);

/// The data of the status.
pub struct Status {
    pub now: DateTime<Utc>,
    pub tier: Option<u8>,
    pub policy: Policy,
    pub budgets: Vec<ServiceBudget>,
    pub hosts: Option<Vec<(Host, Reachability)>>,
    pub guard_failures: usize,
    pub known: Known,
    pub spending: Spending,
    pub events: Vec<Event>,
    /// The path of the ledger if it does not exist yet.
    pub missing_ledger: Option<Location>,
    /// Whether the ledger has rows of several agents.
    pub several: bool,
}

/// The part of the data from the ledger.
#[derive(Default)]
pub struct Known {
    /// The open questions to a person, oldest first.
    pub questions: Vec<Question>,
    pub grants: Vec<Grant>,
    /// The services that one agent is remediating.
    pub leases: Vec<Lease>,
    pub problems: Vec<Problem>,
    pub undelivered: u32,
    /// The number of commands of the last day that could not be checked.
    pub unchecked: usize,
    /// The latest sessions, newest first.
    pub sessions: Vec<Run>,
    pub sessions_of_the_day: usize,
    pub cost_of_the_day: f64,
}

impl Status {
    pub fn at(now: DateTime<Utc>, no_hosts: bool, agent: Option<&str>) -> Result<Self, Failure> {
        let environment = environment_in_force();
        let mut warnings = Warning::of_environment(&environment.warnings);
        let compiled = installation::in_force(&environment, &mut warnings);
        let inventory = &compiled.installation.inventory;
        let hosts = (!no_hosts).then(|| {
            let (found, warning) = hosts::look(&inventory.hosts, HOSTS_DEADLINE);
            warnings.extend(warning.map(Warning::from));
            found.into_iter().map(|Found { host, reachability }| (host.clone(), reachability)).collect()
        });
        let budgets = budgets::of_agents(&environment, &compiled.installation, agent, now, &mut warnings);
        complain_all(warnings);
        let ledger = Ledger::open_existing(&environment.ledger)?;
        let spending = Spending::read(ledger.as_ref(), &compiled.installation.policy.spend, now)?;
        let missing_ledger = ledger.is_none().then(|| environment.ledger.clone());
        let several = ledger.as_ref().map_or(Ok(vec![]), Ledger::agents)?.len() > 1;
        let mut known =
            ledger.map_or_else(|| Ok(Known::default()), |ledger| Known::from(&ledger, agent, now))?;
        if let Some(loss) = Ledger::loss_at(&environment.ledger, &environment.state_dir)? {
            known.problems.insert(0, Problem { title: loss.to_string(), at: None, agent: None });
        }
        Ok(Self {
            now,
            tier: environment.tier.or(compiled.tier).map(Tier::number),
            budgets,
            hosts,
            guard_failures: failures::kept(&environment),
            known,
            spending,
            events: events::latest(&environment, agent, EVENTS)?,
            missing_ledger,
            several,
            policy: compiled.installation.policy,
        })
    }
}

impl Known {
    fn from(ledger: &Ledger, agent: Option<&str>, now: DateTime<Utc>) -> Result<Self, LedgerError> {
        let since = now - TimeDelta::days(1);
        let of_the_day = ledger.runs_of(agent, Some(since), SESSIONS_OF_A_DAY)?.rows;
        let is_of_agent = |of: &Option<String>| agent.is_none_or(|agent| of.as_deref() == Some(agent));
        let failed = |verdict| {
            let which = Which { verdict: Some(verdict), since: Some(since), agent, ..Which::default() };
            ledger.decisions(which, SESSIONS_OF_A_DAY).map(|found| found.len())
        };
        Ok(Self {
            questions: ledger
                .questions(WhichQuestions::Open, QUESTIONS, now)?
                .into_iter()
                .filter(|question| is_of_agent(&question.agent))
                .collect(),
            grants: ledger.grants(now)?,
            leases: ledger.leases(now)?,
            problems: ledger
                .problems(now)?
                .into_iter()
                .filter(|problem| is_of_agent(&problem.agent))
                .collect(),
            undelivered: ledger.undelivered_notices(now)?,
            unchecked: failed("fail-open")? + failed("fail-closed")?,
            sessions: ledger.runs_of(agent, None, u32::try_from(SESSIONS).unwrap_or(u32::MAX))?.rows,
            sessions_of_the_day: of_the_day.len(),
            cost_of_the_day: of_the_day
                .iter()
                .filter_map(|run| run.cost_usd)
                .fold(0.0, |sum, cost| sum + cost),
        })
    }
}
