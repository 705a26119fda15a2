//! `opsctl cooldown`: budgets, read and written without tools for JSON or SQL.

use chrono::{DateTime, SecondsFormat, Utc};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::{complain, print, print_json};
use super::project::environment_in_force;
use super::services;
use crate::guard::budgets::{self, ServiceBudget};
use crate::inventory::Installation;
use crate::ledger::cooldown_edit::{self, Edit};
use crate::ledger::{HEALTHY_CHECKS, Ledger, Streak};
use crate::model::event::ToolResult;
use crate::policy::decide::BudgetKey;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// Show, record and clear what services have used of their budgets
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl cooldown                                     # every service
  opsctl cooldown show jellyfin --json
  opsctl cooldown record jellyfin --kind redeployment # done by hand, counts like the agent's
  opsctl cooldown healthy jellyfin                    # the second in a row clears the counters
  opsctl cooldown reset jellyfin                      # clears them at once")]
pub struct CooldownArgs {
    #[command(subcommand)]
    verb: Option<CooldownVerb>,
    /// As JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CooldownVerb {
    /// What is used, and when the next action is allowed
    #[command(after_help = "Examples:
  opsctl cooldown show jellyfin
  opsctl cooldown show --json")]
    Show {
        /// One service; all without it
        service: Option<String>,
    },
    /// Write down an action that was carried out by hand
    #[command(after_help = "Examples:
  opsctl cooldown record jellyfin
  opsctl cooldown record adguard --kind redeployment --at 2026-03-21T14:00:00Z --failed")]
    Record {
        /// The service, by any of its names in hosts.yaml
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        service: String,
        /// What was done
        #[arg(long, value_enum, default_value = "restart")]
        kind: Kind,
        /// It failed; that counts, too
        #[arg(long)]
        failed: bool,
        /// When, in RFC 3339; now without it
        #[arg(long, value_name = "TIME")]
        at: Option<DateTime<Utc>>,
    },
    /// Clear the counters of a service
    #[command(after_help = "Examples:
  opsctl cooldown reset jellyfin")]
    Reset {
        /// The service
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        service: String,
    },
    /// A health check found the service healthy; the second in a row, of another session, clears its counters
    #[command(after_help = "Examples:
  opsctl cooldown healthy jellyfin")]
    Healthy {
        /// The service
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        service: String,
    },
    /// A health check found the service unhealthy; the streak begins anew
    #[command(after_help = "Examples:
  opsctl cooldown unhealthy jellyfin")]
    Unhealthy {
        /// The service
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        service: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Restart,
    Redeployment,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Redeployment => "redeployment",
        }
    }
}

/// Runs with parsed arguments.
pub fn run(args: &CooldownArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let mut warnings = Warning::of_environment(&environment.warnings);
    let installation = installation::in_force(&environment, &mut warnings).installation;
    for warning in warnings {
        complain(warning);
    }
    let desk = Desk { environment, installation, now: Utc::now() };
    let service = match &args.verb {
        None => return desk.show(None, args.json),
        Some(CooldownVerb::Show { service }) => {
            let service =
                service.as_deref().map(|service| services::meant(&desk.installation.inventory, service));
            return desk.show(service.as_deref(), args.json);
        }
        Some(CooldownVerb::Record { service, kind, failed, at }) => {
            desk.record(service, *kind, *failed, *at)?
        }
        Some(CooldownVerb::Reset { service }) => desk.reset(service)?,
        Some(CooldownVerb::Healthy { service }) => desk.health(service, true)?,
        Some(CooldownVerb::Unhealthy { service }) => desk.health(service, false)?,
    };
    desk.show(Some(&service), args.json)
}

/// What every verb needs.
struct Desk {
    environment: Environment,
    installation: Installation,
    now: DateTime<Utc>,
}

impl Desk {
    fn show(&self, service: Option<&str>, json: bool) -> Result<u8, Failure> {
        let mut warnings = Vec::new();
        let mut budgets = budgets::of_all(&self.environment, &self.installation, self.now, &mut warnings);
        for warning in warnings {
            complain(warning);
        }
        if let Some(service) = service.map(|service| self.installation.inventory.service_named(service)) {
            budgets.retain(|budget| budget.service == service);
            if budgets.is_empty() {
                budgets.push(ServiceBudget::unused(&service, &self.installation.policy));
            }
        }
        if json {
            let services = budgets.iter().map(BudgetWire::new).collect();
            return print_json(&BudgetsWire { services });
        }
        print(&budgets.iter().map(|budget| budget.in_words() + "\n").collect::<String>());
        Ok(OK)
    }

    fn record(
        &self,
        service: &str,
        kind: Kind,
        failed: bool,
        at: Option<DateTime<Utc>>,
    ) -> Result<String, Failure> {
        let service = services::meant(&self.installation.inventory, service);
        let at = at.unwrap_or(self.now);
        let result = if failed { ToolResult::Failed("failed".to_owned()) } else { ToolResult::Succeeded };
        let key = BudgetKey { service: service.clone(), kind: kind.as_str() };
        let mut ledger = Ledger::open(&self.environment.db_path)?;
        let change = ledger.change()?;
        change.record(&key, &result, self.environment.session.as_deref(), self.environment.tier, at)?;
        change.commit()?;
        self.edit_file(&service, &[Edit::Add { kind: key.kind, at, success: !failed }]);
        Ok(service)
    }

    fn reset(&self, service: &str) -> Result<String, Failure> {
        let service = services::meant(&self.installation.inventory, service);
        let mut ledger = Ledger::open(&self.environment.db_path)?;
        let change = ledger.change()?;
        change.reset(&service, self.now)?;
        change.commit()?;
        self.edit_file(&service, &[Edit::Clear, Edit::Streak(0)]);
        Ok(service)
    }

    fn health(&self, service: &str, healthy: bool) -> Result<String, Failure> {
        let service = services::meant(&self.installation.inventory, service);
        let mut ledger = Ledger::open(&self.environment.db_path)?;
        let change = ledger.change()?;
        let streak = change.note_health(&service, healthy, self.environment.shell_session(), self.now)?;
        change.commit()?;
        match streak {
            Streak::Of(count) => {
                self.edit_file(&service, &[Edit::Streak(count)]);
                if healthy {
                    complain(format_args!("{service}: {count} of {HEALTHY_CHECKS} healthy checks in a row"));
                }
            }
            Streak::Cleared => {
                self.edit_file(&service, &[Edit::Clear, Edit::Streak(0)]);
                complain(format_args!(
                    "{service}: {HEALTHY_CHECKS} healthy checks in a row, counters cleared"
                ));
            }
        }
        Ok(service)
    }

    /// The ledger has it already; the file is for those who look there.
    fn edit_file(&self, service: &str, edits: &[Edit]) {
        let edits: Vec<(&str, Edit)> = edits.iter().map(|edit| (service, *edit)).collect();
        if let Err(error) = cooldown_edit::edit(&self.environment.cooldown_file(), &edits) {
            complain(error);
        }
    }
}

#[derive(Serialize)]
struct BudgetsWire<'a> {
    services: Vec<BudgetWire<'a>>,
}

/// The budgets of a service, as `--json` prints them.
#[derive(Serialize)]
pub struct BudgetWire<'a> {
    service: &'a str,
    restart: KindWire,
    redeployment: KindWire,
}

#[derive(Serialize)]
struct KindWire {
    used: usize,
    limit: u32,
    window: String,
    next_allowed: Option<String>,
    entries: Vec<String>,
}

impl<'a> BudgetWire<'a> {
    /// What is printed of a budget.
    pub fn new(budget: &'a ServiceBudget) -> Self {
        Self {
            service: &budget.service,
            restart: KindWire::new(&budget.restart),
            redeployment: KindWire::new(&budget.redeployment),
        }
    }
}

impl KindWire {
    fn new(kind: &budgets::KindBudget) -> Self {
        let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
        Self {
            used: kind.counted.len(),
            limit: kind.budget.limit,
            window: kind.budget.window.to_string(),
            next_allowed: kind.next_allowed.map(time),
            entries: kind.counted.iter().copied().map(time).collect(),
        }
    }
}
