//! Queries of sessions.

use chrono::{DateTime, Utc};

use super::super::database::Ledger;
use super::super::engine;
use super::super::engine::{Row, params};
use super::super::error::LedgerError;
use super::super::{client_runs, migrate, time};
use crate::model::session::{Session, State, SubagentRow};

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
}

const MATCHING: &str =
    "SELECT session_id, client_session_id, tier, mode, role, model, source, cwd, transcript,
         parent_mission, process, started_at, last_seen_at, ended_at, end_reason, state, status, status_at, tmux_pane,
         agent
     FROM hook_sessions
     WHERE (session_id = ?1 OR client_session_id = ?1 OR ?1 IS NULL) AND (parent_mission = ?2 OR ?2 IS NULL)
         AND (last_seen_at >= ?3 OR ?3 IS NULL) AND (agent = ?4 OR ?4 IS NULL)
     ORDER BY last_seen_at DESC, session_id";

const RUNS: &str = "SELECT sum(cost_usd), max(model) FROM client_runs WHERE session_id IN (?1, ?2)";

const SUBAGENTS: &str = "SELECT agent_id, agent_type, started_at, ended_at FROM hook_subagents
     WHERE session_id = ?1 ORDER BY started_at, agent_id";

impl Ledger {
    /// The matching sessions, last seen first.
    pub fn sessions(&self, which: WhichSessions<'_>) -> Result<Vec<Session>, LedgerError> {
        let look = || {
            // A read-only connection does not migrate.
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let WhichSessions { id, mission, since, agent } = which;
            let mut statement = self.connection.prepare(MATCHING)?;
            let found = statement.query_map(params![id, mission, since.map(time::write), agent], session)?;
            let mut sessions = found.collect::<engine::Result<Vec<_>>>()?;
            self.complete(&mut sessions)?;
            Ok(sessions)
        };
        look().map_err(|cause| self.error(cause))
    }

    /// Adds subagents, cost, model and chain from other tables.
    fn complete(&self, sessions: &mut [Session]) -> engine::Result<()> {
        let mut subagents = self.connection.prepare(SUBAGENTS)?;
        let mut runs = self.connection.prepare(RUNS)?;
        let mut chains = self.connection.prepare(client_runs::CHAIN)?;
        for session in sessions {
            let rows = subagents.query_map([&session.id], |row| subagent(row, session.ended))?;
            session.subagents = rows.collect::<engine::Result<_>>()?;
            let ids = params![session.id, session.client_id];
            let run: (Option<f64>, Option<String>) =
                runs.query_row(ids, |row| Ok((row.get(0)?, row.get(1)?)))?;
            session.cost_usd = run.0;
            session.chain = client_runs::chain(&mut chains, &session.id, session.client_id.as_deref())?;
            session.model = session.model.take().or(run.1);
        }
        Ok(())
    }
}

fn subagent(row: &Row<'_>, session_ended: Option<DateTime<Utc>>) -> engine::Result<SubagentRow> {
    let started = moment(row, 2)?;
    // A restarted subagent has an earlier end time; the end of the session ends every subagent.
    let ended = moment(row, 3)?.filter(|ended| started.is_none_or(|started| *ended >= started));
    Ok(SubagentRow { id: row.get(0)?, kind: row.get(1)?, started, ended: ended.or(session_ended) })
}

fn moment(row: &Row<'_>, column: usize) -> engine::Result<Option<DateTime<Utc>>> {
    Ok(row.get::<Option<String>>(column)?.as_deref().and_then(time::read))
}

fn session(row: &Row<'_>) -> engine::Result<Session> {
    let status: Option<String> = row.get(16)?;
    let status_at = moment(row, 17)?;
    Ok(Session {
        id: row.get(0)?,
        client_id: row.get(1)?,
        tier: row.get(2)?,
        mode: row.get(3)?,
        role: row.get(4)?,
        model: row.get(5)?,
        source: row.get(6)?,
        cwd: row.get(7)?,
        transcript: row.get(8)?,
        parent_mission: row.get(9)?,
        tmux_pane: row.get(18)?,
        agent: row.get(19)?,
        process: row.get(10)?,
        started: moment(row, 11)?,
        last_seen: moment(row, 12)?,
        ended: moment(row, 13)?,
        end_reason: row.get(14)?,
        state: State::named(&row.get::<String>(15)?).unwrap_or(State::Active),
        status: status.map(|text| (text, status_at)),
        subagents: vec![],
        cost_usd: None,
        chain: None,
    })
}
