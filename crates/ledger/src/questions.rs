//! Questions to a person, and their signed answers. A state follows from the rows and the time.

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::engine;
use super::engine::{Connection, OptionalExtension as _, Row, ToSql, params};
use super::error::LedgerError;
use super::{migrate, time};
use crate::model::question::{Answer, NewQuestion, Question, QuestionState, SignedAnswer};
use crate::redact;

/// The longest text of a question that is stored, in characters.
const TEXT_CHARS: usize = 8_000;

const COLUMNS: &str = "SELECT id, session_id, tool_use_id, digest, command, actions, service, reasons, tier, words, asked_at,
         questions.expires_at, at_terminal, used_at, answer, answered_by, answered_at, question_answers.expires_at, note, questions.agent
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
    "SELECT answer, answered_by, answered_at, expires_at, note, signature FROM question_answers
     WHERE question_id = ?1";

/// Selects questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichQuestions {
    /// Those that a person can answer now, oldest first.
    Open,
    /// All, newest first.
    All,
}

impl Change<'_> {
    /// Stores a question. Returns its number.
    pub fn ask(&self, question: &NewQuestion) -> Result<i64, LedgerError> {
        self.try_ask(question).map_err(|cause| self.error(cause))
    }

    fn try_ask(&self, question: &NewQuestion) -> engine::Result<i64> {
        let NewQuestion { call, reasons, tier, words, asked_at, expires_at, at_terminal } = question;
        self.transaction.query_row(
            "INSERT INTO questions (session_id, tool_use_id, digest, command, actions, service, reasons, tier, words,
                                    asked_at, expires_at, at_terminal, agent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) RETURNING id",
            params![
                call.session,
                call.call,
                call.digest,
                call.command,
                list(&call.actions),
                call.service,
                list(&reasons.iter().map(|reason| redact::text(reason).into_owned()).collect::<Vec<_>>()),
                tier,
                words.as_deref().map(|words| bounded(&redact::text(words))),
                time::write(*asked_at),
                time::write(*expires_at),
                at_terminal,
                self.agent(),
            ],
            |row| row.get(0),
        )
    }

    /// The question of this number.
    pub fn question(&self, id: i64, now: DateTime<Utc>) -> Result<Option<Question>, LedgerError> {
        one(&self.transaction, "WHERE id = ?1", params![id], now).map_err(|cause| self.error(cause))
    }

    /// The latest question about a call of a session, by the client's id of the call.
    pub fn question_of_call(
        &self,
        session: &str,
        call: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Question>, LedgerError> {
        let which = "WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id DESC LIMIT 1";
        one(&self.transaction, which, params![session, call], now).map_err(|cause| self.error(cause))
    }

    /// The latest questions of a session, at most 100, newest first.
    pub fn questions_of_session(
        &self,
        session: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<Question>, LedgerError> {
        many(&self.transaction, "WHERE session_id = ?1 ORDER BY id DESC LIMIT 100", params![session], now)
            .map_err(|cause| self.error(cause))
    }

    /// How many questions were asked after `since`: in a session, and in all sessions.
    pub fn questions_since(&self, session: &str, since: DateTime<Utc>) -> Result<(u32, u32), LedgerError> {
        self.transaction
            .query_row(
                "SELECT count(*) FILTER (WHERE session_id = ?1), count(*) FROM questions
                 WHERE asked_at > ?2 AND NOT at_terminal",
                params![session, time::write(since)],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|cause| self.error(cause))
    }

    /// The answer to a question, as it is stored. Its signature is not verified.
    pub fn answer_of(&self, question: i64) -> Result<Option<SignedAnswer>, LedgerError> {
        answer_of(&self.transaction, question).map_err(|cause| self.error(cause))
    }

    /// Stores an answer. `false` if the question has one already.
    pub fn store_answer(&self, answer: &SignedAnswer) -> Result<bool, LedgerError> {
        let stored = self.transaction.execute(
            "INSERT INTO question_answers
                 (question_id, answer, answered_by, answered_at, expires_at, note, signature)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            params![
                answer.question,
                answer.answer.as_str(),
                answer.by,
                time::write(answer.at),
                time::write(answer.expires_at),
                answer.note,
                answer.signature,
            ],
        );
        stored.map(|rows| rows == 1).map_err(|cause| self.error(cause))
    }

    /// Marks the approval of a question as used. `false` if it was used before: the mark is set, or the audit or a
    /// reservation shows that the call was allowed.
    pub fn use_question(&self, id: i64, now: DateTime<Utc>) -> Result<bool, LedgerError> {
        let mark = || {
            let allowed = self.transaction.prepare(ALLOWED)?.exists([id])?;
            Ok(self.transaction.execute(USE, params![id, time::write(now)])? == 1 && !allowed)
        };
        mark().map_err(|cause| self.error(cause))
    }

    /// Marks the question that the client asked at the terminal about this call as used: the call has run.
    pub fn use_terminal_question(
        &self,
        session: &str,
        call: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, LedgerError> {
        let used = self.transaction.execute(
            "UPDATE questions SET used_at = ?3
             WHERE session_id = ?1 AND tool_use_id = ?2 AND at_terminal AND used_at IS NULL",
            params![session, call, time::write(now)],
        );
        used.map(|rows| rows > 0).map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// Questions, at most `limit`; none in a ledger of an older release.
    pub fn questions(
        &self,
        which: WhichQuestions,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Vec<Question>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let now_text = time::write(now);
            match which {
                WhichQuestions::Open => many(
                    &self.connection,
                    "WHERE NOT at_terminal AND answer IS NULL AND used_at IS NULL AND questions.expires_at > ?1
                     ORDER BY id LIMIT ?2",
                    params![now_text, limit],
                    now,
                ),
                WhichQuestions::All => {
                    many(&self.connection, "ORDER BY id DESC LIMIT ?1", params![limit], now)
                }
            }
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The question of this number.
    pub fn question(&self, id: i64, now: DateTime<Utc>) -> Result<Option<Question>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(None);
            }
            one(&self.connection, "WHERE id = ?1", params![id], now)
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The latest question about a call of a session, by the client's id of the call.
    pub fn question_of_call(
        &self,
        session: &str,
        call: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Question>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(None);
            }
            let which = "WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id DESC LIMIT 1";
            one(&self.connection, which, params![session, call], now)
        };
        look().map_err(|cause| self.error(cause))
    }
}

fn one(
    connection: &Connection,
    which: &str,
    values: &[&dyn ToSql],
    now: DateTime<Utc>,
) -> engine::Result<Option<Question>> {
    let read = |row: &Row<'_>| question(row, now);
    connection.prepare(&format!("{COLUMNS} {which}"))?.query_row(values, read).optional()
}

fn many(
    connection: &Connection,
    which: &str,
    values: &[&dyn ToSql],
    now: DateTime<Utc>,
) -> engine::Result<Vec<Question>> {
    let read = |row: &Row<'_>| question(row, now);
    connection.prepare(&format!("{COLUMNS} {which}"))?.query_map(values, read)?.collect()
}

fn answer_of(connection: &Connection, question: i64) -> engine::Result<Option<SignedAnswer>> {
    let read = |row: &Row<'_>| {
        let answer: String = row.get(0)?;
        let at = |column| row.get::<String>(column).map(|text| time::read(&text).unwrap_or_default());
        Ok(SignedAnswer {
            question,
            // A name that is not known was not written by opsctl; its signature does not verify.
            answer: Answer::named(&answer).unwrap_or(Answer::Refuse),
            by: row.get(1)?,
            at: at(2)?,
            expires_at: at(3)?,
            note: row.get(4)?,
            signature: row.get(5)?,
        })
    };
    connection.query_row(ANSWER, [question], read).optional()
}

fn question(row: &Row<'_>, now: DateTime<Utc>) -> engine::Result<Question> {
    let at = |column| -> engine::Result<Option<DateTime<Utc>>> {
        Ok(row.get::<Option<String>>(column)?.as_deref().and_then(time::read))
    };
    let texts = |column| -> engine::Result<Vec<String>> {
        Ok(serde_json::from_str(&row.get::<String>(column)?).unwrap_or_default())
    };
    // A time that cannot be read has passed.
    let expires_at = at(11)?.unwrap_or_default();
    let answer: Option<String> = row.get(14)?;
    let is_used = row.get::<Option<String>>(13)?.is_some();
    let state = match answer.as_deref().and_then(Answer::named) {
        _ if is_used => QuestionState::Used,
        Some(Answer::Refuse) => QuestionState::Refused,
        Some(Answer::Approve) if at(17)?.is_some_and(|until| until > now) => QuestionState::Approved,
        None if answer.is_none() && expires_at > now => QuestionState::Open,
        Some(Answer::Approve) | None => QuestionState::Expired,
    };
    Ok(Question {
        id: row.get(0)?,
        session: row.get(1)?,
        call: row.get(2)?,
        digest: row.get(3)?,
        command: row.get(4)?,
        actions: texts(5)?,
        service: row.get(6)?,
        reasons: texts(7)?,
        tier: row.get(8)?,
        words: row.get(9)?,
        asked_at: at(10)?.unwrap_or_default(),
        expires_at,
        state,
        at_terminal: row.get(12)?,
        answered_by: row.get(15)?,
        answered_at: at(16)?,
        note: row.get(18)?,
        agent: row.get(19)?,
    })
}

/// A list of texts as a JSON list.
fn list(texts: &[String]) -> String {
    serde_json::to_string(texts).unwrap_or_else(|_| "[]".to_owned())
}

fn bounded(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}
