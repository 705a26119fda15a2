//! `opsctl report`: writes an HTML report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;

use crate::machine::installation;
use crate::machine::warning::Warning;
use crate::pages::report::filter::Filter;
use crate::pages::report::{Extent, ReportData, file, page};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain, complain_all, environment_in_force, print, time};
use opsctl_ledger::Ledger;
use opsctl_probe::hosts;

/// Write an HTML report: timeline, budgets, hosts, sessions and their cost, decisions
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl report --html report.html
  opsctl report --html report.html --since 30d
  opsctl report --html - | ssh web 'cat > /srv/www/homelab.html'

The page loads nothing and runs no script. Its data is from the ledger; secrets in commands are not included. An \
earlier report is replaced atomically; any other file is not replaced.")]
pub struct ReportArgs {
    /// The output file; `-` for stdout
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    /// Start of the period: `24h`, `30d`, `2026-03-21T14:00:00Z`; default: seven days ago
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Only what this agent did, and its budgets
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Do not ping hosts
    #[arg(long)]
    no_hosts: bool,
}

const USUAL_SPAN: TimeDelta = TimeDelta::days(7);

/// The timeout for pinging all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(2);

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("report").writes(&["--html"]).in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let to_stdout = args.html == Path::new("-");
    if !to_stdout {
        file::check(&args.html)?;
    }
    let now = Utc::now();
    let since = args.since.unwrap_or(now - USUAL_SPAN);
    if since >= now {
        return Err(Failure::new("--since is in the future; choose an earlier time"));
    }
    let environment = environment_in_force();
    let mut warnings = Warning::of_environment(&environment.warnings);
    let compiled = installation::in_force(&environment, &mut warnings);
    let ledger = Ledger::open_existing(&environment.ledger)?;
    let mut data = ReportData::read(
        &environment,
        &compiled,
        ledger.as_ref(),
        &Filter::of_agent(args.agent.as_deref()),
        (since, now, Extent::REPORT),
        &mut warnings,
    )?;
    if !args.no_hosts {
        let (found, warning) = hosts::look(&compiled.installation.inventory.hosts, HOSTS_DEADLINE);
        data.hosts = Some(found);
        warnings.extend(warning.map(Warning::from));
    }
    if ledger.is_none() {
        complain(format_args!("no ledger at {} yet; the page shows no history", environment.ledger));
    }
    complain_all(warnings);
    let page = page(&data)?;
    if to_stdout {
        print(&page);
    } else {
        file::write(&args.html, &page)?;
        print(&format!("{}\n", args.html.display()));
    }
    Ok(OK)
}
