//! `opsctl hosts`: pings hosts.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::machine::installation;
use crate::machine::warning::Warning;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    FAILED, Failure, OK, complain_all, environment_in_force, print_json, print_table, screen::shows_progress,
    time,
};
use opsctl_policy::model::installation::inventory::{Host, Inventory};
use opsctl_policy::model::rights::policy::Window;
use opsctl_policy::targets::nearest::nearest;
use opsctl_probe::hosts::{PingWarning, PingedHost};
use opsctl_probe::icmp;
use opsctl_probe::icmp::{Effort, PROBES, Reachability};

/// Ping all hosts concurrently
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl hosts
  opsctl hosts ie01 pie01
  opsctl hosts --deadline 5s --probes 3 --json

States: reachable, unreachable, unresolved (its name has no address), unknown (this process may not send ICMP). \
A name with several addresses is reachable if one of them answers. Exit code 1 if a host is unreachable or unresolved.")]
pub struct HostsArgs {
    /// Names of hosts in hosts.yaml; default: all
    #[arg(value_name = "HOST")]
    names: Vec<String>,
    /// Timeout for all hosts together
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = time::duration)]
    deadline: Window,
    /// Probes per host, spread over the deadline
    #[arg(long, value_name = "N", default_value_t = PROBES, value_parser = clap::value_parser!(u16).range(1..=20))]
    probes: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The minimum number of hosts for a progress bar.
const HOSTS_WORTH_A_BAR: usize = 32;

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("hosts")];

/// Runs the verb.
pub fn run(args: &HostsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let mut warnings = Warning::of_environment(&environment.warnings);
    let inventory = installation::in_force(&environment, &mut warnings).installation.inventory;
    let asked = named(&inventory, &args.names)?;
    let addresses: Vec<&str> = asked.iter().map(|host| host.address.as_str()).collect();
    let bar = progress_bar(addresses.len());
    let effort = Effort { deadline: args.deadline.duration(), probes: args.probes };
    let found = icmp::ping(&addresses, effort, &mut |known| bar.set_position(known as u64))?;
    bar.finish_and_clear();
    if found.contains(&Reachability::Unknown) {
        warnings.push(PingWarning::NotPermitted.into());
    }
    complain_all(warnings);
    let is_down =
        |found: &Reachability| matches!(found, Reachability::Unreachable | Reachability::Unresolved);
    let code = if found.iter().any(is_down) { FAILED } else { OK };
    let hosts: Vec<PingedHost> =
        asked.into_iter().zip(found).map(|(host, found)| PingedHost::new(host, found)).collect();
    if args.json {
        print_json(&json!({ "hosts": hosts }))?;
        return Ok(code);
    }
    let cells = |PingedHost { name, address, reachability }: &PingedHost| {
        let rtt = match reachability {
            Reachability::Reachable(rtt) => format!("{:.3} ms", rtt.as_secs_f64() * 1e3),
            _ => String::new(),
        };
        [name.clone(), address.clone(), reachability.as_str().to_owned(), rtt]
    };
    print_table(["HOST", "ADDRESS", "STATE", "RTT"], hosts.iter().map(cells), "hosts.yaml lists no hosts");
    Ok(code)
}

/// The hosts with these names in the order of the inventory; all without names.
fn named<'a>(inventory: &'a Inventory, names: &[String]) -> Result<Vec<&'a Host>, Failure> {
    for name in names {
        if inventory.hosts.iter().all(|host| host.name != *name) {
            let known = inventory.hosts.iter().map(|host| host.name.as_str());
            let remedy = nearest(name, known).map_or_else(
                || "`opsctl hosts` lists them".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Failure::new(format!("no host `{name}` in hosts.yaml; {remedy}")));
        }
    }
    Ok(inventory.hosts.iter().filter(|host| names.is_empty() || names.contains(&host.name)).collect())
}

/// A progress bar on stderr, hidden if stderr is not a terminal.
fn progress_bar(hosts: usize) -> ProgressBar {
    if hosts < HOSTS_WORTH_A_BAR || !shows_progress() {
        return ProgressBar::hidden();
    }
    // The template is a valid literal.
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} hosts")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(hosts as u64).with_style(style)
}
