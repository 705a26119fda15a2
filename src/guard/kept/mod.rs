//! Lines of a file in the state folder: calls that were allowed or have run, ends of sessions and reports, which did not reach the
//! ledger or the guard.

pub mod finished;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::machine::environment::Environment;
use finished::{Ended, Finished};
use opsctl_ledger::cooldown::cooldown_file::{CooldownFile, CooldownFileError};
use opsctl_ledger::{CallId, Result};
use opsctl_machine::kept_lines::KeptLines;
use opsctl_policy::decide::{BudgetKey, Snapshot};
use opsctl_policy::model::installation::inventory::Inventory;

/// The kinds of budgets.
const KINDS: [&str; 2] = ["restart", "redeployment"];

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// The input of a hook, for a guard.
    Report { event: Option<String>, stdin: String },
    /// A call, for the ledger.
    Finished { finished: Finished, agent: String },
    /// The end of a session, for the ledger.
    Ended { ended: Ended },
}

/// The file.
pub fn lines(environment: &Environment) -> KeptLines {
    KeptLines::new(&environment.state_dir, "guard-undelivered")
}

/// Keeps the input of a hook for the guard.
pub fn keep_report(event: Option<&str>, stdin: &[u8], environment: &Environment) -> io::Result<()> {
    let stdin = String::from_utf8_lossy(stdin).into_owned();
    append(&Line::Report { event: event.map(str::to_owned), stdin }, environment)
}

/// Keeps a call for the ledger.
pub fn keep_finished(finished: &Finished, environment: &Environment) -> io::Result<()> {
    append(
        &Line::Finished { finished: finished.clone(), agent: environment.ledger.agent_name() },
        environment,
    )
}

/// Keeps the end of a session for the ledger.
pub fn keep_ended(ended: Ended, environment: &Environment) -> io::Result<()> {
    append(&Line::Ended { ended }, environment)
}

fn append(line: &Line, environment: &Environment) -> io::Result<()> {
    lines(environment).append(&serde_json::to_string(line)?)
}

/// The session, and the client's id of a call.
type Call = (Option<String>, Option<String>);

/// An action that counts, and that is kept for the ledger.
#[derive(Debug, Clone)]
struct KeptAction {
    key: BudgetKey,
    at: DateTime<Utc>,
    call: Call,
    /// Whether `cooldown.json` has it.
    in_file: bool,
}

/// What is known of past actions besides the ledger: `cooldown.json`, by service, and what is kept.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// `cooldown.json`.
    pub file: CooldownFile,
    kept: Vec<KeptAction>,
}

impl Beside {
    /// Reads both. A `cooldown.json` that cannot be read is empty.
    pub fn read(environment: &Environment, inventory: &Inventory) -> (Self, Option<CooldownFileError>) {
        let (file, error) = match CooldownFile::read(&environment.cooldown_file()) {
            Ok(file) => (file.by_service(inventory), None),
            Err(error) => (CooldownFile::default(), Some(error)),
        };
        (Self { file, kept: actions(environment) }, error)
    }

    /// Without the kept calls that the ledger knows.
    pub fn without(&self, is_known: impl Fn(CallId<'_>) -> Result<bool>) -> Result<Cow<'_, Self>> {
        let mut unknown = vec![];
        for action in &self.kept {
            let (session, tool_use) = &action.call;
            if !is_known(CallId { session: session.as_deref(), tool_use: tool_use.as_deref() })? {
                unknown.push(action.clone());
            }
        }
        let is_whole = unknown.len() == self.kept.len();
        let without = || Self { file: self.file.clone(), kept: unknown };
        Ok(if is_whole { Cow::Borrowed(self) } else { Cow::Owned(without()) })
    }

    /// The budgets with an entry.
    pub fn keys(&self) -> BTreeSet<BudgetKey> {
        let of = |service: &str| KINDS.map(|kind| BudgetKey { service: service.to_owned(), kind });
        self.file.services().flat_map(of).chain(self.kept.iter().map(|action| action.key.clone())).collect()
    }

    /// Adds what the ledger does not contain to the usage of these budgets.
    pub fn merge<'a>(&self, snapshot: &mut Snapshot, keys: impl IntoIterator<Item = &'a BudgetKey>) {
        for key in keys {
            let mut file = self.file.times(&key.service, key.kind).to_vec();
            let kept = || self.kept.iter().filter(|action| action.key == *key);
            for action in kept().filter(|action| action.in_file) {
                // The file has whole seconds.
                let is_same = |entry: &DateTime<Utc>| entry.timestamp() == action.at.timestamp();
                if let Some(same) = file.iter().position(is_same) {
                    file.swap_remove(same);
                }
            }
            let usage = snapshot.entry(key.clone()).or_default();
            usage.merge_file(&file);
            let reset = usage.reset;
            let kept = kept().map(|action| action.at);
            usage.entries.extend(kept.filter(|at| reset.is_none_or(|reset| *at > reset)));
        }
    }
}

/// The actions that are kept for the ledger. A call that is kept twice counts once, from its report.
fn actions(environment: &Environment) -> Vec<KeptAction> {
    let lines = lines(environment);
    if !lines.exists() {
        return vec![];
    }
    let (mut calls, mut refused): (Vec<Finished>, Vec<Call>) = (vec![], vec![]);
    for text in lines.all().split(|byte| *byte == b'\n') {
        match serde_json::from_slice(text) {
            Ok(Line::Finished { finished, .. }) => {
                let is_same = |known: &&mut Finished| {
                    finished.tool_use.is_some()
                        && known.call() == finished.call()
                        && (known.result.is_none() || known.evidence == finished.evidence)
                };
                match calls.iter_mut().find(is_same) {
                    Some(known) => *known = finished,
                    None => calls.push(finished),
                }
            }
            Ok(Line::Ended { ended }) => {
                let of = |call| (Some(ended.session.clone()), Some(call));
                refused.extend(ended.refused.into_iter().map(of));
            }
            Ok(Line::Report { .. }) | Err(_) => {}
        }
    }
    calls.retain(|call| call.result.is_some() || !refused.contains(&call.call()));
    let of = |call: Finished| {
        let (id, at, in_file) = (call.call(), call.at, call.in_file);
        call.counted_alone().into_iter().map(move |key| KeptAction { key, at, call: id.clone(), in_file })
    };
    calls.into_iter().flat_map(of).collect()
}
