//! The `client_runs` table: the sessions that `opsctl session` started, with outcome and cost.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::engine::{Connection, OptionalExtension as _, Result, Row, Select, from_row, params};
use crate::file::database::{Change, Ledger};
use crate::records::history::Period;
use crate::records::unreported::OVERDUE;
use crate::time;
use opsctl_policy::model::records::session::Chain;
use opsctl_policy::model::rights::policy::{Policy, Tier};

/// A session that is about to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRun {
    /// Its id, also used by hooks and events.
    pub session: String,
    /// The tier that it runs at.
    pub tier: u8,
    /// The model that it was started with.
    pub model: String,
    /// The path of its log; `None` if no log can be written.
    pub log: Option<String>,
    /// The id of the session that handed over to it.
    pub parent: Option<String>,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunEnd {
    /// `completed`, `waiting`, `failed`, `timeout`, `signalled`, `cut_off` or `not_started`.
    pub outcome: String,
    /// What a session that waits needs to go on.
    pub waiting: Option<Waiting>,
    /// The client's exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The cost in US dollars, as estimated by the client, with that of the parts before it was resumed.
    pub cost_usd: Option<f64>,
    /// The number of turns of the model since it was started or resumed; so are the next three.
    pub turns: Option<i64>,
    /// Input tokens, including those read from a cache.
    pub input_tokens: Option<i64>,
    /// Output tokens.
    pub output_tokens: Option<i64>,
    /// Its duration in milliseconds.
    pub duration_ms: i64,
}

/// What a session that waits for a person needs to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The client's id of the call that waits.
    pub call: String,
    /// The SHA-256 of the transcript that was kept.
    pub transcript: String,
}

/// A session that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRun {
    /// Its row.
    pub row: i64,
    /// Its id.
    pub session: String,
    /// Its tier.
    pub tier: u8,
    /// The id of the session that handed over to it.
    pub parent: Option<String>,
    /// What it needs to go on.
    pub waiting: Waiting,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Its id, also used by hooks and events.
    pub session: String,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// The tier that it ran at.
    pub tier: u8,
    /// The model that it was started with.
    pub model: String,
    /// The start time; `None` if it cannot be parsed.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was resumed last.
    #[serde(skip)]
    pub resumed_at: Option<DateTime<Utc>>,
    /// `running`, or an outcome of [`RunEnd`].
    pub outcome: String,
    /// The cost in US dollars, as estimated by the client.
    pub cost_usd: Option<f64>,
    /// The number of turns of the model.
    pub turns: Option<i64>,
    /// Its duration in milliseconds.
    pub duration_ms: Option<i64>,
    /// The chain of hand-overs that it belongs to, if any.
    #[serde(skip)]
    pub chain: Option<Chain>,
    /// Whether a program of the agent's side states all this.
    #[serde(rename = "stated")]
    pub is_stated: bool,
}

/// The time that a session has, after its deadline, to end and to be recorded.
const TO_END: TimeDelta = TimeDelta::minutes(5);

impl Run {
    /// Whether it is still `running` after its deadline: opsctl died before it recorded the end.
    pub fn is_cut_off(&self, policy: &Policy, now: DateTime<Utc>) -> bool {
        let Some(tier) = Tier::from_number(self.tier).filter(|_| self.outcome == "running") else {
            return false;
        };
        self.resumed_at
            .or(self.started_at)
            .is_some_and(|at| now - at > policy.tier(tier).deadline.delta() + TO_END)
    }

    /// Its outcome as people read it.
    pub fn outcome_in_words(&self, policy: &Policy, now: DateTime<Utc>) -> String {
        if self.is_cut_off(policy, now) { "cut off".to_owned() } else { self.outcome.replace('_', " ") }
    }
}

/// A session that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub session: String,
    /// Its tier.
    pub tier: Tier,
}

const WAITING: &str =
    "SELECT id, session_id, tier, parent_session, waiting_call, transcript FROM client_runs";

/// Those that wait for no open question any more.
const ANSWERED: &str = "WHERE outcome = 'waiting' AND NOT EXISTS (
         SELECT 1 FROM questions LEFT JOIN question_answers ON question_id = questions.id
         WHERE questions.session_id = client_runs.session_id AND tool_use_id = waiting_call
             AND answer IS NULL AND questions.expires_at > ?1)
     ORDER BY id";

const COLUMNS: &str =
    "SELECT session_id, tier, model, started_at, outcome, cost_usd, turns, duration_ms, resumed_at, agent, peer IS NOT NULL
     FROM client_runs";

const RUNNING_SINCE: &str =
    "WHERE outcome = 'running' AND tier = ?1 AND coalesce(resumed_at, started_at) <= ?2";

/// Of how many sessions a list states the chain: each is a query.
const CHAINS: usize = 200;

/// The chain of the session `?1` or `?2`.
const CHAIN: &str =
    "SELECT own.parent_session, count(*) FILTER (WHERE link.id <= own.id), count(*), sum(link.cost_usd)
     FROM client_runs AS own JOIN client_runs AS link ON link.first_session = own.first_session
     WHERE own.session_id IN (?1, ?2) GROUP BY own.id HAVING count(*) > 1 ORDER BY own.id DESC LIMIT 1";

/// The chain of a session with one of these ids.
pub(crate) fn chain(connection: &Connection, id: &str, other_id: Option<&str>) -> Result<Option<Chain>> {
    let read = |row: &Row<'_>| Ok(from_row!(row => Chain { parent, place, sessions, cost_usd }));
    connection.query_row(CHAIN, params![id, other_id], read).optional()
}

impl Change<'_> {
    /// Adds the row of a session that starts at `at`. `peer` is the user id of the peer that states it; `None`: opsctl itself
    /// has started it. Returns the row's id.
    pub fn begin_run(&self, run: &NewRun, peer: Option<u32>, at: DateTime<Utc>) -> Result<i64> {
        let NewRun { session, tier, model, log, parent } = run;
        self.query_row(
                "INSERT INTO client_runs
                     (session_id, tier, model, log_path, started_at, outcome, parent_session, agent, peer, first_session)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8, coalesce(
                     (SELECT first_session FROM client_runs WHERE session_id = ?6 ORDER BY id DESC LIMIT 1), ?6, ?1))
                 RETURNING id",
                params![session, tier, model, log, time::write(at), parent, self.agent(), peer],
                |row| row.get(0),
            )
    }

    /// Sets a session that waits to running again. Returns false if it does not wait any more.
    pub fn resume_run(&self, row: i64, at: DateTime<Utc>) -> Result<bool> {
        self.execute(
                "UPDATE client_runs SET outcome = 'running', resumed_at = ?2 WHERE id = ?1 AND outcome = 'waiting'",
                params![row, time::write(at)],
            )
            .map(|changed| changed == 1)
    }

    /// Marks the sessions of each tier as cut off that have run since before this time.
    pub fn cut_off_runs(&self, since: &[(Tier, DateTime<Utc>)]) -> Result<()> {
        since.iter().try_for_each(|(tier, at)| {
            let sql = format!("UPDATE client_runs SET outcome = 'cut_off' {RUNNING_SINCE}");
            self.run(&sql, params![tier.number(), time::write(*at)])
        })
    }

    /// Completes the row of a session that has ended at `at`, or waits.
    pub fn end_run(&self, row: i64, end: &RunEnd, at: DateTime<Utc>) -> Result<()> {
        let waiting = end.waiting.as_ref();
        self.run(
            "UPDATE client_runs SET outcome = ?2, exit_code = ?3, cost_usd = coalesce(?4, cost_usd),
                     turns = coalesce(turns + ?5, ?5, turns),
                     input_tokens = coalesce(input_tokens + ?6, ?6, input_tokens),
                     output_tokens = coalesce(output_tokens + ?7, ?7, output_tokens),
                     duration_ms = coalesce(duration_ms, 0) + ?8, ended_at = ?9,
                     waiting_call = ?10, transcript = ?11
                 WHERE id = ?1 AND (outcome = 'running' OR coalesce(?10, '') = '')",
            params![
                row,
                end.outcome,
                end.exit_code,
                end.cost_usd,
                end.turns,
                end.input_tokens,
                end.output_tokens,
                end.duration_ms,
                time::write(at),
                waiting.map(|waiting| &waiting.call),
                waiting.map(|waiting| &waiting.transcript),
            ],
        )
    }
}

impl Connection {
    /// The session of a row.
    pub fn session_of_run(&self, row: i64) -> Result<Option<String>> {
        let sql = "SELECT session_id FROM client_runs WHERE id = ?1";
        self.query_row(sql, params![row], |row| row.get(0)).optional()
    }
}

impl Ledger {
    /// Whether a session of a tier has run since before its time, or a reservation is open since before `earliest`.
    pub fn has_overdue(&self, since: &[(Tier, DateTime<Utc>)], earliest: DateTime<Utc>) -> Result<bool> {
        for (tier, at) in since {
            let sql = format!("SELECT 1 FROM client_runs {RUNNING_SINCE} LIMIT 1");
            if self.exists(&sql, params![tier.number(), time::write(*at)])? {
                return Ok(true);
            }
        }
        self.exists(OVERDUE, params![time::write(earliest)])
    }

    /// Whether the agent of this ledger has begun the session of a row, as this peer.
    pub fn is_run_of(&self, row: i64, peer: u32) -> Result<bool> {
        let sql = "SELECT 1 FROM client_runs WHERE id = ?1 AND peer = ?2 AND agent = ?3";
        let agent = self.agent();
        self.exists(sql, params![row, peer, agent])
    }

    /// The sessions that a peer has begun, and whose end is not recorded and not overdue.
    pub fn running(&self, peer: u32, policy: &Policy, now: DateTime<Utc>) -> Result<Vec<Running>> {
        let sql = format!("{COLUMNS} WHERE outcome = 'running' AND peer = ?1");
        let runs = self.query(&sql, params![peer], run)?;
        let runs = runs.into_iter().filter(|run| !run.is_cut_off(policy, now));
        let running = |run: Run| Running {
            session: run.session,
            tier: Tier::from_number(run.tier).unwrap_or(Tier::Observe),
        };
        Ok(runs.map(running).collect())
    }

    /// The session with this id, if it waits for a person.
    pub fn waiting_run(&self, session: &str) -> Result<Option<WaitingRun>> {
        let query =
            format!("{WAITING} WHERE outcome = 'waiting' AND session_id = ?1 ORDER BY id DESC LIMIT 1");
        self.query_row(&query, params![session], waiting_run).optional()
    }

    /// The sessions whose question has been answered or has expired, the longest waiting first.
    pub fn answered_runs(&self, now: DateTime<Utc>) -> Result<Vec<WaitingRun>> {
        self.query(&format!("{WAITING} {ANSWERED}"), params![time::write(now)], waiting_run)
    }

    /// The id of the latest session of this tier; of the one with the id `stated`, if there is such a session.
    pub fn latest_run(&self, tier: Tier, stated: Option<&str>) -> Result<Option<String>> {
        let latest = |stated: Option<&str>| {
            let tier = tier.number();
            let select = Select::new("SELECT session_id FROM client_runs").always("tier = ?").with(&tier);
            let select = select.only("session_id = ?", stated.as_ref()).then(" ORDER BY id DESC LIMIT 1");
            self.query_row(select.sql(), select.values(), |row| row.get(0)).optional()
        };
        let of_id = if stated.is_some() { latest(stated)? } else { None };
        if of_id.is_some() { Ok(of_id) } else { latest(None) }
    }

    /// The latest sessions of an agent (`None`: of all agents), at most `most`, that started at or after `since` and before
    /// `until`; newest first. Only the first [`CHAINS`] of them state their chain.
    pub fn runs(
        &self,
        agent: Option<&str>,
        (since, until): (Option<DateTime<Utc>>, Option<DateTime<Utc>>),
        most: u32,
    ) -> Result<Period<Run>> {
        let (since, until, limit) = (since.map(time::write), until.map(time::write), i64::from(most) + 1);
        let select = Select::new(COLUMNS)
            .only("started_at >= ?", since.as_ref())
            .only("started_at < ?", until.as_ref())
            .only("agent = ?", agent.as_ref())
            .then(" ORDER BY started_at DESC, id DESC LIMIT ?")
            .with(&limit);
        let mut runs = self.select(&select, run)?;
        for run in runs.iter_mut().take(CHAINS) {
            run.chain = chain(&self.connection, &run.session, None)?;
        }
        Ok(Period::of(runs, most))
    }

    /// The number of sessions of an agent (`None`: of all agents) that started at or after `since`, and their cost together
    /// in US dollars.
    pub fn runs_since(&self, agent: Option<&str>, since: DateTime<Utc>) -> Result<(u32, f64)> {
        let since = time::write(since);
        let select = Select::new("SELECT count(*), coalesce(sum(cost_usd), 0.0) FROM client_runs")
            .always("started_at >= ?")
            .with(&since)
            .only("agent = ?", agent.as_ref());
        self.query_row(select.sql(), select.values(), |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

fn waiting_run(row: &Row<'_>) -> Result<WaitingRun> {
    let waiting = Waiting { call: row.get(4)?, transcript: row.get(5)? };
    Ok(from_row!(row => WaitingRun { row, session, tier, parent; waiting }))
}

fn run(row: &Row<'_>) -> Result<Run> {
    Ok(from_row!(row => Run {
        session, tier, model, started_at: time, outcome, cost_usd, turns, duration_ms, resumed_at: time, agent, is_stated;
        chain: None
    }))
}
