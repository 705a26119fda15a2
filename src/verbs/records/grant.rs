//! `opsctl grant`: allows extra actions on a service for a while.

use chrono::Utc;
use clap::Args;

use crate::guard::approval;
use crate::guard::approval::NewGrant;
use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::guarding::approvals::granted;
use crate::verbs::setup::services;
use crate::verbs::terminal::{Failure, OK, environment_in_force, person, print, time};
use opsctl_policy::model::rights::policy::Window;

/// Allow extra restarts or redeployments of a service for a while
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl grant jellyfin restart 1 --for 1h
  opsctl grant adguard redeployment 2 --for 8h --note \"migration tonight\"

The grant is signed with the key of CLAUDEOPS_APPROVAL_KEY, else approval.key in the state folder. It is used only for \
actions beyond the budget; `opsctl approvals` lists it.")]
pub struct GrantArgs {
    /// The service, by any of its names in hosts.yaml
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The kind of action
    #[arg(value_name = "KIND", value_parser = services::KINDS)]
    kind: String,
    /// The number of actions
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
    /// How long it can be used: 1h, 30m, at most 7d
    #[arg(long = "for", value_name = "DURATION", value_parser = time::duration)]
    duration: Window,
    /// A note, which the model reads when the grant is used
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("grant").on_guards_side().with_ledger().with_state().audited()];

/// Runs the verb.
pub fn run(args: &GrantArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let who = person::at_terminal(&environment)?;
    let longest = Window::hours(7 * 24);
    if args.duration.delta() > longest.delta() {
        return Err(Failure::new(
            "a grant lasts at most 7d; give a shorter `--for`, and repeat it when it is needed again",
        ));
    }
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let service =
        services::known(&environment, &inventory, &args.service, "see `opsctl cooldown` for all names")?;
    let new = NewGrant {
        service: &service,
        kind: &args.kind,
        count: args.count,
        life: args.duration.delta(),
        note: args.note.as_deref(),
    };
    let grant = approval::grant(&environment, new, &who, Utc::now())?;
    print(&format!("{}\n", granted(&grant, grant.at)));
    Ok(OK)
}
