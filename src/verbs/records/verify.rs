//! `opsctl verify`: checks the health of services.

use std::time::Duration;

use chrono::Utc;
use clap::Args;
use serde_json::{Value, json};

use crate::guard::verification;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    FAILED, Failure, OK, complain_all, environment_in_force, installation_in_force, print, print_json,
    progress::during, time,
};
use opsctl_inventory::Installation;
use opsctl_ledger::cooldown::cooldown_edit;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::rights::policy::Window;
use opsctl_policy::targets::nearest::nearest;
use opsctl_probe::health;
use opsctl_probe::health::{Check, Finding, Report, Subject};

/// Check the health of services, or of those that a session acted on: HTTP, DNS, TCP, containers, units, workloads, guests and your own commands
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl verify jellyfin adguard
  opsctl verify --all
  opsctl verify --session 3f0c2a5e --json
  opsctl verify jellyfin --grace 2m --deadline 3m

Without a service, it checks those that this session acted on. Exit code 0: all are healthy \
or cannot be checked, or there is nothing to verify; 1: a service is unhealthy. docs/verify.md explains the \
states.")]
pub struct VerifyArgs {
    /// Services, by any of their names in hosts.yaml
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Check every service of hosts.yaml
    #[arg(long, conflicts_with_all = ["services", "session"])]
    all: bool,
    /// Check the services that this session acted on
    #[arg(long, value_name = "ID", conflicts_with = "services")]
    session: Option<String>,
    /// Timeout for all checks together; default: `policy.verify.deadline`
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    deadline: Option<Window>,
    /// Time for a service to become healthy; default: `policy.verify.grace`
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    grace: Option<Window>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("verify").in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let installation = installation_in_force(&environment);
    let grace = args.grace.unwrap_or(installation.policy.verify.grace);
    let deadline = args.deadline.unwrap_or(installation.policy.verify.deadline).duration();
    let inventory = &installation.inventory;
    let subjects = if args.all {
        let services = inventory.services.iter();
        services
            .map(|service| verification::subject(service.name.clone(), inventory, grace.duration()))
            .collect()
    } else if args.services.is_empty() {
        of_session(args, &environment, &installation, grace)?
    } else {
        named(&args.services, &installation, grace.duration())?
    };
    if subjects.is_empty() && !args.json {
        let why = if args.all { "hosts.yaml lists" } else { "the session acted on" };
        print(&format!("nothing to verify: {why} no service\n"));
        return Ok(OK);
    }
    let what = format!("checking {} services", subjects.len());
    let reports = during(what, || health::verify(subjects, deadline))?;
    complain_all(record(&reports, &environment).unwrap_or_else(|error| vec![error.into()]));
    let healthy = reports.iter().all(|report| report.healthy() != Some(false));
    if args.json {
        let services: Vec<Value> = reports.iter().map(json).collect();
        print_json(&json!({ "healthy": healthy, "services": services }))?;
    } else {
        print(&reports.iter().map(in_words).collect::<String>());
    }
    Ok(if healthy { OK } else { FAILED })
}

/// Records the checks in a ledger that exists.
fn record(reports: &[Report], environment: &Environment) -> Result<Vec<Warning>> {
    if !Ledger::exists(&environment.ledger)? {
        return Ok(vec![]);
    }
    let edits = Ledger::write(&environment.ledger, |change| {
        let now = change.now(Utc::now());
        verification::note_checks(change, reports, environment.shell_session(), now)
    })?;
    let edited = cooldown_edit::edit(&environment.cooldown_file(), &edits);
    Ok(edited.err().map(Warning::from).into_iter().collect())
}

fn of_session(
    args: &VerifyArgs,
    environment: &Environment,
    installation: &Installation,
    grace: Window,
) -> Result<Vec<Subject>, Failure> {
    // The agent knows the client's session id, which may differ from opsctl's.
    let own = environment.client_session.as_deref();
    let session = match args.session.as_deref() {
        Some(named) if Some(named) != own => Some(named),
        _ => environment.shell_session(),
    };
    let Some(session) = session else {
        return Err(Failure::new("no session to verify; name services, or a session with --session"));
    };
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(vec![]) };
    Ok(verification::of_session(&ledger.session_actions(session)?, installation, grace, Utc::now()))
}

fn named(names: &[String], installation: &Installation, grace: Duration) -> Result<Vec<Subject>, Failure> {
    let inventory = &installation.inventory;
    let mut subjects: Vec<Subject> = Vec::new();
    for name in names {
        let service = inventory.service_named(name);
        if inventory.services.iter().all(|listed| listed.name != service) {
            let remedy = nearest(name, inventory.services.iter().map(|listed| listed.name.as_str()))
                .map_or_else(
                    || "list it under `services`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
            return Err(Failure::new(format!("no service `{name}` in hosts.yaml; {remedy}")));
        }
        if subjects.iter().all(|subject| subject.service != service) {
            subjects.push(verification::subject(service, inventory, grace));
        }
    }
    Ok(subjects)
}

fn in_words(report: &Report) -> String {
    let mut text = format!("{}: {}\n", report.service, verification::verdict(report));
    for (check, finding) in &report.findings {
        let time = finding.latency.map(|time| format!(" ({} ms)", milliseconds(time))).unwrap_or_default();
        text += &format!("  {} {}: {}{time}\n", check.kind(), check.target(), finding.in_words());
    }
    text
}

/// Milliseconds, rounded to microseconds.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The health of a service in JSON: `null` if no check was possible.
fn json(report: &Report) -> Value {
    let check = |(check, finding): &(Check, Finding)| {
        json!({
            "kind": check.kind(),
            "target": check.target(),
            "state": finding.state.as_str(),
            "healthy": finding.state.healthy(),
            "detail": finding.detail,
            "remedy": finding.remedy,
            "latency_ms": finding.latency.map(milliseconds),
        })
    };
    let checks: Vec<Value> = report.findings.iter().map(check).collect();
    json!({
        "name": report.service,
        "healthy": report.healthy(),
        "unasked": report.unasked,
        "checks": checks,
    })
}
