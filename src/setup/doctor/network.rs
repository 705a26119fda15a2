//! Checks of hosts, services and notification targets.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::examined::Examined;
use super::finding::Finding;
use crate::guard::verification;
use crate::machine::programs::in_path;
use opsctl_probe::health;
use opsctl_probe::icmp;
use opsctl_probe::icmp::{NOT_PERMITTED, Reachability};

/// The timeout for all hosts together.
const DEADLINE: Duration = Duration::from_secs(3);

/// The timeout for all services together. There is no grace, because nothing was restarted.
const SERVICES_DEADLINE: Duration = Duration::from_secs(15);

/// The maximum number of listed services; further ones are counted.
const NAMED: usize = 20;

/// Checks that notifications can be sent.
pub fn notifications(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "notifications";
    if examined.environment.guard.is_some() {
        return Finding::ok(CHECK, "the guard sends them; run `opsctl doctor` on its side");
    }
    if examined.environment.apprise_urls.is_none() {
        let remedy = "set CLAUDEOPS_APPRISE_URLS to apprise's URLs";
        return Finding::warning(
            CHECK,
            "no notification target is configured: CLAUDEOPS_APPRISE_URLS is not set",
            remedy,
        );
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
        Finding::failed(CHECK, format!("{} cannot be executed", apprise.display()), "reinstall it")
    }
}

/// Checks that this process may send ICMP, by pinging this machine.
pub fn icmp() -> Finding {
    const CHECK: &str = "icmp";
    match icmp::ping_all(&["127.0.0.1"], Duration::from_millis(500)).as_deref() {
        Ok([Reachability::Unknown]) => {
            Finding::warning(CHECK, "this process may not send ICMP", NOT_PERMITTED)
        }
        Ok(_) => Finding::ok(CHECK, "permitted"),
        Err(error) => Finding::failed(
            CHECK,
            format!("it cannot be checked ({error})"),
            "check the limits of this process",
        ),
    }
}

/// Checks that all hosts are reachable.
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
    Finding::warning(CHECK, what, "check that the hosts are up, or fix their addresses in hosts.yaml")
}

/// Checks that all services are healthy.
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
    let unhealthy: Vec<String> = of(Some(false))
        .map(|report| format!("{} ({})", report.service, verification::failures(report).join("; ")))
        .collect();
    let unchecked: Vec<&str> = of(None).map(|report| report.service.as_str()).collect();
    if !unhealthy.is_empty() {
        let what = format!("{} of {} not healthy: {}", unhealthy.len(), reports.len(), listed(&unhealthy));
        return Finding::warning(CHECK, what, "check the services, or fix their health checks in hosts.yaml");
    }
    if !unchecked.is_empty() {
        let what = format!("{} of {} not checked: {}", unchecked.len(), reports.len(), listed(&unchecked));
        return Finding::warning(
            CHECK,
            what,
            "configure their health checks in hosts.yaml; `opsctl verify SERVICE` shows why a check is unavailable",
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
