//! Metrics for Prometheus, from the ledger, the policy in force and a ping of the hosts.

pub mod families;
pub mod format;

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::guard::spending::Spending;
use crate::guard::{budgets, failures};
use crate::machine::environment::Environment;
use crate::machine::installation;
use families::Values;
use format::Format;
use opsctl_ledger::{Ledger, LedgerError};
use opsctl_probe::hosts;

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The timeout for pinging all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(1);

/// All metrics in the format of `OpenMetrics`, for a scrape. Blocks while it reads the ledger, and does not ping hosts if
/// `ping_hosts` is false.
pub fn text(environment: &Environment, now: DateTime<Utc>, ping_hosts: bool) -> String {
    text_as(Format::OpenMetrics, environment, now, ping_hosts)
}

/// All metrics in this format. A ledger that cannot be read is a metric, too.
pub fn text_as(format: Format, environment: &Environment, now: DateTime<Utc>, ping_hosts: bool) -> String {
    format::text(&families::of(&values(environment, now, ping_hosts)), format)
}

fn values(environment: &Environment, now: DateTime<Utc>, ping_hosts: bool) -> Values {
    // `opsctl status` shows the warnings.
    let mut warnings = Vec::new();
    let installation = installation::in_force(environment, &mut warnings).installation;
    let (day_limit, session_limit) = (installation.policy.spend.day, installation.policy.spend.session);
    let mut values = Values {
        version: env!("CARGO_PKG_VERSION"),
        unrecorded_failures: failures::kept(environment) as u64,
        budgets: budgets::of_agents(environment, &installation, None, now, &mut warnings),
        spending: Spending { day_limit, session_limit, ..Spending::default() },
        ..Values::default()
    };
    if ping_hosts {
        values.hosts = hosts::look(&installation.inventory.hosts, HOSTS_DEADLINE).0;
    }
    values.ledger_readable = add_ledger(&mut values, environment, now).is_ok();
    values
}

fn add_ledger(values: &mut Values, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(()) };
    values.counters = ledger.counters()?;
    values.running_sessions = ledger.running_sessions()?;
    values.open_questions = ledger.open_questions(now)?;
    values.undelivered = ledger.undelivered_notices(now)?.into();
    values.spending.day = ledger.spent("", now)?.day;
    Ok(())
}
