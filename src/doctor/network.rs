//! What the guard reaches: the hosts, and the people.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::client::in_path;
use super::examined::Examined;
use super::finding::Finding;
use crate::guard::verification;
use crate::probe::health;
use crate::probe::icmp::{self, NOT_PERMITTED, Reachability};

/// How long all hosts together are given.
const DEADLINE: Duration = Duration::from_secs(3);

/// How long all services together are given. They are looked at as they are: nothing has been restarted.
const SERVICES_DEADLINE: Duration = Duration::from_secs(15);

/// The services that are named when they are not well; the others are counted.
const NAMED: usize = 20;

/// Whether operators can be told.
pub fn notifications(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "notifications";
    if examined.environment.apprise_urls.is_none() {
        let remedy = "set CLAUDEOPS_APPRISE_URLS to apprise's URLs";
        return Finding::warning(CHECK, "nobody is told: CLAUDEOPS_APPRISE_URLS is not set", remedy);
    }
    let Some(apprise) = in_path("apprise") else {
        return Finding::failed(
            CHECK,
            "there is no `apprise` in PATH",
            "install it, e.g. with `pipx install apprise`",
        );
    };
    if examined.quick {
        return Finding::ok(CHECK, apprise.display().to_string());
    }
    let answers = Command::new(&apprise)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if answers {
        Finding::ok(CHECK, format!("{}; `opsctl notify --test` sends one", apprise.display()))
    } else {
        Finding::failed(CHECK, format!("{} cannot be run", apprise.display()), "install it anew")
    }
}

/// Whether this process may ping at all, tried on this machine itself.
pub fn icmp() -> Finding {
    const CHECK: &str = "icmp";
    match icmp::ping_all(&["127.0.0.1"], Duration::from_millis(500)).as_deref() {
        Ok([Reachability::Unknown]) => {
            Finding::warning(CHECK, "this process may not send ICMP", NOT_PERMITTED)
        }
        Ok(_) => Finding::ok(CHECK, "permitted"),
        Err(error) => Finding::failed(
            CHECK,
            format!("it cannot be tried ({error})"),
            "check the limits of this process",
        ),
    }
}

/// Every host of the inventory, at once.
pub fn hosts(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "hosts";
    let hosts = &examined.policy.installation.inventory.hosts;
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let found = match icmp::ping_all(&addresses, DEADLINE) {
        Ok(found) => found,
        Err(error) => return Finding::failed(CHECK, error.to_string(), "check the limits of this process"),
    };
    let silent: Vec<String> = hosts
        .iter()
        .zip(found)
        .filter(|(_, found)| !matches!(found, Reachability::Reachable(_)))
        .map(|(host, found)| format!("{} ({}) {}", host.name, host.address, found.as_str()))
        .collect();
    if silent.is_empty() {
        return Finding::ok(CHECK, format!("all {} reachable", hosts.len()));
    }
    let what = format!("{} of {}: {}", silent.len(), hosts.len(), silent.join(", "));
    Finding::failed(CHECK, what, "look after them, or correct their addresses in hosts.yaml")
}

/// Every service of the inventory, at once, in all the ways that it states.
pub fn services(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "services";
    let inventory = &examined.policy.installation.inventory;
    let subjects = inventory
        .services
        .iter()
        .map(|service| verification::subject(service.name.clone(), inventory, Duration::ZERO));
    let reports = match health::verify(subjects.collect(), SERVICES_DEADLINE) {
        Ok(reports) => reports,
        Err(error) => return Finding::failed(CHECK, error.to_string(), "check the limits of this process"),
    };
    let of = |healthy| reports.iter().filter(move |report| report.healthy() == healthy);
    let sick: Vec<String> = of(Some(false))
        .map(|report| format!("{} ({})", report.service, verification::failures(report).join("; ")))
        .collect();
    let unchecked: Vec<&str> = of(None).map(|report| report.service.as_str()).collect();
    if !sick.is_empty() {
        let what = format!("{} of {} not healthy: {}", sick.len(), reports.len(), listed(&sick));
        return Finding::failed(CHECK, what, "look after them, or correct their checks in hosts.yaml");
    }
    if !unchecked.is_empty() {
        let what = format!("{} of {} not checked: {}", unchecked.len(), reports.len(), listed(&unchecked));
        return Finding::warning(
            CHECK,
            what,
            "say in hosts.yaml how to look at them; `opsctl verify SERVICE` tells what kept it",
        );
    }
    Finding::ok(CHECK, format!("all {} healthy", reports.len()))
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}
