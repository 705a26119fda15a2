//! `opsctl hosts`: which hosts answer.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::{Failure, OK, complain, print, print_json};
use crate::model::inventory::Host;
use crate::model::policy::Window;
use crate::probe::icmp::{self, NOT_PERMITTED, Reachability};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// Check all hosts at once by ICMP
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl hosts
  opsctl hosts --deadline 5s --json

States: reachable, unreachable, unresolved (its name has no address), unknown (this process may not send ICMP).")]
pub struct HostsArgs {
    /// How long all hosts together are given
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = super::prune::window)]
    deadline: Window,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct HostsWire<'a> {
    hosts: Vec<HostWire<'a>>,
}

#[derive(Serialize)]
struct HostWire<'a> {
    name: &'a str,
    address: &'a str,
    state: &'static str,
    rtt_ms: Option<f64>,
}

impl<'a> HostWire<'a> {
    fn new(host: &'a Host, reachability: Reachability) -> Self {
        // To the microsecond: more digits are noise.
        let milliseconds = |rtt: Duration| (rtt.as_secs_f64() * 1e6).round() / 1e3;
        let rtt_ms = match reachability {
            Reachability::Reachable(rtt) => Some(milliseconds(rtt)),
            _ => None,
        };
        Self { name: &host.name, address: &host.address, state: reachability.as_str(), rtt_ms }
    }

    fn in_words(&self) -> String {
        let Self { name, address, state, rtt_ms } = self;
        let rtt = rtt_ms.map(|rtt| format!(" in {rtt} ms")).unwrap_or_default();
        format!("{name} ({address}): {state}{rtt}\n")
    }
}

/// Runs with parsed arguments.
pub fn run(args: &HostsArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let mut notes = environment.complaints.clone();
    let inventory = installation::in_force(&environment, &mut notes).installation.inventory;
    let addresses: Vec<&str> = inventory.hosts.iter().map(|host| host.address.as_str()).collect();
    let found = icmp::ping_all(&addresses, args.deadline.delta().to_std()?)?;
    if found.contains(&Reachability::Unknown) {
        notes.push(NOT_PERMITTED.to_owned());
    }
    for note in notes {
        complain(note);
    }
    let hosts: Vec<HostWire> =
        inventory.hosts.iter().zip(found).map(|(host, found)| HostWire::new(host, found)).collect();
    if args.json {
        return print_json(&HostsWire { hosts });
    }
    print(&hosts.iter().map(HostWire::in_words).collect::<String>());
    Ok(OK)
}
