//! The verdict on a tool call: from its objections, the budgets in the ledger and in `cooldown.json`, and the policy.
//!
//! One function judges for the hook, the guard process, `opsctl explain` and a hook whose guard does not answer. What follows
//! the verdict is its argument.

use std::fmt::Display;

use chrono::{DateTime, Utc};

use super::acting::ActingCall;
use super::asking::{self, AfterDenial, ClientCall, ClientFacts, Needed, grants};
use super::audit;
use super::decision::{Decided, Existing, History, Rest, decided};
use super::failures::{self, UnrecordedDecision};
use super::kept::{self, Beside, finished::Finished};
use super::lost;
use crate::machine::environment::Environment;
use crate::machine::notify;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_ledger::cooldown::cooldown_file::CooldownFileError;
use opsctl_ledger::{HookRequest, Ledger, LedgerError, Result, Scope};
use opsctl_policy::decide::{Snapshot, budget_keys};
use opsctl_policy::model::records::verdict::{Reason, Verdict};
use opsctl_policy::model::rights::policy::OnFailure;
use opsctl_reader::terms::mode::Mode;

/// What follows a verdict.
pub enum Ending<'a> {
    /// Budgets are reserved, the decision is recorded, and a person may be asked.
    Commit(&'a ClientCall<'a>),
    /// Nothing: it is the verdict that a commit would give now. Nothing is reserved, recorded or created.
    Preview,
    /// Nothing: the guard, which has the ledger, does not answer, with this error.
    Alone(LedgerError),
}

/// A verdict, and what [`super::recording::record`] records after it has been answered.
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

    /// Denies a request to a gate while others use the ledger: they could keep it busy until it counts nothing. A gate that
    /// only watches denies none.
    fn try_again(acting: &ActingCall<'_>, error: &LedgerError) -> Option<Self> {
        acting.gate.filter(|_| error.is_in_use())?;
        let text = format!("Denied: {error}, so `{}` cannot be counted now. Try again.", acting.evidence());
        let reasons = vec![Reason { rule: "on_failure", topic: None, text: text.clone() }];
        let is_watched = acting.is_watched(&reasons);
        (!is_watched).then(|| Self::of(Verdict::Deny(reasons), Unrecorded::FailedClosed(text)))
    }

    /// Denies actions that cannot be counted.
    fn fail_closed(acting: &ActingCall<'_>, error: &dyn Display) -> Self {
        let actions = acting.evidence();
        let text = format!(
            "Denied: {error}, so `{actions}` cannot be counted, and policy.on_failure is closed. Report it to an operator, who has to fix it."
        );
        let reason = Reason { rule: "on_failure", topic: None, text: text.clone() };
        Self::of(Verdict::Deny(vec![reason]), Unrecorded::FailedClosed(text))
    }
}

/// Why the history of a call is incomplete.
enum Failure {
    Ledger(LedgerError),
    File(CooldownFileError),
}

impl From<Failure> for Warning {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Ledger(error) => error.into(),
            Failure::File(error) => error.into(),
        }
    }
}

/// Judges a call. For a commit, reading, deciding and reserving are one transaction, so that two calls cannot both take the
/// last place of a budget, or use one approval.
pub fn judge(
    acting: &mut ActingCall<'_>,
    ending: Ending<'_>,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Judgement {
    let keys = budget_keys(&acting.actions, &acting.installation.policy);
    let client = match ending {
        Ending::Commit(client) => Some(client),
        Ending::Preview => None,
        Ending::Alone(error) => {
            let verdict = acting.by_rules(&Snapshot::new(), acting.now).verdict;
            return failed(acting, verdict, Failure::Ledger(error), Some(request), warnings);
        }
    };
    let needs_history = !keys.is_empty() && acting.objections.is_empty();
    if !needs_history {
        let verdict = acting.by_rules(&Snapshot::new(), acting.now).verdict;
        let reasons = || acting.all_objections(&Snapshot::new()).0;
        let needs_ledger = |reasons: &[Reason]| {
            asking::would_ask(reasons, &acting.installation.policy) || acting.is_watched(reasons)
        };
        if verdict == Verdict::Silent || !needs_ledger(&reasons()) {
            return Judgement::of(verdict, Unrecorded::Decision);
        }
    }
    let (beside, file_error) = Beside::read(request, &acting.installation.inventory);
    let history = History { keys: &keys, beside: &beside };
    let failure = match file_error {
        Some(error) if needs_history && spoils_history(&error, acting) => Failure::File(error),
        file_error => match with_ledger(acting, history, client, request, warnings) {
            Ok(judgement) => {
                // For an operator's query, a missing file is not a problem.
                let is_problem = |error: &CooldownFileError| {
                    client.is_some() || !matches!(error, CooldownFileError::Missing(_))
                };
                warnings.extend(file_error.filter(is_problem).map(Warning::from));
                return judgement;
            }
            // One warning is enough: that of the file says that the ledger is used, which it is not.
            Err(error) => Failure::Ledger(error),
        },
    };
    // The rules that need no ledger apply, and the budgets as far as they can be read. A preview has just tried to.
    let nothing = || (history.alone(), acting.now);
    let ((snapshot, now), failure) = match (failure, client) {
        (Failure::Ledger(error), None) => (nothing(), Failure::Ledger(error)),
        (failure, _) => match (usage(acting, history, request), failure) {
            (Ok(usage), failure) => (usage, failure),
            (Err(error), Failure::File(_)) => (nothing(), Failure::Ledger(error)),
            (Err(_), failure) => (nothing(), failure),
        },
    };
    let verdict = acting.by_rules(&snapshot, now).verdict;
    failed(acting, verdict, failure, client.map(|_| request), warnings)
}

/// The judgement without a complete history: `verdict` is that of the rules, and `policy.on_failure` applies where they allow
/// the call. A failure is reported to the operators of `reported`.
fn failed(
    acting: &ActingCall<'_>,
    verdict: Verdict,
    failure: Failure,
    reported: Option<&Request>,
    warnings: &mut Vec<Warning>,
) -> Judgement {
    let verdict = match verdict {
        Verdict::Deny(reasons) if acting.is_watched(&reasons) => Verdict::Silent,
        verdict => verdict,
    };
    if let Failure::Ledger(error) = &failure
        && let Some(denial) = Judgement::try_again(acting, error).filter(|_| verdict == Verdict::Silent)
    {
        return denial;
    }
    match (acting.installation.policy.on_failure, failure) {
        (_, failure) if verdict != Verdict::Silent => {
            // A ledger that others have locked can still be written, but for what they have locked.
            let is_locked = matches!(&failure, Failure::Ledger(error) if error.is_locked());
            warnings.push(failure.into());
            Judgement::of(verdict, if is_locked { Unrecorded::Decision } else { Unrecorded::Nothing })
        }
        (OnFailure::Open, Failure::Ledger(error)) => {
            let actions = acting.evidence();
            let is_kept = reported.is_some_and(|request| keep(acting, request));
            let warning = if is_kept {
                Warning::RunsKept { error, actions }
            } else {
                Warning::RunsUncounted { error, actions }
            };
            let unsent = reported.and_then(|request| report(acting, "open", &warning, request));
            warnings.push(warning);
            warnings.extend(unsent);
            Judgement::of(verdict, Unrecorded::Nothing)
        }
        (_, Failure::Ledger(error)) => Judgement::fail_closed(acting, &error),
        (_, Failure::File(error)) => Judgement::fail_closed(acting, &error),
    }
}

/// Keeps a call that is allowed without the ledger, so that it counts whether or not its report follows. A call without an id
/// cannot be recognised when it is reported, and is kept then. Returns whether it is kept.
fn keep(acting: &ActingCall<'_>, request: &Request) -> bool {
    let can_be_kept = request.guard.is_none() && acting.id.tool_use.is_some();
    can_be_kept && kept::keep_finished(&Finished::of(acting, None), request).is_ok()
}

/// The judgement with the ledger. The client is asked outside of the transaction, which then begins anew.
fn with_ledger(
    acting: &mut ActingCall<'_>,
    history: History<'_>,
    client: Option<&ClientCall<'_>>,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Result<Judgement> {
    let Some(client) = client else { return previewed(acting, history, request, warnings) };
    // A hook on the agent's side sends its request again if it has lost the answer. Another hook with the same call is
    // another request: it needs its own place, and its own approval.
    let id = request.agent.request_id().filter(|_| acting.id.tool_use.is_some());
    let needs_digest = id.is_some() || !acting.installation.policy.ask.is_empty();
    let digest = if needs_digest { (client.digest)() } else { None };
    let facts = ClientFacts::new(id, digest);
    loop {
        match committed(acting, history, &facts, &request.environment, warnings)? {
            Committed::Judged(judgement) => return Ok(judgement),
            Committed::Needed(needed) => facts.learn(needed, client),
        }
    }
}

/// The judgement that a commit would give now.
fn previewed(
    acting: &mut ActingCall<'_>,
    history: History<'_>,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Result<Judgement> {
    let book = Existing::open(&request.ledger)?;
    acting.now = book.now(acting.now)?;
    let (acting, at_terminal) = (&*acting, request.mode == Some(Mode::Interactive));
    let ask = |reasons: &[Reason]| {
        let would_ask = asking::would_ask(reasons, &acting.installation.policy);
        Ok(match asking::not_whole(acting, at_terminal) {
            _ if !would_ask => AfterDenial::Denied(None),
            Some(reason) => AfterDenial::Denied(Some(reason)),
            None => AfterDenial::Asked { question: None, at_terminal, notice: None },
        })
    };
    let decided = decided(acting, &book, history, request, &ask)?;
    if let Rest::LostRows(loss) = decided.rest {
        return Ok(Judgement::fail_closed(acting, &loss));
    }
    warnings.extend(decided.lost.map(Warning::LedgerLost));
    Ok(Judgement::of(decided.verdict, Unrecorded::Nothing))
}

/// What a transaction has resulted in.
enum Committed {
    /// A judgement.
    Judged(Judgement),
    /// Nothing: the client has to be asked first.
    Needed(Needed),
}

/// The judgement in one transaction.
fn committed(
    acting: &mut ActingCall<'_>,
    history: History<'_>,
    client: &ClientFacts<'_>,
    environment: &Environment,
    warnings: &mut Vec<Warning>,
) -> Result<Committed> {
    let mut ledger = Ledger::open(&environment.ledger)?;
    // Questions have limits of their own: what may be asked excludes all other calls.
    let scope = if acting.installation.policy.ask.is_empty() {
        Scope::Of { budgets: history.keys, call: Some(acting.id) }
    } else {
        Scope::All
    };
    let change = ledger.change_in(scope)?;
    acting.now = change.now(acting.now);
    let acting = &*acting;
    let policy = &acting.installation.policy;
    let digest = client.digest.as_deref();
    let own = client.request.zip(digest).map(|(id, digest)| HookRequest { id, call: acting.id, digest });
    if let Some(own) = &own
        && change.is_allowed(own, acting.now)?
    {
        return Ok(Committed::Judged(Judgement::of(Verdict::Silent, Unrecorded::Nothing)));
    }
    let ask = |reasons: &[Reason]| asking::outcome(&change, acting, reasons, client, environment);
    let Decided { verdict, rest, reservations, uses, remark, notice, snapshot, lost } =
        decided(acting, &change, history, environment, &ask)?;
    Ok(Committed::Judged(match rest {
        Rest::Needed(needed) => return Ok(Committed::Needed(needed)),
        Rest::Denied => Judgement::of(verdict, Unrecorded::Decision),
        Rest::LostRows(loss) => Judgement::fail_closed(acting, &loss),
        Rest::Exhausted => {
            drop(change);
            let unrecorded = Unrecorded::Exhausted(snapshot, Box::new(ledger), lost.is_some());
            Judgement::of(verdict, unrecorded)
        }
        Rest::Rows => {
            change.reserve(acting.id, &reservations, acting.now)?;
            if let Some(own) = own.as_ref().filter(|_| verdict == Verdict::Silent) {
                change.note_allowed(own, acting.now)?;
            }
            if let Some(length) = policy.exclusive {
                change.take_leases(acting.id.session, &reservations, length.delta(), acting.now)?;
            }
            grants::use_all(&change, acting, &uses)?;
            audit::record(&change, acting, &verdict, &snapshot, remark.as_deref(), environment)?;
            let by = (policy, acting.id.session);
            warnings.extend(lost::commit(change, lost, by, environment, acting.now)?);
            // A notice that is not delivered now waits for the next flush.
            warnings.extend(notice.and_then(|id| notify::hand_over(environment, id)));
            Judgement { verdict, unrecorded: Unrecorded::Nothing, remark }
        }
    }))
}

/// Records that the guard failed `open` or `closed`, and notifies the operators.
pub(super) fn report(
    acting: &ActingCall<'_>,
    way: &str,
    text: &dyn Display,
    request: &Request,
) -> Option<Warning> {
    let (actions, services) = (acting.evidence(), audit::services(acting));
    let decision = UnrecordedDecision { verdict: format!("fail-{way}"), actions, services };
    let message = format!("Guard failed {way}: {text}");
    failures::report(request, acting.id.session, &message, Some(decision), acting.now)
}

/// Whether a `cooldown.json` that cannot be read stops the actions: `policy.on_failure` is closed, and the file is there.
fn spoils_history(error: &CooldownFileError, acting: &ActingCall<'_>) -> bool {
    acting.installation.policy.on_failure == OnFailure::Closed
        && !matches!(error, CooldownFileError::Missing(_) | CooldownFileError::Empty(_))
}

/// The usage in the ledger, read without writing to it, and the time of the ledger; empty if there is no ledger yet.
fn usage(
    acting: &ActingCall<'_>,
    history: History<'_>,
    request: &Request,
) -> Result<(Snapshot, DateTime<Utc>)> {
    let book = Existing::open(&request.ledger)?;
    let now = book.now(acting.now)?;
    Ok((history.usage(&book, &acting.installation.policy, now)?, now))
}
