//! Questions to a person, and their signed answers. A state follows from the rows and the time.

use chrono::{DateTime, Utc};

use crate::engine::{Connection, OptionalExtension as _, Result, Row, ToSql, from_row, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::model::records::question::{Answer, NewQuestion, Question, QuestionState, SignedAnswer};

/// The longest text of a question that is stored, in characters.
const TEXT_CHARS: usize = 8_000;

const COLUMNS: &str = "SELECT id, session_id, tool_use_id, digest, command, service, tier, words, asked_at, questions.expires_at,
         at_terminal, answered_by, answered_at, note, questions.agent, actions, reasons, used_at, answer, question_answers.expires_at
     FROM questions LEFT JOIN question_answers ON question_id = id";

const USE: &str = "UPDATE questions SET used_at = ?2 WHERE id = ?1 AND used_at IS NULL";

/// Whether the call of a question was allowed before.
const ALLOWED: &str = "SELECT 1 FROM questions WHERE id = ?1 AND (
         EXISTS (SELECT 1 FROM hook_actions AS action
                 WHERE action.session_id = questions.session_id AND action.tool_use_id = questions.tool_use_id)
         OR EXISTS (SELECT 1 FROM hook_settled AS settled
                    WHERE settled.session_id = questions.session_id AND settled.tool_use_id = questions.tool_use_id)
         OR EXISTS (SELECT 1 FROM hook_decisions AS decision
                    WHERE decision.at >= questions.asked_at AND decision.session_id = questions.session_id
                        AND decision.tool_use_id = questions.tool_use_id AND decision.verdict = 'allow'))";

const ANSWER: &str =
    "SELECT answered_by, answered_at, expires_at, note, signature, answer FROM question_answers
     WHERE question_id = ?1";

/// Selects questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichQuestions {
    /// Those that a person can answer now, oldest first.
    Open,
    /// All, newest first.
    All,
    /// Those with a lower number, newest first.
    Before(i64),
}

impl Change<'_> {
    /// Stores a question. Returns its number.
    pub fn ask(&self, question: &NewQuestion) -> Result<i64> {
        let NewQuestion { call, reasons, tier, words, asked_at, expires_at, at_terminal } = question;
        insert!(self.add into questions {
            session_id: call.session, tool_use_id: call.call, digest: call.digest, command: call.command,
            actions: list(&call.actions), service: call.service,
            reasons: list(&reasons.iter().map(|reason| opsctl_redact::text(reason).into_owned()).collect::<Vec<_>>()),
            tier: tier, words: words.as_deref().map(|words| bounded(&opsctl_redact::text(words))),
            asked_at: time::write(*asked_at), expires_at: time::write(*expires_at), at_terminal: at_terminal,
            agent: self.agent()
        })
    }

    /// The latest questions of a session, at most 100, newest first.
    pub fn questions_of_session(&self, session: &str, now: DateTime<Utc>) -> Result<Vec<Question>> {
        self.read_questions("WHERE session_id = ?1 ORDER BY id DESC LIMIT 100", params![session], now)
    }

    /// How many questions were asked after `since`: in a session, and in all sessions.
    pub fn questions_since(&self, session: &str, since: DateTime<Utc>) -> Result<(u32, u32)> {
        self.query_row(
            "SELECT count(*) FILTER (WHERE session_id = ?1), count(*) FROM questions
                 WHERE asked_at > ?2 AND NOT at_terminal",
            params![session, time::write(since)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// The answer to a question, as it is stored. Its signature is not verified.
    pub fn answer_of(&self, question: i64) -> Result<Option<SignedAnswer>> {
        let answer = self.query_row(ANSWER, params![question], |row| {
            // A name that is not known was not written by opsctl; its signature does not verify.
            let answer = Answer::named(&row.get::<String>(5)?).unwrap_or(Answer::Refuse);
            Ok(from_row!(row => SignedAnswer {
                by, at: moment, expires_at: moment, note, signature; question, answer
            }))
        });
        answer.optional()
    }

    /// Stores an answer. `false` if the question has one already.
    pub fn store_answer(&self, answer: &SignedAnswer) -> Result<bool> {
        let stored = insert!(self.execute into question_answers {
            question_id: answer.question, answer: answer.answer.as_str(), answered_by: answer.by,
            answered_at: time::write(answer.at), expires_at: time::write(answer.expires_at), note: answer.note,
            signature: answer.signature
        }, "ON CONFLICT DO NOTHING");
        stored.map(|rows| rows == 1)
    }

    /// Marks the approval of a question as used. `false` if it was used before: the mark is set, or the audit or a
    /// reservation shows that the call was allowed.
    pub fn use_question(&self, id: i64, now: DateTime<Utc>) -> Result<bool> {
        let allowed = self.exists(ALLOWED, params![id])?;
        Ok(self.execute(USE, params![id, time::write(now)])? == 1 && !allowed)
    }

    /// Marks the question that the client asked at the terminal about this call as used: the call has run.
    pub fn use_terminal_question(&self, session: &str, call: &str, now: DateTime<Utc>) -> Result<bool> {
        let used = self.execute(
            "UPDATE questions SET used_at = ?3
             WHERE session_id = ?1 AND tool_use_id = ?2 AND at_terminal AND used_at IS NULL",
            params![session, call, time::write(now)],
        );
        used.map(|rows| rows > 0)
    }
}

impl Ledger {
    /// Questions, at most `limit`.
    pub fn questions(&self, which: WhichQuestions, limit: u32, now: DateTime<Utc>) -> Result<Vec<Question>> {
        let now_text = time::write(now);
        match which {
            WhichQuestions::Open => self.read_questions(
                "WHERE NOT at_terminal AND answer IS NULL AND used_at IS NULL AND questions.expires_at > ?1
                 ORDER BY questions.expires_at, id LIMIT ?2",
                params![now_text, limit],
                now,
            ),
            WhichQuestions::Before(id) => {
                self.read_questions("WHERE id < ?2 ORDER BY id DESC LIMIT ?1", params![limit, id], now)
            }
            WhichQuestions::All => self.read_questions("ORDER BY id DESC LIMIT ?1", params![limit], now),
        }
    }
}

/// A ledger and a change of it read questions in one way.
impl Connection {
    /// The question of this number.
    pub fn question(&self, id: i64, now: DateTime<Utc>) -> Result<Option<Question>> {
        self.read_questions("WHERE id = ?1", params![id], now).map(|mut found| found.pop())
    }

    /// The latest question about a call of a session, by the client's id of the call.
    pub fn question_of_call(
        &self,
        session: &str,
        call: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Question>> {
        let which = "WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id DESC LIMIT 1";
        self.read_questions(which, params![session, call], now).map(|mut found| found.pop())
    }

    fn read_questions(
        &self,
        which: &str,
        values: &[&dyn ToSql],
        now: DateTime<Utc>,
    ) -> Result<Vec<Question>> {
        self.query(&format!("{COLUMNS} {which}"), values, |row| question(row, now))
    }
}

fn question(row: &Row<'_>, now: DateTime<Utc>) -> Result<Question> {
    let texts = |column| -> Result<Vec<String>> {
        Ok(serde_json::from_str(&row.get::<String>(column)?).unwrap_or_default())
    };
    let is_used = row.get::<Option<String>>(17)?.is_some();
    let answer: Option<String> = row.get(18)?;
    let state = match answer.as_deref().and_then(Answer::named) {
        _ if is_used => QuestionState::Used,
        Some(Answer::Refuse) => QuestionState::Refused,
        Some(Answer::Approve) if row.moment(19)? > now => QuestionState::Approved,
        // A time that cannot be read has passed.
        None if answer.is_none() && row.moment(9)? > now => QuestionState::Open,
        Some(Answer::Approve) | None => QuestionState::Expired,
    };
    Ok(from_row!(row => Question {
        id, session, call, digest, command, service, tier, words, asked_at: moment, expires_at: moment, at_terminal,
        answered_by, answered_at: time, note, agent;
        actions: texts(15)?,
        reasons: texts(16)?,
        state
    }))
}

/// A list of texts as a JSON list.
fn list(texts: &[String]) -> String {
    serde_json::to_string(texts).unwrap_or_else(|_| "[]".to_owned())
}

fn bounded(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}
