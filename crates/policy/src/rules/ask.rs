//! Questions to a person: which denials are asked about, and what becomes of a call that one is about.

use crate::model::display::relative_time::timestamp as time;
use crate::model::records::question::{Question, QuestionState};
use crate::model::records::verdict::Reason;
use crate::model::rights::ask::Ask;
use crate::model::rights::policy::{Policy, Window};

/// The entries of `policy.ask` for these objections. `None` unless there is one for each: an objection that is not asked
/// about denies the call. Nothing is asked without a key that verifies the answer.
pub fn asks<'a>(reasons: &[Reason], policy: &'a Policy) -> Option<Vec<&'a Ask>> {
    policy.approval_key?;
    let mut found: Vec<&Ask> = Vec::new();
    for reason in reasons {
        let topic = reason.topic.as_ref()?;
        let ask = policy.ask.iter().find(|ask| ask.topic == *topic)?;
        if !found.contains(&ask) {
            found.push(ask);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// How long a question about these topics stays open: the shortest timeout.
pub fn timeout(asks: &[&Ask]) -> Window {
    let shortest = asks.iter().map(|ask| ask.timeout).min_by_key(|timeout| timeout.delta());
    shortest.unwrap_or(Window::minutes(30))
}

/// How many questions were asked within the window of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The entry.
    pub ask: &'a Ask,
    /// Those of the session.
    pub in_session: u32,
    /// Those of all sessions.
    pub in_total: u32,
}

/// What the ledger contains about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known<'a> {
    /// The latest question about this call of this session, by the client's id of the call.
    pub of_call: Option<OfCall>,
    /// Earlier questions of this session, newest first.
    pub of_session: Vec<Question>,
    /// The numbers of earlier questions.
    pub asked: Vec<Asked<'a>>,
}

/// A question about this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfCall {
    /// The question.
    pub question: Question,
    /// Whether it is about exactly this call: the digest is the one of the call.
    pub is_exact: bool,
    /// Whether the signature of its answer verifies for this call; `None` without an answer.
    pub is_genuine: Option<bool>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A new question.
    Ask,
    /// Its question is still open.
    Wait(i64),
    /// Its approval is used.
    Use(i64),
    /// It is denied, for the objections and this reason.
    Deny(Reason),
    /// It is denied: this question has an answer that no person has given.
    Forged(i64, Reason),
}

/// What becomes of a call whose objections are all asked about. `command` is the command as a person is shown it.
pub fn step(known: &Known<'_>, command: &str) -> Step {
    if let Some(of_call) = &known.of_call {
        return step_of_call(of_call);
    }
    // The client keeps one deferred call of a session, so an earlier one would be lost.
    if let Some(open) = known.of_session.iter().find(|question| question.state == QuestionState::Open) {
        return deny(format!(
            "A person would be asked about this call, but question {} of this session is still open, and a session can \
             ask one question at a time. Wait for its answer, or do without this command.",
            open.id
        ));
    }
    let is_same = |question: &&Question| {
        question.command == command
            && matches!(question.state, QuestionState::Refused | QuestionState::Expired)
    };
    if let Some(earlier) = known.of_session.iter().find(is_same) {
        return deny(closed(earlier));
    }
    for Asked { ask, in_session, in_total } in &known.asked {
        let window = ask.window;
        if *in_session >= ask.limit {
            return deny(format!(
                "A person would be asked about this call, but this session has asked {in_session} questions in the last \
                 {window}, and {} are allowed. Continue without this command, and report what is needed.",
                ask.limit
            ));
        }
        if *in_total >= ask.total {
            return deny(format!(
                "A person would be asked about this call, but {in_total} questions were asked in the last {window}, and \
                 {} are allowed. Continue without this command, and report what is needed.",
                ask.total
            ));
        }
    }
    Step::Ask
}

/// Why a call of a subagent is denied instead of asked about.
pub fn of_subagent() -> Reason {
    reason(
        "A person would be asked about this call, but the calls of subagents cannot wait for an answer. The main agent \
         may make it."
            .to_owned(),
    )
}

/// Why a call is denied of which a person would not see everything; `why` states the part and the remedy.
pub fn not_whole(why: &str) -> Reason {
    reason(format!("A person would be asked about this call, but could not see all of it: {why}."))
}

/// Why a call is denied whose approval was used.
pub fn used(id: i64) -> Reason {
    reason(format!(
        "The approval of question {id} was used: it allows one call, once. Make a new call if it is needed again."
    ))
}

fn step_of_call(OfCall { question, is_exact, is_genuine }: &OfCall) -> Step {
    let id = question.id;
    // An answer that no person has given decides nothing, approval or refusal.
    if *is_genuine == Some(false) {
        let what =
            if *is_exact { "has an answer" } else { "was asked about another command, and has an answer" };
        return Step::Forged(
            id,
            reason(format!(
                "Question {id} {what} whose signature is not valid for this call. The operators are notified. Continue \
                 without this command, and report it."
            )),
        );
    }
    if !is_exact {
        return deny(format!(
            "Question {id} was asked about this call, but the command, its folder or a file that it runs has changed \
             since. Make a new call if it is still needed."
        ));
    }
    match question.state {
        QuestionState::Open => Step::Wait(id),
        QuestionState::Approved => Step::Use(id),
        QuestionState::Used => Step::Deny(used(id)),
        QuestionState::Refused | QuestionState::Expired => deny(closed(question)),
    }
}

/// Why a question that was refused or has expired is not asked again.
fn closed(question: &Question) -> String {
    let id = question.id;
    let note = question.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let advice =
        "It is not asked again in this session. Continue without this command, and report what is needed.";
    match (question.state, &question.answered_by) {
        (QuestionState::Expired, None) => {
            format!("No person answered question {id} by {}. {advice}", time(question.expires_at))
        }
        (QuestionState::Expired, Some(by)) => {
            format!("{by} approved question {id}, but the approval has expired unused. {advice}")
        }
        (_, by) => {
            let by = by.as_deref().unwrap_or("A person");
            format!("{by} refused question {id}{note}. {advice}")
        }
    }
}

fn deny(text: String) -> Step {
    Step::Deny(reason(text))
}

const fn reason(text: String) -> Reason {
    Reason::of("ask", text)
}
