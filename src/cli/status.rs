//! `opsctl status`: where things stand, in one look.

use chrono::Utc;
use clap::Args;
use serde::Serialize;

use super::cooldown::BudgetWire;
use super::events::{self, EventWire};
use super::{Failure, OK, complain, print, print_json};
use crate::guard::budgets;
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// Show the tier, the budgets and the latest events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl status
  opsctl status --json")]
pub struct StatusArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The events that are shown.
const EVENTS: u32 = 10;

#[derive(Serialize)]
struct StatusWire<'a> {
    tier: Option<u8>,
    services: Vec<BudgetWire<'a>>,
    events: Vec<EventWire<'a>>,
}

/// Runs with parsed arguments.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let mut notes = environment.complaints.clone();
    let compiled = installation::in_force(&environment, &mut notes);
    let budgets = budgets::of_all(&environment, &compiled.installation, Utc::now(), &mut notes);
    for note in notes {
        complain(note);
    }
    let events = events::latest(&environment, EVENTS)?;
    let tier = environment.tier.or(compiled.tier).map(crate::model::policy::Tier::number);
    if args.json {
        let services = budgets.iter().map(BudgetWire::new).collect();
        return print_json(&StatusWire {
            tier,
            services,
            events: events.iter().map(EventWire::new).collect(),
        });
    }
    let mut lines =
        vec![format!("tier: {}", tier.map_or_else(|| "none, budgets hold".to_owned(), |n| n.to_string()))];
    lines.push("\nbudgets:".to_owned());
    lines.extend(budgets.iter().map(|budget| format!("  {}", budget.in_words())));
    lines.push("\nevents:".to_owned());
    lines.extend(events.iter().map(|event| format!("  {}", events::in_words(event))));
    print(&(lines.join("\n") + "\n"));
    Ok(OK)
}
