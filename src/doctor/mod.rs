//! The state of an installation: one finding for each thing that the guard rests on, with its remedy.

pub mod client;
mod files;
pub mod hooks;
mod network;
mod state;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::inventory::compiled::Compiled;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
pub use files::project_in_force;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// As it should be.
    Ok,
    /// The guard holds, but not as well as it could.
    Warning,
    /// The guard does not hold, or what it is for is down.
    Failed,
}

/// One thing, how it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing.
    pub check: &'static str,
    /// How it is.
    pub condition: Condition,
    /// What was seen.
    pub what: String,
    /// What to do; nothing where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, condition: Condition::Ok, what: what.into(), remedy: None }
    }

    fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, condition: Condition::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn failed(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, condition: Condition::Failed, what: what.into(), remedy: Some(remedy.into()) }
    }
}

/// For operators: one line, and one for the remedy.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, condition, what, remedy } = self;
        let condition = match condition {
            Condition::Ok => "ok     ",
            Condition::Warning => "warning",
            Condition::Failed => "FAILED ",
        };
        writeln!(f, "{condition}  {check}: {what}")?;
        remedy.as_deref().map_or(Ok(()), |remedy| writeln!(f, "           {remedy}"))
    }
}

/// What is examined.
#[derive(Debug)]
pub struct Patient<'a> {
    /// The variables.
    pub environment: &'a Environment,
    /// The policy in force.
    pub policy: &'a Compiled,
    /// Problems with the variables and with the source of the policy.
    pub warnings: &'a [Warning],
    /// The client's program, if there is one.
    pub client: Option<PathBuf>,
    /// This program.
    pub opsctl: PathBuf,
    /// The hooks of every source.
    pub hooks: &'a hooks::Survey,
    /// Leave out whatever takes longer than a moment: hosts, services, other programs, the whole ledger.
    pub quick: bool,
}

/// Examines everything, in a fixed order.
pub fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = vec![policy(patient)];
    findings.push(files::settings(patient));
    findings.push(files::managed());
    findings.push(files::program(patient));
    findings.push(hooks::finding(patient.hooks));
    findings.push(files::out_of_reach(patient));
    if !patient.quick {
        findings.push(client::client(patient));
    }
    findings.push(state::folder(patient));
    findings.push(state::ledger(patient));
    findings.push(network::notifications(patient));
    findings.push(network::icmp());
    if !patient.quick {
        findings.push(network::hosts(patient));
        findings.push(network::services(patient));
    }
    findings
}

fn policy(patient: &Patient<'_>) -> Finding {
    let installation = &patient.policy.installation;
    match patient.warnings.first().map(ToString::to_string) {
        Some(warning) => {
            let (what, remedy) = warning.split_once("; ").unwrap_or((&warning, "run `opsctl render`"));
            Finding::failed("policy", what, remedy)
        }
        None => Finding::ok(
            "policy",
            format!(
                "{} hosts, {} services",
                installation.inventory.hosts.len(),
                installation.inventory.services.len()
            ),
        ),
    }
}
