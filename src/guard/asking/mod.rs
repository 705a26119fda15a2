//! Questions to a person: whether a denied call is asked about, and what the answer of a person allows.

pub mod grants;
pub mod subject;

use std::cell::OnceCell;

use chrono::{DateTime, Utc};

use super::acting::ActingCall;
use crate::guard::approval::statement::is_answer_to;
use crate::machine::client::release::Asking;
use crate::machine::environment::Environment;
use crate::machine::notify;
use opsctl_ledger::{Change, Result};
use opsctl_policy::model::display::relative_time::timestamp;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::question::{AskedCall, NewQuestion, SignedAnswer};
use opsctl_policy::model::records::verdict::Reason;
use opsctl_policy::model::rights::ask::Ask;
use opsctl_policy::model::rights::policy::{Policy, Tier};
use opsctl_policy::rules::ask::{self, Asked, Known, OfCall, Step, asks, step};
use opsctl_policy::rules::tier;
use opsctl_policy::texts::notices::{forged_answer, question_asked};

/// What only the client knows of a call. It may take seconds to answer.
pub struct ClientCall<'a> {
    /// SHA-256 of the exact call in hexadecimal; `None` if it cannot be determined.
    pub digest: &'a dyn Fn() -> Option<String>,
    /// The last words of the agent before the call.
    pub words: &'a dyn Fn() -> Option<String>,
    /// How the client lets a person be asked.
    pub asking: &'a dyn Fn() -> Asking,
}

/// What the client has answered. A transaction gets this and no `Request`, so that it cannot wait for the agent's side: if it
/// needs more, it ends, the client is asked, and a new one begins.
pub struct ClientFacts<'a> {
    /// The id of the request; `None` if none is stated.
    pub request: Option<&'a str>,
    /// SHA-256 of the exact call; `None` if it cannot be determined or is not needed.
    pub digest: Option<String>,
    asking: OnceCell<Asking>,
    words: OnceCell<Option<String>>,
}

/// What a transaction needs to know of the client.
#[derive(Clone, Copy)]
pub enum Needed {
    /// How it lets a person be asked.
    Asking,
    /// The last words of the agent.
    Words,
}

impl<'a> ClientFacts<'a> {
    /// What is known before the client is asked.
    pub const fn new(request: Option<&'a str>, digest: Option<String>) -> Self {
        Self { request, digest, asking: OnceCell::new(), words: OnceCell::new() }
    }

    /// Asks the client.
    pub fn learn(&self, needed: Needed, client: &ClientCall<'_>) {
        match needed {
            Needed::Asking => drop(self.asking.set((client.asking)())),
            Needed::Words => drop(self.words.set((client.words)())),
        }
    }
}

/// What becomes of a denied call.
pub enum AfterDenial {
    /// A person may be asked, and this is not known.
    Needed(Needed),
    /// It stays denied; this is another reason, if there is one.
    Denied(Option<Reason>),
    /// It stays denied: an answer is not genuine. An event and a notice are written.
    Forged(Reason, Option<i64>),
    /// A person is asked.
    Asked {
        /// The number of the question; `None` in a preview.
        question: Option<i64>,
        /// Whether the client asks the person at the terminal.
        at_terminal: bool,
        /// The notice to deliver.
        notice: Option<i64>,
    },
    /// A person has approved it: the question and the answer.
    Approved(i64, SignedAnswer),
}

/// What becomes of a call with these objections. Writes within the transaction, which the caller commits.
pub fn outcome(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    reasons: &[Reason],
    client: &ClientFacts<'_>,
    environment: &Environment,
) -> Result<AfterDenial> {
    let policy = &acting.installation.policy;
    let Some(asks) = asks(reasons, policy) else { return Ok(AfterDenial::Denied(None)) };
    let Some(call) = asked_call(acting, client) else { return Ok(AfterDenial::Denied(None)) };
    let at_terminal = match client.asking.get() {
        None => return Ok(AfterDenial::Needed(Needed::Asking)),
        Some(Asking::Defers) => false,
        Some(Asking::AtTerminal) => true,
        Some(Asking::Cannot) => return Ok(AfterDenial::Denied(None)),
        Some(Asking::Subagent) => return Ok(AfterDenial::Denied(Some(ask::of_subagent()))),
    };
    let (now, has_target) = (acting.now, notify::has_target(environment));
    let known = known(change, &call, &asks, policy, now)?;
    let step = match step(&known, &call.command) {
        // The person at the terminal answers at once, so no question stays open.
        Step::Deny(_) if at_terminal && known.of_call.is_none() => Step::Ask,
        step => step,
    };
    match step {
        Step::Deny(reason) => Ok(AfterDenial::Denied(Some(reason))),
        Step::Forged(id, reason) => {
            let message =
                format!("Answer to question {id} rejected: its signature is not valid for the call");
            let event = NewEvent { level: Level::Critical, service: call.service.clone(), message };
            change.add_event_once(Some(&call.session), &event, now)?;
            let notice = forged_answer(id, &call.session, now);
            Ok(AfterDenial::Forged(reason, change.raise(Some(&call.session), &notice, has_target, now)?))
        }
        Step::Wait(id) => Ok(AfterDenial::Asked { question: Some(id), at_terminal, notice: None }),
        Step::Use(id) => {
            let answer = change.answer_of(id)?;
            match answer {
                Some(answer) if change.use_question(id, now)? => Ok(AfterDenial::Approved(id, answer)),
                Some(_) | None => Ok(AfterDenial::Denied(Some(ask::used(id)))),
            }
        }
        Step::Ask => {
            if let Some(reason) = not_whole(acting, at_terminal) {
                return Ok(AfterDenial::Denied(Some(reason)));
            }
            let Some(words) = client.words.get().cloned() else {
                return Ok(AfterDenial::Needed(Needed::Words));
            };
            let question = NewQuestion {
                call,
                reasons: reasons.iter().map(|reason| reason.text.clone()).collect(),
                tier: acting.tier.map(Tier::number),
                words,
                asked_at: now,
                expires_at: now + ask::timeout(&asks).delta(),
                at_terminal,
            };
            let id = change.ask(&question)?;
            let asked = |notice| AfterDenial::Asked { question: Some(id), at_terminal, notice };
            if at_terminal {
                return Ok(asked(None));
            }
            let contact: Vec<String> = asks.iter().flat_map(|ask| ask.contact.clone()).collect();
            let notice = question_asked(id, &question, &contact, environment.desk_url.as_deref());
            change.add_event(Some(&question.call.session), &event(id, &question), now)?;
            let notice = change.raise(Some(&question.call.session), &notice, has_target, now)?;
            Ok(asked(notice))
        }
    }
}

/// Who has approved a call: for the audit and for the model.
pub fn approved(id: i64, answer: &SignedAnswer) -> String {
    let note = answer.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("Question {id} was approved by {} at {}{note}", answer.by, timestamp(answer.at))
}

/// Whether these objections would be asked about in a session whose client can ask.
pub fn would_ask(reasons: &[Reason], policy: &Policy) -> bool {
    asks(reasons, policy).is_some()
}

/// Why a person is not asked about a call of which a part would not be shown. At a terminal, the client shows its call.
pub fn not_whole(acting: &ActingCall<'_>, at_terminal: bool) -> Option<Reason> {
    let hides = acting.shown.as_ref()?.hides.filter(|_| !at_terminal);
    hides.map(ask::not_whole)
}

/// The call as a person is asked about it; `None` without a session, an id of the call or a digest.
fn asked_call(acting: &ActingCall<'_>, client: &ClientFacts<'_>) -> Option<AskedCall> {
    let service = acting.actions.iter().find_map(|action| action.service.clone());
    let mut actions: Vec<String> = acting.actions.iter().map(tier::describe).collect();
    actions.dedup();
    Some(AskedCall {
        session: acting.id.session?.to_owned(),
        call: acting.id.tool_use?.to_owned(),
        digest: client.digest.clone()?,
        command: acting.shown.as_ref()?.text.clone(),
        actions,
        service,
    })
}

fn known<'a>(
    change: &Change<'_>,
    call: &AskedCall,
    asks: &[&'a Ask],
    policy: &Policy,
    now: DateTime<Utc>,
) -> Result<Known<'a>> {
    let of_call = match change.question_of_call(&call.session, &call.call, now)? {
        None => None,
        Some(question) => {
            let answer = change.answer_of(question.id)?;
            // An answer about the call as it was asked about says nothing of a call that has changed.
            let is_exact = question.asked_call() == *call;
            let asked = if is_exact { call } else { &question.asked_call() };
            let is_genuine =
                answer.map(|answer| policy.approval_key.is_some_and(|key| is_answer_to(asked, &answer, key)));
            Some(OfCall { question, is_exact, is_genuine })
        }
    };
    let mut asked = Vec::new();
    for ask in asks {
        let (in_session, in_total) = change.questions_since(&call.session, now - ask.window.delta())?;
        asked.push(Asked { ask, in_session, in_total });
    }
    let mut of_session = change.questions_of_session(&call.session, now)?;
    of_session.retain(|question| !question.at_terminal);
    Ok(Known { of_call, of_session, asked })
}

fn event(id: i64, question: &NewQuestion) -> NewEvent {
    let what = subject::in_one_line(&question.call.command, &question.call.actions);
    NewEvent {
        level: Level::Warning,
        service: question.call.service.clone(),
        message: format!("Question {id} to a person: {what}"),
    }
}
