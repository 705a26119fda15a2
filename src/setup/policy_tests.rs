//! Tests of a policy: commands, each with the decision that `hosts.yaml` shall give.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::hooks::preview::{Explained, PreviewError, Question, preview};
use crate::machine::environment::Environment;
use crate::machine::request::Request;
use opsctl_ledger::{Ledger, LedgerError};
use opsctl_policy::decide::BudgetKey;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::policy::{Tier, Window};
use opsctl_probe::health::quoted;
use opsctl_reader::terms::mode::Mode;

/// The file of tests, beside `hosts.yaml`.
pub const FILE: &str = "tests.yaml";

/// A file of tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyTests {
    /// The tests.
    pub tests: Vec<PolicyTest>,
}

/// One test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyTest {
    /// What it is about; by default its command.
    name: Option<String>,
    /// The shell command.
    command: Option<String>,
    /// Another tool call, as the client's JSON has it: `tool_name` and `tool_input`.
    call: Option<Value>,
    /// The host on which the command runs, through ssh.
    host: Option<String>,
    /// The tier of the session; by default `policy.tier`.
    tier: Option<u8>,
    /// The mode of the session.
    mode: Option<String>,
    /// The working directory.
    cwd: Option<PathBuf>,
    /// The actions that have run before.
    #[serde(default)]
    history: Vec<Past>,
    /// What is expected.
    expect: Expected,
}

/// An action that has run before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Past {
    service: String,
    kind: Kind,
    /// How long ago: `1h`, `30m`.
    ago: String,
    #[serde(default)]
    failed: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Restart,
    Redeployment,
}

/// What is expected; what is not stated may be anything.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Expected {
    /// `allow`, `deny`, or `ask`: a person is asked.
    decision: Option<String>,
    /// A rule that denies it.
    rule: Option<String>,
    /// What it does to the world.
    effect: Option<String>,
    /// A service that it acts on.
    service: Option<String>,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TestResult {
    /// The name of the test.
    pub name: String,
    /// What differs; empty if it has passed.
    pub differences: Vec<Difference>,
    /// The reasons of the decision.
    pub reasons: Vec<String>,
}

/// What was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    what: &'static str,
    expected: String,
    found: String,
}

/// Why a test cannot be run. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum TestError {
    #[error("test {0} (`{1}`): {2}")]
    Invalid(usize, String, &'static str),
    #[error("test {0} (`{1}`): {2}")]
    Call(usize, String, PreviewError),
    #[error("the temporary ledger of test {0} (`{1}`): {2}")]
    Ledger(usize, String, Box<LedgerError>),
}

impl PolicyTest {
    fn name(&self) -> String {
        let tier = self.tier.map(|tier| format!(" at tier {tier}")).unwrap_or_default();
        let host = self.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        let what =
            || self.command.clone().or_else(|| self.call.as_ref().map(Value::to_string)).unwrap_or_default();
        self.name.clone().unwrap_or_else(|| format!("{}{host}{tier}", what()))
    }

    /// Why it is no test.
    fn mistake(&self) -> Option<&'static str> {
        let Expected { decision, rule, effect, service } = &self.expect;
        let is_decision = |text: &String| ["allow", "deny", "ask"].contains(&text.as_str());
        match (&self.command, &self.call) {
            (None, None) => Some("state a `command`, or a `call` with `tool_name` and `tool_input`"),
            (Some(_), Some(_)) => Some("state either a `command` or a `call`"),
            (None, Some(_)) if self.host.is_some() => Some("a `call` runs here: leave out `host`"),
            _ if self.tier.is_some_and(|tier| Tier::from_number(tier).is_none()) => {
                Some("`tier` is 1, 2 or 3")
            }
            _ if self.mode.as_deref().is_some_and(|mode| Mode::named(mode).is_none()) => {
                Some("`mode` is interactive, mission or background")
            }
            _ if self.history.iter().any(|past| Window::parse(&past.ago).is_none()) => {
                Some("`ago` is a duration such as 30m or 2h")
            }
            _ if decision.as_ref().is_some_and(|text| !is_decision(text)) => {
                Some("`decision` is allow, deny or ask")
            }
            _ if [decision, rule, effect, service].iter().all(|expected| expected.is_none()) => {
                Some("`expect` states nothing: state a decision, rule, effect or service")
            }
            _ => None,
        }
    }

    /// The command or the call, as it is explained.
    fn text(&self) -> String {
        match (&self.command, &self.host, &self.call) {
            (Some(command), Some(host), _) => format!("ssh {} {}", quoted(host), quoted(command)),
            (Some(command), None, _) => command.clone(),
            (None, _, call) => call.as_ref().map(Value::to_string).unwrap_or_default(),
        }
    }

    fn differences(&self, explained: &Explained) -> Vec<Difference> {
        let decision = if explained.asks { "ask" } else { &explained.decision };
        let services: Vec<&str> =
            explained.actions.iter().filter_map(|action| action.service.as_deref()).collect();
        let rules: Vec<&str> = explained.rules.iter().map(String::as_str).collect();
        let Expected { decision: wanted, rule, effect, service } = &self.expect;
        let stated = [
            ("decision", wanted, vec![decision]),
            ("rule", rule, rules),
            ("effect", effect, vec![explained.effect.as_str()]),
            ("service", service, services),
        ];
        let differs = stated.into_iter().filter_map(|(what, expected, found)| {
            let expected = expected.clone().filter(|expected| !found.contains(&expected.as_str()))?;
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            Some(Difference { what, expected, found })
        });
        differs.collect()
    }
}

/// Runs tests against an inventory, at this time, as on the agent's machine or as on a host itself. Nothing of this machine's ledger or environment counts.
pub fn run(
    tests: &PolicyTests,
    hosts: &Path,
    is_host: bool,
    now: DateTime<Utc>,
) -> Result<Vec<TestResult>, Box<dyn std::error::Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let mut results = Vec::with_capacity(tests.tests.len());
    for (at, test) in tests.tests.iter().enumerate() {
        let (number, name) = (at + 1, test.name());
        if let Some(mistake) = test.mistake() {
            return Err(TestError::Invalid(number, name, mistake).into());
        }
        let state_dir = folder.path().join(number.to_string());
        std::fs::create_dir(&state_dir)?;
        let environment = Environment {
            hosts: Some(hosts.to_owned()),
            ignore_compiled: true,
            is_host,
            tier: test.tier.and_then(Tier::from_number),
            mode: test.mode.as_deref().and_then(Mode::named),
            ledger: (&state_dir.join("claudeops.db")).into(),
            state_dir,
            ..Environment::from_variables(|_| None)
        };
        remember(test, &environment, now)
            .map_err(|error| TestError::Ledger(number, name.clone(), Box::new(error)))?;
        let question = Question { text: test.text(), cwd: test.cwd.clone(), tier: environment.tier };
        let explained = preview(&question, &Request::here(environment, now))
            .map_err(|error| TestError::Call(number, name.clone(), error))?
            .explained;
        let differences = test.differences(&explained);
        results.push(TestResult { name, differences, reasons: explained.reasons });
    }
    Ok(results)
}

/// Writes the history of a test to its ledger.
fn remember(test: &PolicyTest, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    if test.history.is_empty() {
        return Ok(());
    }
    Ledger::write(&environment.ledger, |change| {
        for Past { service, kind, ago, failed } in &test.history {
            let kind = match kind {
                Kind::Restart => "restart",
                Kind::Redeployment => "redeployment",
            };
            let key = BudgetKey { service: service.clone(), kind };
            let result =
                if *failed { ToolResult::Failed("failed".to_owned()) } else { ToolResult::Succeeded };
            let ago = Window::parse(ago).map_or(TimeDelta::zero(), Window::delta);
            change.record(&key, &result, None, environment.tier, now - ago)?;
        }
        Ok(())
    })
}
