//! The verdict on actions, from the ledger, `cooldown.json` and the policy.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::acting::ActingCall;
use super::audit;
use super::failures::{self, Unwritten};
use crate::inventory::Installation;
use crate::ledger::cooldown_file::{CooldownFile, CooldownFileError};
use crate::ledger::{Change, Ledger, LedgerError};
use crate::model::policy::{OnFailure, Policy, Tier};
use crate::model::verdict::{Reason, ResolvedAction, Verdict};
use crate::policy::decide::{BudgetKey, Snapshot, budget_keys, decide, reservations};
use crate::policy::notices::{budget_exhausted, exhausted};
use crate::runtime::environment::Environment;
use crate::runtime::notify::{self, apprise::Target};

/// Judges a call and reserves what it takes. Looking, deciding and reserving are one transaction, so that
/// two calls cannot take the same last place.
pub fn judge(acting: &ActingCall<'_>, environment: &Environment, notes: &mut Vec<String>) -> Verdict {
    let policy = &acting.installation.policy;
    let keys = budget_keys(&acting.actions, policy);
    if keys.is_empty() || !acting.objections.is_empty() {
        let verdict = if acting.objections.is_empty() {
            decide(&acting.actions, &Snapshot::new(), policy, acting.tier, acting.now).verdict
        } else {
            Verdict::Deny(acting.objections.clone())
        };
        // The verdict stands whether or not it can be noted.
        let _ = note_alone(acting, &verdict, environment);
        return verdict;
    }
    let mut file_notes = Vec::new();
    let inventory = &acting.installation.inventory;
    let file = cooldown_file(&environment.cooldown_file(), &mut file_notes).by_service(inventory);
    match with_ledger(acting, &keys, &file, environment, notes) {
        Ok(verdict) => {
            notes.append(&mut file_notes);
            verdict
        }
        // One line about the ledger is enough: what the file's says of counting from it no longer holds.
        Err(error) => {
            let verdict = without_ledger(acting, &keys, &file, environment);
            if verdict == Verdict::Silent { on_failure(acting, &error, environment, notes) } else { verdict }
        }
    }
}

fn with_ledger(
    acting: &ActingCall<'_>,
    keys: &[BudgetKey],
    file: &CooldownFile,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> Result<Verdict, LedgerError> {
    let policy = &acting.installation.policy;
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    let mut snapshot = change.usage(keys, policy, acting.now)?;
    merge_cooldown_file(&mut snapshot, keys, file);
    let decision = decide(&acting.actions, &snapshot, policy, acting.tier, acting.now);
    if decision.verdict == Verdict::Silent {
        change.reserve(acting.id, &decision.reservations, acting.now)?;
        audit::note(&change, acting, &decision.verdict, &snapshot, environment)?;
        change.commit()?;
    } else {
        drop(change);
        // The denial stands whether or not it can be noted: on a full disk, it cannot.
        let raised = note_denial(acting, &decision.verdict, &snapshot, environment, ledger);
        let raised = raised.into_iter().flatten();
        notes.extend(raised.filter_map(|id| notify::hand_over(environment, id)));
    }
    Ok(decision.verdict)
}

/// Notes a denial and what it has to tell the operators, whose notices are returned. Nothing was reserved and nothing
/// will run, so it need not survive a power cut.
fn note_denial(
    acting: &ActingCall<'_>,
    verdict: &Verdict,
    snapshot: &Snapshot,
    environment: &Environment,
    ledger: Ledger,
) -> Result<Vec<i64>, LedgerError> {
    let mut ledger = ledger.for_the_record();
    let change = ledger.change()?;
    audit::note(&change, acting, verdict, snapshot, environment)?;
    let raised = tell_of_exhaustion(&change, acting, snapshot, environment)?;
    change.commit()?;
    Ok(raised)
}

/// Notes a verdict that no budget was asked for: nothing depends on it, so it need not survive a power cut.
fn note_alone(
    acting: &ActingCall<'_>,
    verdict: &Verdict,
    environment: &Environment,
) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?.for_the_record();
    let change = ledger.change()?;
    audit::note(&change, acting, verdict, &Snapshot::new(), environment)?;
    change.commit()
}

/// Raises a notice for each budget that has nothing left; returns those that are to be delivered.
fn tell_of_exhaustion(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    snapshot: &Snapshot,
    environment: &Environment,
) -> Result<Vec<i64>, LedgerError> {
    let policy = &acting.installation.policy;
    let wanted = reservations(&acting.actions, snapshot, policy);
    let has_target = Target::of(environment).is_some();
    let mut raised = Vec::new();
    for exhausted in exhausted(&wanted, snapshot, policy, acting.now) {
        let session = acting.id.session;
        let notice = budget_exhausted(&exhausted, &acting.evidence(), session, acting.tier, acting.now);
        raised.extend(change.raise(session, &notice, has_target, acting.now)?);
    }
    Ok(raised)
}

/// The rules that need no ledger hold without one, and so does what `cooldown.json` says, and what the ledger
/// says when it can be read and only not written.
fn without_ledger(
    acting: &ActingCall<'_>,
    keys: &[BudgetKey],
    file: &CooldownFile,
    environment: &Environment,
) -> Verdict {
    let policy = &acting.installation.policy;
    let mut snapshot = look(keys, policy, environment, acting.now).unwrap_or_default();
    merge_cooldown_file(&mut snapshot, keys, file);
    decide(&acting.actions, &snapshot, policy, acting.tier, acting.now).verdict
}

/// What the policy says where nothing else objects; either way a person gets to hear of it.
fn on_failure(
    acting: &ActingCall<'_>,
    error: &LedgerError,
    environment: &Environment,
    notes: &mut Vec<String>,
) -> Verdict {
    let evidence = acting.evidence();
    let unwritten =
        |verdict| Some(Unwritten { verdict, actions: &evidence, services: audit::services(acting) });
    match acting.installation.policy.on_failure {
        OnFailure::Open => {
            let note = format!("{error}; `{evidence}` runs uncounted, since policy.on_failure is open");
            let message = format!("Guard failed open: {note}");
            notes.push(note);
            notes.extend(failures::report(
                environment,
                acting.id.session,
                &message,
                unwritten("fail-open"),
                acting.now,
            ));
            Verdict::Silent
        }
        OnFailure::Closed => {
            let text = format!(
                "Denied: {error}, so `{evidence}` cannot be counted, and policy.on_failure is closed. Report it; a person has to check the state folder."
            );
            let message = format!("Guard failed closed: {text}");
            notes.extend(failures::report(
                environment,
                acting.id.session,
                &message,
                unwritten("fail-closed"),
                acting.now,
            ));
            Verdict::Deny(vec![Reason { rule: "on_failure", text }])
        }
    }
}

/// What would be said to these actions now. Reads only: nothing is reserved, noted or created.
pub fn preview(
    actions: &[ResolvedAction],
    installation: &Installation,
    tier: Option<Tier>,
    environment: &Environment,
    now: DateTime<Utc>,
    notes: &mut Vec<String>,
) -> Verdict {
    let policy = &installation.policy;
    let keys = budget_keys(actions, policy);
    let mut snapshot = Snapshot::new();
    if !keys.is_empty() {
        snapshot = look(&keys, policy, environment, now).unwrap_or_else(|error| {
            notes.push(error.to_string());
            Snapshot::new()
        });
        let file = CooldownFile::read(&environment.cooldown_file()).unwrap_or_else(|error| {
            // That there is none yet is no news to somebody who only asks.
            notes.extend((!matches!(error, CooldownFileError::Missing(_))).then(|| error.to_string()));
            CooldownFile::default()
        });
        merge_cooldown_file(&mut snapshot, &keys, &file.by_service(&installation.inventory));
    }
    decide(actions, &snapshot, policy, tier, now).verdict
}

/// What the ledger says, without writing to it. There is none before the first action.
fn look(
    keys: &[BudgetKey],
    policy: &Policy,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<Snapshot, LedgerError> {
    match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.usage(keys, policy, now),
        None => Ok(Snapshot::new()),
    }
}

/// Adds what `cooldown.json` knows of these budgets and the ledger does not.
fn merge_cooldown_file(snapshot: &mut Snapshot, keys: &[BudgetKey], file: &CooldownFile) {
    for key in keys {
        snapshot.entry(key.clone()).or_default().merge_file(file.times(&key.service, key.kind));
    }
}

/// The file, or an empty one and a note why.
fn cooldown_file(path: &Path, notes: &mut Vec<String>) -> CooldownFile {
    CooldownFile::read(path).unwrap_or_else(|error| {
        notes.push(error.to_string());
        CooldownFile::default()
    })
}
