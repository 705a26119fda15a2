//! Answers of persons to questions, and budgets that they give in advance: the one way for verbs and for the desk.
//!
//! Only a process that can read the private key answers. Hooks verify the signature with `policy.approval_key`.

pub mod desk_key;
pub mod key;
pub mod link;
pub mod notice_link;
pub mod rotation;
pub mod signed_head;
pub mod statement;

use chrono::{DateTime, TimeDelta, Utc};
use ring::signature::Ed25519KeyPair;

use crate::guard::asking::subject;
use crate::machine::environment::Environment;
use crate::machine::installation;
pub use key::KeyError;
use opsctl_ledger::records::decisions::OperatorAct;
use opsctl_ledger::{Ledger, LedgerError, Location};
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::question::{Answer, Grant, Question, QuestionState, SignedAnswer};
use opsctl_policy::model::rights::public_key::PublicKey;

/// An approval can be used for this long after it was given.
pub const APPROVAL_LIFE: TimeDelta = TimeDelta::hours(1);

/// The longest note, in characters.
const NOTE_CHARS: usize = 1_000;

/// The longest name of a person, in characters.
const NAME_CHARS: usize = 100;

/// Why an answer or a grant is not given. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum ApprovalError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("no question {0}; `opsctl approvals --all` lists them")]
    Unknown(i64),
    #[error("question {id} is {state} already: {by} answered it", state = .state.as_str())]
    Answered { id: i64, state: QuestionState, by: String },
    #[error("question {0} has expired; the session has continued without an answer")]
    Expired(i64),
    #[error("question {0} is asked at the terminal of its session; only the person there can answer it")]
    AtTerminal(i64),
    #[error(
        "policy.approval_key is not set, so no hook accepts an answer: write `approval_key: {0}` below `policy` in hosts.yaml, and render it"
    )]
    NoPublicKey(PublicKey),
    #[error(
        "policy.approval_key is not the public part of this key, so no hook accepts its answers: write `approval_key: {0}` below `policy` in hosts.yaml and render it, or name the right key with CLAUDEOPS_APPROVAL_KEY"
    )]
    OtherKey(PublicKey),
    #[error("no ledger at {0}; name it with CLAUDEOPS_DB_PATH or CLAUDEOPS_DB_URL")]
    NoLedger(Box<Location>),
}

/// Answers a question: signs and stores the answer of `who`. Returns the question in its new state.
///
/// Nothing runs because of it: the hook verifies the answer when the session makes the call again.
pub fn answer(
    environment: &Environment,
    id: i64,
    answer: Answer,
    note: Option<&str>,
    who: &str,
    now: DateTime<Utc>,
) -> Result<Question, ApprovalError> {
    let key = signing_key(environment)?;
    if !Ledger::exists(&environment.ledger)? {
        return Err(ApprovalError::NoLedger(Box::new(environment.ledger.clone())));
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    let now = change.now(now);
    let question = change.question(id, now)?.ok_or(ApprovalError::Unknown(id))?;
    if question.at_terminal {
        return Err(ApprovalError::AtTerminal(id));
    }
    if let Some(by) = question.answered_by {
        return Err(ApprovalError::Answered { id, state: question.state, by });
    }
    if question.state != QuestionState::Open {
        return Err(ApprovalError::Expired(id));
    }
    let mut signed = SignedAnswer {
        question: id,
        answer,
        by: name(who),
        at: now,
        expires_at: now + APPROVAL_LIFE,
        note: note.and_then(text),
        signature: String::new(),
    };
    signed.signature = statement::sign_answer(&key, &question.asked_call(), &signed);
    if !change.store_answer(&signed)? {
        let by = change.answer_of(id)?.map(|answer| answer.by).unwrap_or_default();
        return Err(ApprovalError::Answered { id, state: question.state, by });
    }
    change.add_event(Some(&question.session), &event(&question, &signed), now)?;
    let verb = if answer == Answer::Approve { "approve" } else { "refuse" };
    let act = OperatorAct {
        person: &signed.by,
        command: &format!("opsctl {verb} {id}"),
        services: "",
        session: None,
    };
    change.note_operator(&act, now)?;
    let answered = change.question(id, now)?.ok_or(ApprovalError::Unknown(id))?;
    change.commit()?;
    Ok(answered)
}

/// A budget to give in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGrant<'a> {
    /// The service.
    pub service: &'a str,
    /// `restart` or `redeployment`.
    pub kind: &'a str,
    /// The number of actions.
    pub count: u32,
    /// For how long it can be used.
    pub life: TimeDelta,
    /// A note, which the model reads when the grant is used.
    pub note: Option<&'a str>,
}

/// Gives a budget in advance: signs and stores the grant of `who`.
pub fn grant(
    environment: &Environment,
    new: NewGrant<'_>,
    who: &str,
    now: DateTime<Utc>,
) -> Result<Grant, ApprovalError> {
    let key = signing_key(environment)?;
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    let now = change.now(now);
    let grant = Grant {
        id: 0,
        service: new.service.to_owned(),
        kind: new.kind.to_owned(),
        count: new.count,
        used: 0,
        by: name(who),
        at: now,
        expires_at: now + new.life,
        note: new.note.and_then(text),
        signature: String::new(),
    };
    let grant =
        change.add_grant(grant, |grant| Ok::<_, ApprovalError>(statement::sign_grant(&key, grant)))?;
    let message = format!(
        "{} granted {} {}s of {}{}",
        grant.by,
        grant.count,
        grant.kind,
        grant.service,
        noted(grant.note.as_deref())
    );
    let event = NewEvent { level: Level::Info, service: Some(grant.service.clone()), message };
    change.add_event(None, &event, now)?;
    change.commit()?;
    Ok(grant)
}

/// The private key, if its public part is that of the policy in force.
fn signing_key(environment: &Environment) -> Result<Ed25519KeyPair, ApprovalError> {
    let pair = key::load(&environment.approval_key_file())?;
    let public = key::public(&pair);
    let policy = installation::in_force(environment, &mut vec![]).installation.policy;
    match policy.approval_key {
        Some(known) if known == public => Ok(pair),
        Some(_) => Err(ApprovalError::OtherKey(public)),
        None => Err(ApprovalError::NoPublicKey(public)),
    }
}

fn event(question: &Question, answer: &SignedAnswer) -> NewEvent {
    let done = match answer.answer {
        Answer::Approve => "approved",
        Answer::Refuse => "refused",
    };
    let what = subject::in_one_line(&question.command, &question.actions);
    let message =
        format!("Question {} {done} by {}: {what}{}", question.id, answer.by, noted(answer.note.as_deref()));
    NewEvent { level: Level::Info, service: question.service.clone(), message }
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!(" ({note})")).unwrap_or_default()
}

/// A name of a person: one line without control characters.
fn name(who: &str) -> String {
    let name: String = who.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
    if name.trim().is_empty() { "unknown".to_owned() } else { name.trim().to_owned() }
}

/// A note: one line without secrets; `None` if it is empty.
fn text(note: &str) -> Option<String> {
    let line: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Cut after that: a secret that is cut may not be recognised.
    let line: String = opsctl_redact::text(line.trim()).chars().take(NOTE_CHARS).collect();
    (!line.is_empty()).then_some(line)
}
