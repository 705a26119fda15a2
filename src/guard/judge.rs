//! The verdict on a tool call, from the ledger, `cooldown.json` and the policy.

use std::fmt::Display;

use chrono::{DateTime, Utc};

use super::acting::ActingCall;
use super::asking::lifted::{Lifted, lifted, objections};
use super::asking::{self, Outcome, Request, grants};
use super::audit;
use super::failures::{self, UnrecordedDecision};
use super::lost;
use crate::ledger::cooldown_file::{CooldownFile, CooldownFileError};
use crate::ledger::mark::LedgerLoss;
use crate::ledger::{HookRequest, Ledger, LedgerError, Scope};
use crate::model::ask::Topic;
use crate::model::mode::Mode;
use crate::model::policy::OnFailure;
use crate::model::question::Grant;
use crate::model::verdict::{Asked, Reason, Verdict};
use crate::policy::decide::{BudgetKey, Decision, Snapshot, budget_keys, decide};
use crate::runtime::agent_side;
use crate::runtime::environment::Environment;
use crate::runtime::notify;
use crate::runtime::warning::Warning;

/// A verdict, and what [`record`] records after it has been answered.
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The part that is not recorded yet.
    pub unrecorded: Unrecorded,
    /// Who has allowed it, for the model; `None` if no person was needed.
    pub remark: Option<String>,
}

/// The part of a judgement that is not recorded yet.
pub enum Unrecorded {
    /// Nothing: it is recorded, or cannot be.
    Nothing,
    /// A verdict that depends on no budget.
    Decision,
    /// A denial by a budget, with the usage that it is based on, and whether the ledger had lost rows.
    Exhausted(Snapshot, Box<Ledger>, bool),
    /// A failure of the guard, which denied the call; the text of the denial.
    FailedClosed(String),
}

impl Judgement {
    fn of(verdict: Verdict, unrecorded: Unrecorded) -> Self {
        Self { verdict, unrecorded, remark: None }
    }

    /// A verdict that is recorded, or cannot be.
    fn settled(verdict: Verdict) -> Self {
        Self::of(verdict, Unrecorded::Nothing)
    }

    /// Denies actions that cannot be counted.
    fn fail_closed(acting: &ActingCall<'_>, error: &dyn Display) -> Self {
        let reason = failed_closed(error, &acting.evidence());
        let unrecorded = Unrecorded::FailedClosed(reason.text.clone());
        Self::of(Verdict::Deny(vec![reason]), unrecorded)
    }
}

/// Judges a call and reserves its budgets. Reading, deciding and reserving are one transaction, so that two calls cannot
/// both take the last place of a budget, or use one approval. A denial is recorded by [`record`], after it has been answered.
pub fn judge(
    acting: &mut ActingCall<'_>,
    request: &Request<'_>,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Judgement {
    let keys = budget_keys(&acting.actions, &acting.installation.policy);
    if let Some(verdict) = without_budget(acting, &keys) {
        if verdict != Verdict::Silent && may_ask(acting) {
            let (file, _) = cooldown_file(acting, environment);
            // Without a ledger, nothing is asked.
            if let Ok(judgement) = with_ledger(acting, (&keys, &file), request, environment, warnings) {
                return judgement;
            }
        }
        return Judgement::of(verdict, Unrecorded::Decision);
    }
    let (file, file_error) = cooldown_file(acting, environment);
    if let Some(error) = file_error.as_ref().filter(|error| spoils_history(error, acting)) {
        let verdict = without_ledger(acting, &keys, &file, environment);
        if verdict != Verdict::Silent {
            return Judgement::settled(verdict);
        }
        return match usage(acting, &keys, environment) {
            Ok(_) => Judgement::fail_closed(acting, error),
            Err(error) => Judgement::fail_closed(acting, &error),
        };
    }
    match with_ledger(acting, (&keys, &file), request, environment, warnings) {
        Ok(judgement) => {
            warnings.extend(file_error.map(Warning::from));
            judgement
        }
        // One warning is enough: that of the file says that the ledger is used, which it is not.
        Err(error) => {
            let verdict = without_ledger(acting, &keys, &file, environment);
            match verdict {
                Verdict::Silent => on_failure(acting, error, environment, warnings),
                // The ledger can be written, but for what others have locked.
                verdict if error.is_locked() => Judgement::of(verdict, Unrecorded::Decision),
                verdict => Judgement::settled(verdict),
            }
        }
    }
}

/// Judges a call without the guard, which has the ledger and does not answer: the rules that need no history apply, then
/// `policy.on_failure`.
pub fn judge_alone(
    acting: &ActingCall<'_>,
    error: LedgerError,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Judgement {
    let policy = &acting.installation.policy;
    let keys = budget_keys(&acting.actions, policy);
    let verdict = without_budget(acting, &keys).filter(|verdict| *verdict != Verdict::Silent);
    let alone = || decide(&acting.actions, &Snapshot::new(), policy, acting.tier, acting.now).verdict;
    match verdict.unwrap_or_else(alone) {
        Verdict::Silent => on_failure(acting, error, environment, warnings),
        other => Judgement::settled(other),
    }
}

/// The verdict on a call, as [`judge`] would give it now. Reads only: nothing is reserved, recorded or created.
pub fn preview(
    acting: &mut ActingCall<'_>,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Verdict {
    let keys = budget_keys(&acting.actions, &acting.installation.policy);
    if let Some(verdict) = without_budget(acting, &keys)
        && (verdict == Verdict::Silent || !may_ask(acting))
    {
        return verdict;
    }
    let (file, file_error) = cooldown_file(acting, environment);
    let (mut snapshot, error) = match usage(acting, &keys, environment) {
        Ok((snapshot, now)) => {
            acting.now = now;
            (snapshot, None)
        }
        Err(error) => (Snapshot::new(), Some(error)),
    };
    let policy = &acting.installation.policy;
    merge_cooldown_file(&mut snapshot, &keys, &file);
    let verdict = match by_rules(acting, &snapshot).verdict {
        Verdict::Silent => Verdict::Silent,
        denial => lifted_in_preview(acting, &snapshot, environment).unwrap_or(denial),
    };
    // An error is that of `usage`.
    if let Some(loss) = Ledger::loss_at(&environment.ledger, &environment.state_dir).ok().flatten() {
        if policy.on_failure == OnFailure::Closed && verdict == Verdict::Silent {
            return Verdict::Deny(vec![failed_closed(&loss, &acting.evidence())]);
        }
        warnings.push(Warning::LedgerLost(loss));
    }
    if let Some(error) = file_error.as_ref().filter(|error| spoils_history(error, acting))
        && verdict == Verdict::Silent
    {
        return Verdict::Deny(vec![failed_closed(error, &acting.evidence())]);
    }
    match error {
        None => {
            // For an operator's query, a missing file is not a problem.
            let file_error = file_error.filter(|error| !matches!(error, CooldownFileError::Missing(_)));
            warnings.extend(file_error.map(Warning::from));
            verdict
        }
        Some(error) if verdict == Verdict::Silent => match policy.on_failure {
            OnFailure::Open => {
                warnings.push(Warning::RunsUncounted { error, actions: acting.evidence() });
                verdict
            }
            OnFailure::Closed => Verdict::Deny(vec![failed_closed(&error, &acting.evidence())]),
        },
        Some(error) => {
            warnings.push(error.into());
            verdict
        }
    }
}

/// What a person has granted, or would be asked; `None` if the denial stays.
fn lifted_in_preview(
    acting: &ActingCall<'_>,
    snapshot: &Snapshot,
    environment: &Environment,
) -> Option<Verdict> {
    let policy = &acting.installation.policy;
    let (reasons, reservations) = objections(acting, snapshot);
    // An error is that of `usage`.
    let all = Ledger::open_existing(&environment.ledger).ok().flatten();
    let all = all.and_then(|ledger| ledger.grants(acting.now).ok()).unwrap_or_default();
    let granted = |key: &BudgetKey| -> Result<Vec<Grant>, LedgerError> {
        Ok(all
            .iter()
            .filter(|grant| grant.service == key.service && grant.kind == key.kind)
            .cloned()
            .collect())
    };
    if reasons.iter().all(|reason| reason.topic == Some(Topic::Budget))
        && grants::covering(&reservations, snapshot, policy, acting.now, granted).ok()?.is_some()
    {
        return Some(Verdict::Silent);
    }
    let at_terminal = environment.mode == Some(Mode::Interactive);
    asking::would_ask(&reasons, policy).then_some(Verdict::Ask(Asked {
        question: None,
        at_terminal,
        reasons,
    }))
}

/// The verdict on a call that draws on no budget, or to which a rule objects anyway; otherwise `None`.
fn without_budget(acting: &ActingCall<'_>, keys: &[BudgetKey]) -> Option<Verdict> {
    if !acting.objections.is_empty() {
        return Some(Verdict::Deny(acting.objections.clone()));
    }
    let policy = &acting.installation.policy;
    let decide = || decide(&acting.actions, &Snapshot::new(), policy, acting.tier, acting.now).verdict;
    keys.is_empty().then(decide)
}

/// Whether a person may be asked about the objections that need no budget.
fn may_ask(acting: &ActingCall<'_>) -> bool {
    asking::would_ask(&objections(acting, &Snapshot::new()).0, &acting.installation.policy)
}

/// The verdict of the rules alone: no person has approved or granted anything.
fn by_rules(acting: &ActingCall<'_>, snapshot: &Snapshot) -> Decision {
    if !acting.objections.is_empty() {
        return Decision { verdict: Verdict::Deny(acting.objections.clone()), reservations: vec![] };
    }
    decide(&acting.actions, snapshot, &acting.installation.policy, acting.tier, acting.now)
}

fn with_ledger(
    acting: &mut ActingCall<'_>,
    history: (&[BudgetKey], &CooldownFile),
    request: &Request<'_>,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Result<Judgement, LedgerError> {
    loop {
        if let Some(judgement) = in_transaction(acting, history, request, environment, warnings)? {
            return Ok(judgement);
        }
        request.words.read();
    }
}

/// The judgement in one transaction; `None` if it needs the last words of the agent, which have not been read.
fn in_transaction(
    acting: &mut ActingCall<'_>,
    (keys, file): (&[BudgetKey], &CooldownFile),
    request: &Request<'_>,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Judgement>, LedgerError> {
    let mut ledger = Ledger::open(&environment.ledger)?;
    // Questions have limits of their own: what may be asked excludes all other calls.
    let scope = if acting.installation.policy.ask.is_empty() {
        Scope::Of { budgets: keys, call: Some(acting.id) }
    } else {
        Scope::All
    };
    let change = ledger.change_in(scope)?;
    acting.now = change.now(acting.now);
    let acting = &*acting;
    let policy = &acting.installation.policy;
    // A hook on the agent's side sends its request again if it has lost the answer. Another hook with the same call is
    // another request: it needs its own place, and its own approval.
    let (request_id, digest) = match agent_side::request().filter(|_| acting.id.tool_use.is_some()) {
        Some(id) => (Some(id), (request.digest)()),
        None => (None, None),
    };
    let own = request_id.as_deref().zip(digest.as_deref());
    let own = own.map(|(id, digest)| HookRequest { id, call: acting.id, digest });
    if let Some(own) = &own
        && change.is_allowed(own, acting.now)?
    {
        return Ok(Some(Judgement::settled(Verdict::Silent)));
    }
    let lost = change.loss(&environment.state_dir)?;
    let mut snapshot = change.usage(keys, policy, acting.now)?;
    merge_cooldown_file(&mut snapshot, keys, file);
    let decision = by_rules(acting, &snapshot);
    let is_closed = |lost: &Option<LedgerLoss>| lost.is_some() && policy.on_failure == OnFailure::Closed;
    let lifted = match decision.verdict {
        Verdict::Silent => Lifted { reservations: decision.reservations, ..Lifted::default() },
        // What a lost row would have denied cannot be asked about.
        _ if is_closed(&lost) => Lifted { outcome: Some(Outcome::Denied), ..Lifted::default() },
        _ => lifted(&change, acting, &snapshot, request, environment)?,
    };
    let verdict = match lifted.outcome {
        Some(Outcome::WordsNeeded) => return Ok(None),
        Some(Outcome::Denied) => {
            drop(change);
            // A denial that depends on no budget needs no usage.
            let unrecorded = if acting.objections.is_empty() && !keys.is_empty() {
                Unrecorded::Exhausted(snapshot, Box::new(ledger), lost.is_some())
            } else {
                Unrecorded::Decision
            };
            return Ok(Some(Judgement::of(decision.verdict, unrecorded)));
        }
        Some(Outcome::Closed(reason)) => {
            drop(change);
            let reasons = lifted.reasons.into_iter().chain([reason]).collect();
            return Ok(Some(Judgement::of(Verdict::Deny(reasons), Unrecorded::Decision)));
        }
        Some(Outcome::Forged(reason, _)) => {
            Verdict::Deny(lifted.reasons.into_iter().chain([reason]).collect())
        }
        Some(Outcome::Asked(id, _)) => asked(id, false, lifted.reasons),
        Some(Outcome::AtTerminal(id)) => asked(id, true, lifted.reasons),
        None | Some(Outcome::Approved(..)) => Verdict::Silent,
    };
    if verdict == Verdict::Silent
        && let Some(loss) = lost.as_ref().filter(|_| policy.on_failure == OnFailure::Closed)
    {
        return Ok(Some(Judgement::fail_closed(acting, loss)));
    }
    change.reserve(acting.id, &lifted.reservations, acting.now)?;
    if let Some(own) = own.as_ref().filter(|_| verdict == Verdict::Silent) {
        change.note_allowed(own, acting.now)?;
    }
    if let Some(length) = policy.exclusive {
        change.take_leases(acting.id.session, &lifted.reservations, length.delta(), acting.now)?;
    }
    grants::use_all(&change, acting, &lifted.uses)?;
    audit::record(&change, acting, &verdict, &snapshot, (lifted.remark.as_deref(), environment))?;
    let by = (policy, acting.id.session);
    warnings.extend(lost::commit(change, lost, by, environment, acting.now)?);
    // A notice that is not delivered now waits for the next flush.
    warnings.extend(lifted.notice.and_then(|id| notify::hand_over(environment, id)));
    Ok(Some(Judgement { verdict, unrecorded: Unrecorded::Nothing, remark: lifted.remark }))
}

/// A question as the verdict.
fn asked(id: i64, at_terminal: bool, reasons: Vec<Reason>) -> Verdict {
    Verdict::Ask(Asked { question: Some(id), at_terminal, reasons })
}

/// The verdict when the ledger cannot be written: from the rules that need no ledger, from `cooldown.json`, and from the
/// ledger if it can be read.
fn without_ledger(
    acting: &ActingCall<'_>,
    keys: &[BudgetKey],
    file: &CooldownFile,
    environment: &Environment,
) -> Verdict {
    let policy = &acting.installation.policy;
    let (mut snapshot, now) =
        usage(acting, keys, environment).unwrap_or_else(|_| (Snapshot::new(), acting.now));
    merge_cooldown_file(&mut snapshot, keys, file);
    decide(&acting.actions, &snapshot, policy, acting.tier, now).verdict
}

/// Applies `policy.on_failure` where no rule objects; the operators are notified either way.
fn on_failure(
    acting: &ActingCall<'_>,
    error: LedgerError,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Judgement {
    match acting.installation.policy.on_failure {
        OnFailure::Open => {
            let warning = Warning::RunsUncounted { error, actions: acting.evidence() };
            let unsent = report(acting, "open", &warning, environment);
            warnings.push(warning);
            warnings.extend(unsent);
            Judgement::settled(Verdict::Silent)
        }
        OnFailure::Closed => Judgement::fail_closed(acting, &error),
    }
}

/// Records that the guard failed `open` or `closed`, and notifies the operators.
pub(super) fn report(
    acting: &ActingCall<'_>,
    way: &str,
    text: &dyn Display,
    environment: &Environment,
) -> Option<Warning> {
    let (verdict, actions) = (format!("fail-{way}"), acting.evidence());
    let decision =
        UnrecordedDecision { verdict: &verdict, actions: &actions, services: audit::services(acting) };
    let message = format!("Guard failed {way}: {text}");
    failures::report(environment, acting.id.session, &message, Some(decision), acting.now)
}

/// Whether a `cooldown.json` that cannot be read stops the actions: `policy.on_failure` is closed, and the file is there.
fn spoils_history(error: &CooldownFileError, acting: &ActingCall<'_>) -> bool {
    acting.installation.policy.on_failure == OnFailure::Closed
        && !matches!(error, CooldownFileError::Missing(_) | CooldownFileError::Empty(_))
}

/// The denial of actions that cannot be counted.
fn failed_closed(error: &dyn Display, actions: &str) -> Reason {
    let text = format!(
        "Denied: {error}, so `{actions}` cannot be counted, and policy.on_failure is closed. Report it; an operator has to look into it."
    );
    Reason { rule: "on_failure", topic: None, text }
}

/// The usage in the ledger, read without writing to it, and the time of the ledger; empty if there is no ledger yet.
fn usage(
    acting: &ActingCall<'_>,
    keys: &[BudgetKey],
    environment: &Environment,
) -> Result<(Snapshot, DateTime<Utc>), LedgerError> {
    let Some(ledger) = Ledger::open_existing(&environment.ledger)? else {
        return Ok((Snapshot::new(), acting.now));
    };
    let now = ledger.now(acting.now)?;
    Ok((ledger.usage(keys, &acting.installation.policy, now)?, now))
}

/// Adds the usage that `cooldown.json` has and the ledger has not.
fn merge_cooldown_file(snapshot: &mut Snapshot, keys: &[BudgetKey], file: &CooldownFile) {
    for key in keys {
        snapshot.entry(key.clone()).or_default().merge_file(file.times(&key.service, key.kind));
    }
}

/// `cooldown.json` by service; empty with an error if it cannot be read.
fn cooldown_file(
    acting: &ActingCall<'_>,
    environment: &Environment,
) -> (CooldownFile, Option<CooldownFileError>) {
    match CooldownFile::read(&environment.cooldown_file()) {
        Ok(file) => (file.by_service(&acting.installation.inventory), None),
        Err(error) => (CooldownFile::default(), Some(error)),
    }
}
