//! Checks an installation: one finding, with remedy, for each thing that the guard depends on.

pub mod client;
mod examined;
mod finding;
mod guard_files;
pub mod hooks;
mod network;
mod state;

use crate::model::policy::OnFailure;
pub use examined::Examined;
pub use finding::{Condition, Finding};
pub use guard_files::project_in_force;

/// Runs all checks, in a fixed order.
pub fn examine(examined: &Examined<'_>) -> Vec<Finding> {
    let mut findings = vec![policy(examined)];
    findings.push(guard_files::settings(examined));
    findings.push(guard_files::managed());
    findings.push(guard_files::program(examined));
    findings.push(hooks::finding(examined.hooks));
    findings.push(guard_files::permissions(examined));
    if !examined.quick {
        findings.push(client::client(examined));
    }
    findings.push(state::folder(examined));
    findings.push(state::ledger(examined));
    findings.push(network::notifications(examined));
    findings.push(network::icmp());
    if !examined.quick {
        findings.push(network::hosts(examined));
        findings.push(network::services(examined));
    }
    findings
}

fn policy(examined: &Examined<'_>) -> Finding {
    let installation = &examined.policy.installation;
    if let Some(warning) = examined.warnings.first().map(ToString::to_string) {
        let (what, remedy) = warning.split_once("; ").unwrap_or((&warning, "run `opsctl render`"));
        return Finding::failed("policy", what, remedy);
    }
    let (hosts, services) = (installation.inventory.hosts.len(), installation.inventory.services.len());
    let what = format!("{hosts} hosts, {services} services");
    match installation.policy.on_failure {
        OnFailure::Closed => Finding::ok("policy", what),
        OnFailure::Open => Finding::warning(
            "policy",
            format!("{what}; on_failure is open, so actions run uncounted while the ledger cannot be used"),
            "set `policy: {on_failure: closed}` in hosts.yaml, and run `opsctl render`",
        ),
    }
}
