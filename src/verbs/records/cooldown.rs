//! `opsctl cooldown`: shows, records and resets the usage of budgets.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::verification::edits_of;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::verbs::facts::Facts;
use crate::verbs::guarding::approvals::granted;
use crate::verbs::setup::services;
use crate::verbs::terminal::{
    Failure, OK, complain, complain_all, environment_in_force, installation_in_force, print, print_json,
    time::{local, timestamp},
};
use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_edit;
use opsctl_ledger::cooldown::cooldown_edit::{Edit, Moment};
use opsctl_ledger::{Checker, Ledger};
use opsctl_policy::decide::BudgetKey;
use opsctl_policy::model::installation::inventory::Service;
use opsctl_policy::model::records::event::ToolResult;

/// How far the clock of another machine may be ahead.
const CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(1);

/// Show, record and reset the usage of budgets
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl cooldown                      # all services
  opsctl cooldown jellyfin --json      # one service
  opsctl cooldown record jellyfin --kind redeployment
  opsctl cooldown healthy jellyfin     # a statement; `opsctl verify` checks
  opsctl cooldown checked              # sets last_run of cooldown.json
  opsctl cooldown reset jellyfin       # clears the counters
  opsctl cooldown forget old-wiki      # no longer in hosts.yaml")]
pub struct CooldownArgs {
    /// The service to show; default: all
    service: Option<String>,
    #[command(subcommand)]
    verb: Option<CooldownVerb>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CooldownVerb {
    /// Show usage, and when the next action is allowed
    #[command(after_help = "Examples:
  opsctl cooldown show jellyfin
  opsctl cooldown show --json")]
    Show {
        /// The service; default: all
        service: Option<String>,
    },
    /// Record an action that was performed by hand
    #[command(after_help = "Examples:
  opsctl cooldown record jellyfin
  opsctl cooldown record adguard --at 2026-03-21T14:00:00Z --failed")]
    Record {
        #[command(flatten)]
        service: Named,
        /// The kind of action; default: `redeployment` for the name of a playbook or release, otherwise `restart`
        #[arg(long, value_parser = services::KINDS)]
        kind: Option<String>,
        /// The action failed; it is counted, too
        #[arg(long)]
        failed: bool,
        /// The time of the action in RFC 3339; default: now
        #[arg(long, value_name = "TIME")]
        at: Option<DateTime<Utc>>,
    },
    /// Clear the counters of a service, and release its lease
    #[command(after_help = "Examples:
  opsctl cooldown reset jellyfin")]
    Reset(Named),
    /// Record the statement that a service is healthy; only checks that opsctl makes (`opsctl verify`) clear the counters
    #[command(after_help = "Examples:
  opsctl cooldown healthy jellyfin")]
    Healthy(Named),
    /// Record the statement that a service is not healthy; the count of consecutive healthy checks starts at 0
    #[command(after_help = "Examples:
  opsctl cooldown unhealthy jellyfin")]
    Unhealthy(Named),
    /// Forget a service that hosts.yaml no longer lists: its counters, its checks and its entry in cooldown.json
    #[command(after_help = "Examples:
  opsctl cooldown forget old-wiki

Recorded actions and events stay in the ledger until they are pruned.")]
    Forget {
        /// The service
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        service: String,
    },
    /// Record that all services have been checked: `last_run` of cooldown.json
    #[command(after_help = "Examples:
  opsctl cooldown checked")]
    Checked,
    /// Record that the daily digest has been sent: `last_daily_digest` of cooldown.json
    #[command(after_help = "Examples:
  opsctl cooldown digested")]
    Digested,
}

/// A service to record something for.
#[derive(Debug, Args)]
struct Named {
    /// The service, by any of its names in hosts.yaml
    #[arg(value_name = "SERVICE", value_parser = NonEmptyStringValueParser::new())]
    service: String,
    /// Accept a name that neither hosts.yaml nor the ledger contains
    #[arg(long)]
    force: bool,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[
    Facts::reads("cooldown").in_guard(&[]).with_ledger().with_state(),
    Facts::reads("cooldown show").in_guard(&[]).with_ledger().with_state(),
    Facts::changes("cooldown record").on_guards_side().with_ledger().with_state().audited(),
    Facts::changes("cooldown healthy").in_guard(&[]).with_ledger().with_state(),
    Facts::changes("cooldown unhealthy").in_guard(&[]).with_ledger().with_state(),
    // These set a time in cooldown.json, which no budget depends on.
    Facts::reads("cooldown checked").in_guard(&[]).with_ledger().with_state(),
    Facts::reads("cooldown digested").in_guard(&[]).with_ledger().with_state(),
    Facts::operator("cooldown reset").on_guards_side().with_ledger().with_state().audited(),
    Facts::operator("cooldown forget").on_guards_side().with_ledger().with_state().audited(),
];

/// Runs the verb.
pub fn run(args: &CooldownArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let installation = installation_in_force(&environment);
    let budgets = Budgets { environment, installation, now: Utc::now() };
    let show = |service: Option<&str>| {
        let service = services::asked(&budgets.environment, &budgets.installation.inventory, service)?;
        budgets.show(service.as_deref(), args.json)
    };
    if let (Some(service), Some(_)) = (&args.service, &args.verb) {
        return Err(Failure::new(format!(
            "`{service}` is not a verb of cooldown; `opsctl cooldown --help` lists them"
        )));
    }
    let service = match &args.verb {
        None => return show(args.service.as_deref()),
        Some(CooldownVerb::Show { service }) => return show(service.as_deref()),
        Some(CooldownVerb::Record { service, kind, failed, at }) => {
            budgets.record(service, kind.as_deref(), *failed, *at)?
        }
        Some(CooldownVerb::Reset(service)) => budgets.reset(service)?,
        Some(CooldownVerb::Healthy(service)) => budgets.health(service, true)?,
        Some(CooldownVerb::Unhealthy(service)) => budgets.health(service, false)?,
        Some(CooldownVerb::Forget { service }) => return budgets.forget(service, args.json),
        Some(CooldownVerb::Checked) => return budgets.note(Moment::LastRun, args.json),
        Some(CooldownVerb::Digested) => return budgets.note(Moment::LastDailyDigest, args.json),
    };
    budgets.show(Some(&service), args.json)
}

/// What all subcommands share.
struct Budgets {
    environment: Environment,
    installation: Installation,
    now: DateTime<Utc>,
}

impl Budgets {
    fn show(&self, service: Option<&str>, json: bool) -> Result<u8, Failure> {
        let mut warnings = Vec::new();
        let Self { environment, installation, now } = self;
        let mut budgets = budgets::of_agents(environment, installation, None, *now, &mut warnings);
        complain_all(warnings);
        if let Some(service) = service.map(|service| self.installation.inventory.service_named(service)) {
            budgets.retain(|budget| budget.service == service);
            if budgets.is_empty() {
                budgets.push(ServiceBudget::unused(&service, &self.installation.policy));
            }
        }
        // What cannot be read is reported with the budgets.
        let mut grants =
            Ledger::read_at(&self.environment.ledger, |ledger| ledger.grants(self.now)).unwrap_or_default();
        grants.retain(|grant| budgets.iter().any(|budget| budget.service == grant.service));
        if json {
            return print_json(&json!({ "services": budgets, "grants": grants }));
        }
        let (listed, others): (Vec<_>, Vec<_>) = budgets.iter().partition(|budget| budget.listed);
        let lines = |budgets: Vec<&ServiceBudget>, indentation: &str| -> String {
            budgets.iter().map(|budget| format!("{indentation}{}\n", budget.in_words(local))).collect()
        };
        print(&lines(listed, ""));
        if !others.is_empty() {
            print(&format!("\nnot in hosts.yaml:\n{}", lines(others, "  ")));
        }
        for grant in &grants {
            print(&format!("{}\n", granted(grant, self.now)));
        }
        Ok(OK)
    }

    fn named(&self, Named { service, force }: &Named) -> Result<String, Failure> {
        let owners = self.installation.inventory.services_named(service);
        if owners.len() > 1 {
            let names: Vec<&str> = owners.iter().map(|owner| owner.name.as_str()).collect();
            return Err(Failure::new(format!(
                "`{service}` belongs to several services; name one of them: {}",
                names.join(", ")
            )));
        }
        let inventory = &self.installation.inventory;
        if *force {
            return Ok(services::meant(inventory, service));
        }
        let remedy = "add it to `services`, or use the name anyway with --force";
        services::known(&self.environment, inventory, service, remedy)
    }

    /// The kind of an action that is recorded under this name.
    fn usual_kind(&self, name: &str) -> &'static str {
        let deploys = |owner: &&Service| {
            owner.name != name && owner.playbooks.iter().chain(&owner.releases).any(|part| part == name)
        };
        match self.installation.inventory.services_named(name).first() {
            Some(owner) if deploys(owner) => "redeployment",
            _ => "restart",
        }
    }

    /// Whether `cooldown` shows the name, or its health has been checked.
    fn can_be_forgotten(&self, service: &str) -> Result<bool, Failure> {
        // What cannot be read is reported when it is changed.
        let shown = budgets::of_all(&self.environment, &self.installation, self.now, &mut vec![]);
        if shown.iter().any(|budget| budget.service == service) {
            return Ok(true);
        }
        let checks = Ledger::read_at(&self.environment.ledger, Ledger::last_checks)?;
        Ok(checks.iter().any(|check| check.service == service))
    }

    fn forget(&self, name: &str, json: bool) -> Result<u8, Failure> {
        let inventory = &self.installation.inventory;
        let service = services::meant(inventory, name);
        if inventory.services.iter().any(|listed| listed.name == service) {
            return Err(Failure::new(format!(
                "`{service}` is listed in hosts.yaml; remove it there first, or clear its counters with `opsctl cooldown reset {service}`"
            )));
        }
        if !self.can_be_forgotten(&service)? {
            return Err(Failure::new(format!(
                "nothing is recorded for `{service}`; `opsctl cooldown` lists the names that have a history"
            )));
        }
        Ledger::write(&self.environment.ledger, |change| change.forget(&service, change.now(self.now)))?;
        self.edit_file(&service, &[Edit::Remove]);
        if json {
            return print_json(&BTreeMap::from([("forgotten", service)]));
        }
        print(&format!("{service}: forgotten\n"));
        Ok(OK)
    }

    fn record(
        &self,
        service: &Named,
        kind: Option<&str>,
        failed: bool,
        at: Option<DateTime<Utc>>,
    ) -> Result<String, Failure> {
        if let Some(at) = at.filter(|at| *at > self.now + CLOCK_DIFFERENCE) {
            return Err(Failure::new(format!(
                "{} is in the future; name a time that has passed",
                timestamp(at)
            )));
        }
        let kind = kind.and_then(services::kind).unwrap_or_else(|| self.usual_kind(&service.service));
        let service = self.named(service)?;
        let result = if failed { ToolResult::Failed("failed".to_owned()) } else { ToolResult::Succeeded };
        let key = BudgetKey { service: service.clone(), kind };
        let Environment { ledger, session, tier, .. } = &self.environment;
        let at = Ledger::write(ledger, |change| {
            let at = at.unwrap_or_else(|| change.now(self.now));
            change.record(&key, &result, session.as_deref(), *tier, at).map(|()| at)
        })?;
        self.edit_file(&service, &[Edit::Add { kind: key.kind, at, success: !failed }]);
        Ok(service)
    }

    fn reset(&self, service: &Named) -> Result<String, Failure> {
        let service = self.named(service)?;
        Ledger::write(&self.environment.ledger, |change| change.reset(&service, change.now(self.now)))?;
        self.edit_file(&service, &[Edit::Clear, Edit::Streak(0)]);
        Ok(service)
    }

    fn health(&self, service: &Named, healthy: bool) -> Result<String, Failure> {
        let service = self.named(service)?;
        let session = self.environment.shell_session();
        let streak = Ledger::write(&self.environment.ledger, |change| {
            change.note_check(&service, healthy, Checker::Stated, session, change.now(self.now))
        })?;
        self.edit_file(&service, &edits_of(streak));
        if healthy {
            complain(format_args!(
                "{service}: stated as healthy; only checks that opsctl makes clear the counters: opsctl verify {service}"
            ));
        }
        Ok(service)
    }

    /// Sets a time in `cooldown.json`.
    fn note(&self, moment: Moment, json: bool) -> Result<u8, Failure> {
        cooldown_edit::note(&self.environment.cooldown_file(), moment, self.now)?;
        let (key, at) = (moment.as_str(), timestamp(self.now));
        if json {
            return print_json(&BTreeMap::from([(key, at)]));
        }
        print(&format!("{key}: {at}\n"));
        Ok(OK)
    }

    /// Updates `cooldown.json`. A failure is only a warning, because the ledger has recorded the action.
    fn edit_file(&self, service: &str, edits: &[Edit]) {
        let edits: Vec<(&str, Edit)> = edits.iter().map(|edit| (service, *edit)).collect();
        let edited = cooldown_edit::edit(&self.environment.cooldown_file(), &edits);
        complain_all(edited.err().map(Warning::from));
    }
}
