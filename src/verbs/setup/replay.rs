//! `opsctl replay`: decides past calls again under a policy.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, ValueHint};
use serde_json::{Value, json};

use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use crate::setup::replay::{Replayed, audit, replay, transcripts};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    Failure, complain_all, environment_in_force, print_json, print_page, progress, time,
};
use opsctl_inventory::load;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::Which;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::policy::Tier;

/// The page.
const TEMPLATE: &str = include_str!("../../../templates/verbs/replay.txt.j2");

/// The number of row ids that are read at a time.
const PAGE: i64 = 5_000;

/// How far back decisions are read by default.
const DEFAULT: TimeDelta = TimeDelta::days(30);

/// Decide the past again under another policy, and list what changes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl replay --hosts new-hosts.yaml         # the last 30 days of the audit
  opsctl replay --since 7d --json
  opsctl replay --transcripts ~/.claude/projects --tier 2

Without a ledger, it reads the client's transcripts: what the guard would have denied and counted, and what it does not understand.
Writes nothing. The audit has no working directories, and long commands only in part.")]
pub struct ReplayArgs {
    /// The policy; default: the one in force
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    hosts: Option<PathBuf>,
    /// Only calls since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`; default: 30 days of the audit, all transcripts
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Read transcripts of the client below this folder; default without a ledger: ~/.claude/projects
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    transcripts: Option<PathBuf>,
    /// The tier of calls for which none is recorded; default: that of the policy
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("replay").with_ledger()];

/// Runs the verb.
pub fn run(args: &ReplayArgs) -> Result<u8, Failure> {
    let mut environment = environment_in_force();
    if let Some(hosts) = &args.hosts {
        load::load(hosts)?;
        environment.hosts = Some(hosts.clone());
        environment.ignore_compiled = true;
        environment.warnings.clear();
    }
    let mut warnings = Warning::of_environment(&environment.warnings);
    let compiled = installation::in_force(&environment, &mut warnings);
    complain_all(warnings);
    environment.tier = args.tier.and_then(Tier::from_number).or(environment.tier);
    let policy = Policy { installation: &compiled.installation, header: compiled.clone().into() };
    let ledger = Ledger::open_existing(&environment.ledger)?.filter(|_| args.transcripts.is_none());
    let (found, read) = match ledger {
        Some(ledger) => policy.of_audit(&ledger, args.since, environment)?,
        None => policy.of_transcripts(args, environment)?,
    };
    let view = json!({ "replay": found, "read": read, "programs": programs(&found) });
    if args.json { print_json(&view) } else { print_page(TEMPLATE, &view, Utc::now()) }
}

/// The policy under which calls are decided.
struct Policy<'a> {
    installation: &'a opsctl_inventory::Installation,
    header: PolicyHeader,
}

impl Policy<'_> {
    fn of_audit(
        &self,
        ledger: &Ledger,
        since: Option<DateTime<Utc>>,
        environment: Environment,
    ) -> Result<(Replayed, String), Failure> {
        let now = ledger.now(Utc::now())?;
        let since = Some(since.unwrap_or(now - DEFAULT));
        let resets = ledger.resets()?;
        let (last, mut after) = (ledger.last_decision()?, 0);
        let mut decisions = Vec::new();
        while after < last {
            let through = (after + PAGE).min(last);
            let which = Which { since, after: Some(after), through: Some(through), ..Which::default() };
            decisions.extend(ledger.decisions(which, u32::MAX)?.into_iter().rev());
            after = through;
        }
        // What was recorded after an outage happened earlier than its row.
        decisions.sort_by_key(|decision| (decision.at, decision.id));
        let all = decisions.len();
        let calls = decisions.iter().filter_map(audit::call_of);
        let request = Request::here(environment, now);
        let mut found =
            progress::steps(|show| replay(calls, &resets, self.installation, &self.header, &request, show));
        found.skipped = all - found.calls;
        Ok((found, "the audit".to_owned()))
    }

    fn of_transcripts(
        &self,
        args: &ReplayArgs,
        environment: Environment,
    ) -> Result<(Replayed, String), Failure> {
        let usual = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".claude/projects"));
        let Some(folder) = args.transcripts.clone().or_else(usual) else {
            return Err(Failure::new(
                "no ledger, and no home folder with transcripts: name one with --transcripts",
            ));
        };
        let tier = environment.tier.or(self.header.tier).or(Some(Tier::Remediate));
        let read = progress::steps(|show| transcripts::calls(&folder, args.since, tier, show));
        let (calls, files) = read.map_err(|error| {
            Failure::new(format!(
                "the transcripts in {} cannot be read ({error}); name another folder with --transcripts",
                folder.display()
            ))
        })?;
        let request = Request::here(environment, Utc::now());
        let calls = calls.into_iter();
        let found =
            progress::steps(|show| replay(calls, &[], self.installation, &self.header, &request, show));
        Ok((found, format!("{files} transcripts")))
    }
}

/// The entries of `programs:` that would describe what is not understood, the most frequent first.
fn programs(found: &Replayed) -> Vec<Value> {
    let mut seen: Vec<(&String, &usize)> = found.unlisted.iter().collect();
    seen.sort_by_key(|(form, times)| (std::cmp::Reverse(**times), (*form).clone()));
    seen.into_iter()
        .map(|(form, times)| json!({ "form": form, "times": times, "name": form.split(' ').next() }))
        .collect()
}
