//! Reads a command and prints what it does, and whether a session of tier 2 may run it:
//! `cargo run -p opsctl-policy --example judge -- 'ssh nas docker restart jellyfin'`.

use chrono::DateTime;
use opsctl_policy::decide::{Budgets, Snapshot, decide};
use opsctl_policy::effects::Scratch;
use opsctl_policy::files::guarded::Locations;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::event::ToolCall;
use opsctl_policy::model::records::verdict::Verdict;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::policy::{Policy, Resolve, Tier};
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::screen::{Screen, Screened};
use opsctl_policy::targets::identity::{self, NoSurroundings};

fn main() {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let tool = ToolCall { command: Some(command.join(" ")), ..ToolCall::default() };
    let (policy, inventory, tier) = (Policy::default(), Inventory::default(), Some(Tier::Remediate));

    // The rules in force, and the machine of the session: here one of which nothing is known.
    let screen = Screen {
        header: &PolicyHeader::default(),
        tier,
        mode: None,
        dry_run: false,
        machine: &UnknownMachine,
        disk: &|| None,
        locations: &Locations::default,
        scratch: &Scratch::default,
    };

    // The reading: which commands would run, which actions they are, what each of them does, and what the rules object to.
    let Screened { reading, effects, objections: mut reasons } = screen.call(&tool, None, true);
    for complaint in &reading.complaints {
        println!("not read: {complaint}");
    }
    for part in &effects {
        println!("{}: {}", part.effect.as_str(), part.text);
    }

    // The services that the actions are on, and their budgets; here without past actions.
    let resolve = Resolve { local: false, ssh: false };
    let actions = identity::resolve(reading.actions, &inventory, resolve, &NoSurroundings);
    reasons.extend(screen.target_objections(&effects, &actions, &inventory, &policy));
    let budgets = Budgets { policy: &policy, usage: &Snapshot::default(), now: DateTime::UNIX_EPOCH };
    let decision = decide(&actions, budgets, tier);
    if let Verdict::Deny(more) = decision.verdict {
        reasons.extend(more);
    }
    for reservation in &decision.reservations {
        println!("takes from the budget of {}: one {}", reservation.key.service, reservation.key.kind);
    }
    match reasons.as_slice() {
        [] => println!("allowed"),
        reasons => reasons.iter().for_each(|reason| println!("denied: {}", reason.text)),
    }
}
