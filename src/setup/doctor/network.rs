//! Checks of hosts, services and notification targets.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::check::{Examined, Outcome, failed, joined, warning};
use crate::guard::looks::survey;
use crate::guard::verification;
use crate::machine::programs::in_path;
use opsctl_probe::icmp::{self, NOT_PERMITTED, Reachability};

/// The maximum number of listed services; further ones are counted.
const NAMED: usize = 20;

/// The remedy of a check that cannot be carried out.
const LIMITS: &str = "check the limits of this process";

/// Checks that notifications can be sent.
pub fn notifications(examined: &Examined<'_>) -> Outcome {
    if examined.environment.guard.is_some() {
        return Ok("the guard sends them; run `opsctl doctor` on its side".to_owned());
    }
    if examined.environment.apprise_urls.is_none() {
        let what = "no notification target is configured: CLAUDEOPS_APPRISE_URLS is not set";
        return Err(warning(what, "set CLAUDEOPS_APPRISE_URLS to apprise's URLs"));
    }
    let apprise = in_path("apprise").ok_or_else(|| {
        failed("there is no `apprise` in PATH", "install it, e.g. with `pipx install apprise`")
    })?;
    let name = apprise.display();
    if examined.quick {
        return Ok(name.to_string());
    }
    let mut command = Command::new(&apprise);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.status().is_ok_and(|status| status.success()) {
        Ok(format!("{name}; `opsctl notify --test` sends one"))
    } else {
        Err(failed(format!("{name} cannot be executed"), "reinstall it"))
    }
}

/// Checks that this process may send ICMP, by pinging this machine.
pub fn icmp() -> Outcome {
    match icmp::ping_all(&["127.0.0.1"], Duration::from_millis(500)).as_deref() {
        Ok([Reachability::Unknown]) => Err(warning("this process may not send ICMP", NOT_PERMITTED)),
        Ok(_) => Ok("permitted".to_owned()),
        Err(error) => Err(failed(format!("it cannot be checked ({error})"), LIMITS)),
    }
}

/// Checks that all hosts are reachable.
pub fn hosts(examined: &Examined<'_>) -> Outcome {
    let hosts = survey::hosts(&examined.policy.installation.inventory)
        .map_err(|error| failed(error.to_string(), LIMITS))?;
    let silent: Vec<String> = hosts
        .iter()
        .filter(|host| !matches!(host.reachability, Reachability::Reachable(_)))
        .map(|host| format!("{} ({}) {}", host.name, host.address, host.reachability.as_str()))
        .collect();
    if silent.is_empty() {
        return Ok(format!("all {} reachable", hosts.len()));
    }
    let what = format!("{} of {}: {}", silent.len(), hosts.len(), silent.join(", "));
    Err(warning(what, "check that the hosts are up, or fix their addresses in hosts.yaml"))
}

/// Checks that all services are healthy.
pub fn services(examined: &Examined<'_>) -> Outcome {
    let reports = survey::services(&examined.policy.installation.inventory)
        .map_err(|error| failed(error.to_string(), LIMITS))?;
    let of = |healthy| reports.iter().filter(move |report| report.healthy() == healthy);
    let unhealthy: Vec<String> = of(Some(false))
        .map(|report| format!("{} ({})", report.service, verification::failures(report).join("; ")))
        .collect();
    let unchecked: Vec<String> = of(None)
        .map(|report| match verification::unchecked(report).join("; ") {
            why if why.is_empty() => report.service.clone(),
            why => format!("{} ({why})", report.service),
        })
        .collect();
    for (services, state, remedy) in [
        (unhealthy, "healthy", "check the services, or fix their health checks in hosts.yaml"),
        (
            unchecked,
            "checked",
            "configure their health checks in hosts.yaml, or apply the remedy after each check",
        ),
    ] {
        if !services.is_empty() {
            let (number, named) = (services.len(), listed(&services));
            return Err(warning(format!("{number} of {} not {state}: {named}", reports.len()), remedy));
        }
    }
    Ok(format!("all {} healthy", reports.len()))
}

fn listed(names: &[String]) -> String {
    let shown = joined(names.iter().take(NAMED));
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}
