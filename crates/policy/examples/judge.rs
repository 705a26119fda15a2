//! Reads a command and prints what it does, and whether a session of tier 2 may run it:
//! `cargo run -p opsctl-policy --example judge -- 'ssh nas docker restart jellyfin'`.

use chrono::DateTime;
use opsctl_policy::decide::{Snapshot, decide};
use opsctl_policy::effects::{self, Scratch};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::verdict::Verdict;
use opsctl_policy::model::rights::policy::{Policy, Resolve, Tier};
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::rules::never;
use opsctl_policy::targets::identity::{self, NoSurroundings};
use opsctl_reader::actions::read_command;

fn main() {
    let text: Vec<String> = std::env::args().skip(1).collect();
    let (policy, inventory, tier) = (Policy::default(), Inventory::default(), Some(Tier::Remediate));

    // The reading: which commands would run, and which actions they are.
    let reading = read_command(&text.join(" "), None);
    for complaint in &reading.complaints {
        println!("not read: {complaint}");
    }

    // The effect of each command: it reads, acts, changes something, or that is unknown.
    for part in effects::parts(&reading.script, &Scratch::default(), &[], &UnknownMachine) {
        println!("{}: {}", part.effect.as_str(), part.text);
    }

    // The rules that need no history, then the budgets; here without past actions.
    let mut reasons = never::objections(&reading.script, &policy.rules, tier, &UnknownMachine);
    let resolve = Resolve { local: false, ssh: false };
    let actions = identity::resolve(reading.actions, &inventory, resolve, &NoSurroundings);
    let decision = decide(&actions, &Snapshot::default(), &policy, tier, DateTime::UNIX_EPOCH);
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
