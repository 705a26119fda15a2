//! Queries of sessions.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::super::engine::{Result, Row, Select, from_row, params};
use super::super::time;
use super::client_runs;
use crate::file::database::Ledger;
use opsctl_policy::model::records::session::{Session, State, SubagentRow};

/// Selects sessions; `None` selects all.
#[derive(Debug, Clone, Copy, Default)]
pub struct WhichSessions<'a> {
    /// The one with this id, opsctl's or the client's.
    pub id: Option<&'a str>,
    /// Those of this mission.
    pub mission: Option<&'a str>,
    /// Those last seen at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those of this agent.
    pub agent: Option<&'a str>,
    /// Those of this tier.
    pub tier: Option<u8>,
    /// Only those that have not ended, stale ones included.
    pub is_open: bool,
}

const COLUMNS: &str =
    "SELECT session_id, client_session_id, tier, mode, role, model, source, cwd, transcript,
         parent_mission, process, started_at, last_seen_at, ended_at, end_reason, status, status_at, tmux_pane,
         agent, state
     FROM hook_sessions";

const RUNS: &str = "SELECT sum(cost_usd), max(model) FROM client_runs WHERE session_id IN (?1, ?2)";

const SUBAGENTS: &str = "SELECT agent_id, agent_type, started_at, ended_at FROM hook_subagents
     WHERE session_id = ?1 ORDER BY started_at, agent_id";

/// In the order in which they were last seen.
const PROCESSES: &str = "SELECT agent, process FROM hook_sessions
     WHERE last_seen_at >= ?1 AND agent IS NOT NULL AND process IS NOT NULL
     ORDER BY last_seen_at, started_at, session_id";

/// A session, as far as one row states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenSession {
    /// Its id.
    pub id: String,
    /// The client's id, if it differs.
    pub client_id: Option<String>,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// Its tier.
    pub tier: Option<u8>,
    /// Its model.
    pub model: Option<String>,
    /// When it started.
    pub started: Option<DateTime<Utc>>,
    /// When it was last seen.
    pub last_seen: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended: Option<DateTime<Utc>>,
    /// What it has stated last about its work.
    pub status: Option<String>,
}

impl Ledger {
    /// The sessions of an agent (`None`: of all agents) that were last seen at or after a time, at most `most`, the latest first.
    pub fn sessions_seen(
        &self,
        agent: Option<&str>,
        since: DateTime<Utc>,
        most: u32,
    ) -> Result<Vec<SeenSession>> {
        let since = Some(time::write(since));
        let select = Select::new(
            "SELECT session_id, client_session_id, agent, tier, model, started_at, last_seen_at, ended_at, status FROM hook_sessions",
        )
        .only("last_seen_at >= ?", since.as_ref())
        .only("agent = ?", agent.as_ref())
        .then(" ORDER BY last_seen_at DESC, session_id DESC LIMIT ?")
        .with(&most);
        self.select(&select, |row| {
            Ok(from_row!(row => SeenSession {
                id, client_id, agent, tier, model, started: time, last_seen: time, ended: time, status
            }))
        })
    }

    /// The agents and the client's processes of the sessions that were last seen at or after a time, in the order of that time.
    pub fn processes_since(&self, since: DateTime<Utc>) -> Result<Vec<(String, String)>> {
        self.query(PROCESSES, params![time::write(since)], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The matching sessions that `accept` accepts, at most `most`, last seen first.
    pub fn sessions(
        &self,
        which: WhichSessions<'_>,
        most: usize,
        mut accept: impl FnMut(&Session) -> bool,
    ) -> Result<Vec<Session>> {
        let WhichSessions { id, mission, since, agent, tier, is_open } = which;
        let since = since.map(time::write);
        let select = Select::new(COLUMNS);
        let select = if is_open { select.always("state <> 'ended'") } else { select };
        let select = select
            .only("(session_id = ? OR client_session_id = ?)", id.as_ref())
            .only("parent_mission = ?", mission.as_ref())
            .only("agent = ?", agent.as_ref())
            .only("tier = ?", tier.as_ref())
            .only("last_seen_at >= ?", since.as_ref())
            .then(" ORDER BY last_seen_at DESC, session_id DESC");
        let mut sessions = self.find_first(&select, most, |row| {
            let session = session(row)?;
            Ok(Some(session).filter(&mut accept))
        })?;
        for session in &mut sessions {
            self.complete(session)?;
        }
        Ok(sessions)
    }

    /// Adds subagents, cost, model and chain from other tables.
    fn complete(&self, session: &mut Session) -> Result<()> {
        let Self { connection, .. } = self;
        session.subagents =
            connection.query(SUBAGENTS, params![&session.id], |row| subagent(row, session.ended))?;
        let ids = params![session.id, session.client_id];
        let run: (Option<f64>, Option<String>) =
            connection.query_row(RUNS, ids, |row| Ok((row.get(0)?, row.get(1)?)))?;
        session.cost_usd = run.0;
        session.chain = client_runs::chain(connection, &session.id, session.client_id.as_deref())?;
        session.model = session.model.take().or(run.1);
        Ok(())
    }
}

fn subagent(row: &Row<'_>, session_ended: Option<DateTime<Utc>>) -> Result<SubagentRow> {
    let started = row.time(2)?;
    // A restarted subagent has an earlier end time; the end of the session ends every subagent.
    let ended = row.time(3)?.filter(|ended| started.is_none_or(|started| *ended >= started));
    Ok(SubagentRow { id: row.get(0)?, kind: row.get(1)?, started, ended: ended.or(session_ended) })
}

fn session(row: &Row<'_>) -> Result<Session> {
    Ok(from_row!(row => Session {
        id, client_id, tier, mode, role, model, source, cwd, transcript, parent_mission, process, started: time,
        last_seen: time, ended: time, end_reason, status, status_at: time, tmux_pane, agent;
        state: State::named(&row.get::<String>(19)?).unwrap_or(State::Active),
        subagents: vec![],
        cost_usd: None,
        chain: None
    }))
}
