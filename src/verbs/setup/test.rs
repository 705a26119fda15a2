//! `opsctl test`: runs tests of a policy, and writes them from the audit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{Args, ValueEnum, ValueHint};
use minijinja::value::Serde;
use serde_json::json;

use crate::machine::installation::hosts_file;
use crate::pages::report::engine;
use crate::setup::import::text::scalar;
use crate::setup::policy_tests::{self, FILE, PolicyTests, TestResult};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, environment_in_force, print};
use opsctl_inventory::error::Mistake;
use opsctl_inventory::load;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::{Decision, Which};
use opsctl_machine::plain_file;

const TAP: &str = include_str!("../../../templates/verbs/tests.tap.j2");
const JUNIT: &str = include_str!("../../../templates/verbs/tests.junit.xml.j2");

/// The number of decisions that are read for `--init`, the latest ones.
const MOST: u32 = 10_000;

/// Rules that depend on more than the command.
const OF_HISTORY: [&str; 4] = ["budget", "exclusive", "ask", "on_failure"];

/// Test the policy: commands, each with the decision that hosts.yaml shall give
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl test                                  # tests.yaml beside hosts.yaml
  opsctl test tests.yaml --hosts lab.yaml
  opsctl test --format junit > tests.xml
  opsctl test --init tests.yaml                # writes tests from the audit

Exit code 1 if a test fails. Nothing runs, and nothing of this machine's ledger counts: a test states the history that it needs.")]
pub struct TestArgs {
    /// The file of tests; default: tests.yaml beside hosts.yaml
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The inventory; default: the one in force
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    hosts: Option<PathBuf>,
    /// The form of the results
    #[arg(long, value_enum, default_value_t = Format::Tap)]
    format: Format,
    /// Write a file of tests from the latest decisions of the audit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "file")]
    init: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Tap,
    Junit,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("test").writes(&["--init"])];

/// Runs the verb.
pub fn run(args: &TestArgs) -> Result<u8, Failure> {
    run_as(args, false)
}

/// Runs the tests beside the policy of a host, as on this host itself.
pub fn of_policy(hosts: &Path) -> Result<u8, Failure> {
    run_as(&TestArgs { file: None, hosts: Some(hosts.to_owned()), format: Format::Tap, init: None }, true)
}

fn run_as(args: &TestArgs, is_host: bool) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let hosts = args.hosts.clone().or_else(|| hosts_file(&environment));
    let hosts =
        hosts.ok_or_else(|| Failure::new("no hosts.yaml: name one with --hosts or CLAUDEOPS_HOSTS"))?;
    load::load(&hosts)?;
    if let Some(file) = &args.init {
        let decisions =
            Ledger::read_at(&environment.ledger, |ledger| ledger.decisions(Which::default(), MOST))?;
        return init(file, &hosts, &decisions);
    }
    let beside = hosts.with_file_name(FILE);
    let file = args.file.clone().unwrap_or_else(|| beside.clone());
    if args.file.is_none() && !file.exists() {
        print(&format!("no {}: nothing is tested\n", beside.display()));
        return Ok(OK);
    }
    let text =
        plain_file::text(&file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let results = results(&text, &file, &hosts, is_host)?;
    let template = match args.format {
        Format::Tap => TAP,
        Format::Junit => JUNIT,
    };
    let mut engine = engine(Utc::now())?;
    if matches!(args.format, Format::Junit) {
        engine.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    }
    let failed = results.iter().filter(|result| !result.differences.is_empty()).count();
    let view = json!({ "tests": results, "failed": failed });
    print(&engine.render_str(template, minijinja::value::Value::from(Serde(&view)))?);
    Ok(if failed == 0 { OK } else { FAILED })
}

fn results(text: &str, file: &Path, hosts: &Path, is_host: bool) -> Result<Vec<TestResult>, Failure> {
    let options = serde_saphyr::options! { with_snippet: false };
    let tests: PolicyTests = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let Mistake { location, what, .. } = error.into();
        let line = location.map(|location| format!(", line {}", location.line)).unwrap_or_default();
        Failure::new(format!("{}{line}: {what}", file.display()))
    })?;
    policy_tests::run(&tests, hosts, is_host, Utc::now())
        .map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

/// Writes tests from decisions: those that follow from the command, the tier and the policy alone.
fn init(file: &Path, hosts: &Path, decisions: &[Decision]) -> Result<u8, Failure> {
    let mut seen = BTreeSet::new();
    let is_new = |decision: &&Decision| seen.insert((decision.command.clone(), decision.tier));
    let is_whole = |decision: &&Decision| {
        let Decision { command, verdict, rule, .. } = *decision;
        let is_plain = !command.is_empty()
            && !["[redacted]", "\n\nruns:\n", "more characters)"].iter().any(|part| command.contains(part));
        is_plain
            && ["allow", "deny"].contains(&verdict.as_str())
            && !rule.split(' ').any(|rule| OF_HISTORY.contains(&rule))
    };
    let candidates: Vec<&Decision> = decisions.iter().filter(is_whole).filter(is_new).collect();
    let mut text = "# What the policy decides on commands of past sessions, from the audit. Change what shall be otherwise.\ntests:\n".to_owned();
    let mut kept = 0;
    for decision in &candidates {
        let yaml = as_yaml(decision);
        // A working directory, or a file of that time, is not known.
        let agrees = results(&format!("tests:\n{yaml}"), file, hosts, false)?
            .iter()
            .all(|result| result.differences.is_empty());
        if agrees {
            text += &yaml;
            kept += 1;
        }
    }
    if kept == 0 {
        return Err(Failure::new("the audit has no decision that a test could repeat; nothing is written"));
    }
    let written = std::fs::File::create_new(file)
        .and_then(|mut open| std::io::Write::write_all(&mut open, text.as_bytes()));
    written.map_err(|error| Failure::unwritable(file, &error, "name a new file"))?;
    let left_out = candidates.len() - kept;
    print(&format!(
        "{}: {kept} tests; {left_out} decisions are left out, because they come out otherwise without their session\n",
        file.display()
    ));
    Ok(OK)
}

fn as_yaml(decision: &Decision) -> String {
    let Decision { command, tier, verdict, rule, .. } = decision;
    let tier = tier.map(|tier| format!("    tier: {tier}\n")).unwrap_or_default();
    let rule = rule.split(' ').next().filter(|rule| !rule.is_empty());
    let rule = rule.map(|rule| format!(", rule: {rule}")).unwrap_or_default();
    let command = serde_json::to_string(command).unwrap_or_else(|_| scalar(command));
    format!("  - command: {command}\n{tier}    expect: {{decision: {verdict}{rule}}}\n")
}
