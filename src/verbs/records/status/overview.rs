//! The data of the status.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::guard::spending::Spending;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::warning::Warning;
use crate::pages::attention::{Attention, Known, last_day};
use crate::verbs::terminal::{complain_all, environment_in_force};
use opsctl_ledger::records::decisions::{Counted, Decision, WOULD_DENY, Which, by_rule};
use opsctl_ledger::records::notices::Problem;
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_ledger::{Event, LastCheck, Lease, Ledger, Location, Result};
use opsctl_policy::model::records::question::{Grant, Question};
use opsctl_policy::model::rights::policy::{OnFailure, Policy, Tier};
use opsctl_probe::hosts;
use opsctl_probe::hosts::PingedHost;

/// The number of events that are shown.
const EVENTS: u32 = 10;

/// The number of denials that are shown.
const DENIALS: u32 = 5;

/// The number of sessions that are shown.
const SESSIONS: u32 = 5;

/// The maximum number of open questions that are shown.
const QUESTIONS: u32 = 100;

/// The maximum number of decisions that are read for a day.
const DECISIONS_OF_A_DAY: u32 = 10_000;

/// The timeout for pinging all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(1);

/// The data of the status; serialised, it is the output of `--json`.
#[derive(Default, Serialize)]
pub struct Status {
    pub attention: Attention,
    pub tier: Option<u8>,
    pub dry_run: bool,
    /// Whether nothing is denied.
    pub monitor: bool,
    /// Why the ledger cannot be used, and what to do; then the rest is what is known without it.
    pub ledger_error: Option<String>,
    pub on_failure: Option<OnFailure>,
    /// The open questions to a person, oldest first.
    pub questions: Vec<Question>,
    pub grants: Vec<Grant>,
    /// The services that one agent is remediating.
    pub leases: Vec<Lease>,
    pub problems: Vec<Problem>,
    /// The number of guard failures that are not recorded yet.
    pub guard_failures: usize,
    /// The number of commands of the last day that could not be checked.
    pub guard_failures_last_day: usize,
    pub undelivered_notifications: u32,
    /// The latest denials of the last day, newest first.
    pub denials: Vec<Decision>,
    /// What would have been denied in the last day, by rule.
    pub would_deny: Vec<Counted>,
    /// The latest of it, newest first.
    pub watched: Vec<Decision>,
    /// The budgets.
    pub services: Vec<ServiceBudget>,
    pub hosts: Option<Vec<PingedHost>>,
    /// The latest sessions, newest first.
    pub sessions: Vec<Run>,
    pub sessions_last_day: u32,
    pub cost_usd_last_day: f64,
    pub spend: Spending,
    pub events: Vec<Event>,
    /// The last check of each service.
    #[serde(skip)]
    pub checks: Vec<LastCheck>,
    #[serde(skip)]
    pub now: DateTime<Utc>,
    #[serde(skip)]
    pub policy: Policy,
    /// The path of the ledger if it does not exist yet.
    #[serde(skip)]
    pub missing_ledger: Option<Location>,
    /// Whether the ledger has rows of several agents.
    #[serde(skip)]
    pub several: bool,
}

impl Status {
    pub fn at(now: DateTime<Utc>, no_hosts: bool, agent: Option<&str>) -> Self {
        let environment = environment_in_force();
        let mut warnings = Warning::of_environment(&environment.warnings);
        let compiled = installation::in_force(&environment, &mut warnings);
        let hosts = (!no_hosts).then(|| {
            let (found, warning) = hosts::look(&compiled.installation.inventory.hosts, HOSTS_DEADLINE);
            warnings.extend(warning.map(Warning::from));
            found
        });
        let services = budgets::of_agents(&environment, &compiled.installation, agent, now, &mut warnings);
        // It is in the status.
        warnings.retain(|warning| !matches!(warning, Warning::Ledger(_)));
        complain_all(warnings);
        let mut status = Self {
            now,
            tier: environment.tier.or(compiled.tier).map(Tier::number),
            dry_run: environment.dry_run,
            monitor: compiled.installation.policy.monitor.everything,
            on_failure: Some(compiled.installation.policy.on_failure),
            services,
            hosts,
            guard_failures: failures::kept(&environment),
            policy: compiled.installation.policy.clone(),
            ..Self::default()
        };
        status.ledger_error = status.add(&environment, agent).err().map(|error| error.to_string());
        status.attention = status.attention(!compiled.installation.inventory.hosts.is_empty());
        status
    }

    fn attention(&self, lists_hosts: bool) -> Attention {
        Attention::of(&Known {
            now: self.now,
            has_ledger: self.missing_ledger.is_none(),
            ledger_error: self.ledger_error.as_deref(),
            questions: self.questions.len(),
            guard_failures: self.guard_failures,
            unchecked: (self.guard_failures_last_day, None),
            problems: &self.problems,
            undelivered: self.undelivered_notifications,
            hosts: self.hosts.as_deref(),
            lists_hosts,
            checks: &self.checks,
            budgets: &self.services,
            last_run: self.sessions.first(),
        })
    }

    /// Adds what the ledger contains.
    fn add(&mut self, environment: &Environment, agent: Option<&str>) -> Result<()> {
        let ledger = Ledger::open_existing(&environment.ledger)?;
        self.spend = Spending::read(ledger.as_ref(), &self.policy.spend, self.now)?;
        match &ledger {
            Some(ledger) => self.add_rows(ledger, agent)?,
            None => self.missing_ledger = Some(environment.ledger.clone()),
        }
        if let Some(loss) = Ledger::loss_at(&environment.ledger, &environment.state_dir)? {
            self.problems.insert(0, Problem { title: loss.to_string(), at: None, agent: None });
        }
        // A ledger that can be read may take no reservation. Others than its owner may only read it.
        if environment.ledger.is_owned() { Ledger::check_writing(&environment.ledger) } else { Ok(()) }
    }

    fn add_rows(&mut self, ledger: &Ledger, agent: Option<&str>) -> Result<()> {
        let (now, since) = (self.now, last_day(self.now));
        let is_of_agent = |of: &Option<String>| agent.is_none_or(|agent| of.as_deref() == Some(agent));
        let failed = |verdict| {
            let which = Which { verdict: Some(verdict), since: Some(since), agent, ..Which::default() };
            ledger.decisions(which, DECISIONS_OF_A_DAY).map(|found| found.len())
        };
        self.several = ledger.agents()?.len() > 1;
        self.questions = ledger.questions(WhichQuestions::Open, QUESTIONS, now)?;
        self.questions.retain(|question| is_of_agent(&question.agent));
        self.grants = ledger.grants(now)?;
        self.leases = ledger.leases(now)?;
        self.problems = ledger.problems(now)?;
        self.problems.retain(|problem| is_of_agent(&problem.agent));
        self.guard_failures_last_day = failed("fail-open")? + failed("fail-closed")?;
        let denied = Which { verdict: Some("deny"), since: Some(since), agent, ..Which::default() };
        self.denials = ledger.decisions(denied, DENIALS)?;
        let watched = Which { verdict: Some(WOULD_DENY), ..denied };
        self.watched = ledger.decisions(watched, DECISIONS_OF_A_DAY)?;
        self.would_deny = by_rule(&self.watched);
        self.watched.truncate(DENIALS as usize);
        self.checks = ledger.last_checks()?;
        self.undelivered_notifications = ledger.undelivered_notices(now)?;
        self.sessions = ledger.runs(agent, (None, None), SESSIONS)?.rows;
        let cost;
        (self.sessions_last_day, cost) = ledger.runs_since(agent, since)?;
        // Rounded to hundredths of a cent.
        self.cost_usd_last_day = (cost * 1e4).round() / 1e4;
        self.events = ledger.events(Which { agent, ..Which::default() }, EVENTS)?;
        Ok(())
    }
}
