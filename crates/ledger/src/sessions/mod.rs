//! The session registry: a row of `hook_sessions` for each session of the client, with its subagents and running tool
//! calls.

pub mod client_runs;
mod listing;
mod news;
#[cfg(test)]
mod orders;
pub mod reminders;
pub mod requests;
pub mod seen;
pub mod turns;

use chrono::{DateTime, Utc};

use super::engine::{OptionalExtension as _, Result, insert, params};
use super::time;
use crate::file::database::Change;
use opsctl_policy::model::records::event::Subagent;
use opsctl_policy::model::records::session::{Activity, ActivityTimes, State, StatusReminder};

pub use listing::{SeenSession, WhichSessions};
pub use news::News;

/// The properties of a session that a hook knows. `None` leaves the stored value unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Who<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The client's id, if it differs.
    pub client_id: Option<&'a str>,
    /// The number of its tier.
    pub tier: Option<u8>,
    /// Its mode: `interactive`, `mission` or `background`.
    pub mode: Option<&'a str>,
    /// Its role.
    pub role: Option<&'a str>,
    /// Its model.
    pub model: Option<&'a str>,
    /// Its working directory.
    pub cwd: Option<&'a str>,
    /// The path of the client's transcript.
    pub transcript: Option<&'a str>,
    /// The mission that it belongs to.
    pub mission: Option<&'a str>,
    /// The tmux pane in which it runs.
    pub tmux_pane: Option<&'a str>,
    /// The client's process, as named by `client_process::calling`.
    pub process: Option<&'a str>,
}

/// The columns of which the latest value counts. The working directory is the first one.
const LATEST: [&str; 9] = [
    "client_session_id",
    "tier",
    "mode",
    "role",
    "model",
    "transcript",
    "parent_mission",
    "process",
    "tmux_pane",
];

pub(super) const TOOL_RUNS: &str =
    "SELECT EXISTS (SELECT 1 FROM hook_calls LEFT JOIN hook_subagents USING (session_id, agent_id)
         WHERE session_id = ?1 AND NOT done AND began_us >
             CASE WHEN agent_id IS NULL THEN ?2 ELSE coalesce(hook_subagents.settled_us, 0) END)";

impl Change<'_> {
    /// Creates or updates the session's row. Returns when the session last became idle or ended before; its start if it never did.
    pub fn meet(&self, who: &Who<'_>, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
        let sql = "SELECT max(idle_us, over_us), started_at FROM hook_sessions WHERE session_id = ?1";
        let paused = self.query_row(sql, params![who.session], |row| {
            let paused: i64 = row.get(0)?;
            if paused > 0 { Ok(DateTime::from_timestamp_micros(paused)) } else { row.time(1) }
        });
        let paused = paused.optional()?.flatten();
        let latest = LATEST.map(|name| format!("{name} = coalesce(excluded.{name}, hook_sessions.{name})"));
        let at = time::write(now);
        insert!(self.run into hook_sessions {
            session_id: who.session, client_session_id: who.client_id, tier: who.tier, mode: who.mode, role: who.role,
            model: who.model, cwd: who.cwd, transcript: who.transcript, parent_mission: who.mission, process: who.process,
            tmux_pane: who.tmux_pane, started_at: at, last_seen_at: at, reminded_at: at, state: "active", agent: self.agent()
        }, format!(
            "ON CONFLICT (session_id) DO UPDATE SET {}, cwd = coalesce(hook_sessions.cwd, excluded.cwd),
                 last_seen_at = max(hook_sessions.last_seen_at, excluded.last_seen_at)",
            latest.join(", ")
        ))?;
        Ok(paused)
    }

    /// Whether a session was seen after a time.
    pub fn is_seen_after(&self, session: &str, at: DateTime<Utc>) -> Result<bool> {
        let sql = "SELECT 1 FROM hook_sessions WHERE session_id = ?1 AND last_seen_at > ?2";
        self.exists(sql, params![session, time::write(at)])
    }

    /// Records an activity. Those that are asynchronous may be recorded in any order.
    pub fn record_activity(&self, session: &str, activity: &Activity<'_>, now: DateTime<Utc>) -> Result<()> {
        let at = if activity.is_async() {
            now.timestamp_micros()
        } else {
            self.after_all_before(session, now.timestamp_micros())?
        };
        let moment = time::write(now);
        match *activity {
            Activity::Started(beginning) => {
                let source = beginning.source.as_deref();
                self.run(
                    "UPDATE hook_sessions SET awake_us = ?2, source = coalesce(?3, source), ended_at = NULL,
                         end_reason = NULL WHERE session_id = ?1",
                    params![session, at, source],
                )?;
                if source == Some("compact") {
                    // Its subagents keep running, and its status still applies.
                    return self.tools_done(session, at);
                }
                self.run(
                    "UPDATE hook_sessions SET status = NULL, status_at = NULL, reminded_at = ?2
                     WHERE session_id = ?1",
                    params![session, moment],
                )?;
                self.all_done(session, at, &moment)
            }
            Activity::PromptSubmitted | Activity::StopBlocked => {
                self.set(session, "awake_us", at)?;
                self.tools_done(session, at)
            }
            Activity::ToolStarted { call, agent } => self.tool(session, call, agent, Some(at)),
            Activity::ToolsFinished { calls, agent } => {
                if agent.is_none() {
                    self.set(session, "awake_us", at)?;
                }
                calls.iter().try_for_each(|call| self.tool(session, call, agent, None))
            }
            Activity::SubagentStarted(subagent) => self.subagent(session, subagent, Some(&moment), None, 0),
            Activity::SubagentStopped(subagent) => {
                self.subagent(session, subagent, None, Some(&moment), at)?;
                self.run(
                    "DELETE FROM hook_calls WHERE session_id = ?1 AND agent_id = ?2
                             AND coalesce(began_us, 0) <= ?3",
                    params![session, subagent.id, at],
                )
            }
            Activity::Stopped => {
                self.set(session, "idle_us", at)?;
                self.tools_done(session, at)
            }
            Activity::Ended { reason } => {
                self.run(
                    "UPDATE hook_sessions SET over_us = ?2, ended_at = ?3, end_reason = ?4 WHERE session_id = ?1",
                    params![session, at, moment, reason],
                )?;
                self.all_done(session, at, &moment)
            }
        }
    }

    /// The time, in microseconds, of an activity whose hook the client waits for. It is later than that of all such
    /// activities before, even if the clock was set back.
    fn after_all_before(&self, session: &str, at: i64) -> Result<i64> {
        let latest: Option<i64> = self
            .query_row(
                "SELECT max(awake_us, idle_us, over_us) FROM hook_sessions WHERE session_id = ?1",
                params![session],
                |row| row.get(0),
            )
            .optional()?;
        Ok(latest.map_or(at, |latest| at.max(latest + 1)))
    }

    fn set(&self, session: &str, column: &'static str, at: i64) -> Result<()> {
        self.run(
            &format!("UPDATE hook_sessions SET {column} = ?2 WHERE session_id = ?1"),
            params![session, at],
        )
    }

    /// Marks all tool calls of the session's own agent that began at or before `at` as done.
    fn tools_done(&self, session: &str, at: i64) -> Result<()> {
        self.set(session, "settled_us", at)?;
        self.run(
            "DELETE FROM hook_calls WHERE session_id = ?1 AND agent_id IS NULL
                     AND coalesce(began_us, 0) <= ?2",
            params![session, at],
        )
    }

    /// Marks all tool calls and subagents of the session as done.
    fn all_done(&self, session: &str, at: i64, moment: &str) -> Result<()> {
        self.set(session, "settled_us", at)?;
        self.run("DELETE FROM hook_calls WHERE session_id = ?1", params![session])?;
        self.run(
            "UPDATE hook_subagents SET ended_at = coalesce(ended_at, ?2), settled_us = max(settled_us, ?3)
                 WHERE session_id = ?1",
            params![session, moment, at],
        )
    }

    /// Records that a tool call has begun at a time, or has ended. Its row is deleted once both are known.
    fn tool(&self, session: &str, call: &str, agent: Option<&str>, began: Option<i64>) -> Result<()> {
        insert!(self.run into hook_calls {
            session_id: session, tool_use_id: call, agent_id: agent, began_us: began, done: began.is_none()
        }, "ON CONFLICT (session_id, tool_use_id) DO UPDATE SET began_us = coalesce(excluded.began_us, hook_calls.began_us), done = hook_calls.done OR excluded.done")?;
        self.run(
            "DELETE FROM hook_calls WHERE session_id = ?1 AND tool_use_id = ?2 AND done
                     AND began_us IS NOT NULL",
            params![session, call],
        )
    }

    fn subagent(
        &self,
        session: &str,
        subagent: &Subagent,
        started: Option<&str>,
        ended: Option<&str>,
        settled: i64,
    ) -> Result<()> {
        insert!(self.run into hook_subagents {
            session_id: session, agent_id: subagent.id, agent_type: subagent.kind, started_at: started, ended_at: ended,
            settled_us: settled
        }, "ON CONFLICT (session_id, agent_id) DO UPDATE SET agent_type = coalesce(excluded.agent_type, hook_subagents.agent_type), started_at = coalesce(excluded.started_at, hook_subagents.started_at), ended_at = coalesce(excluded.ended_at, hook_subagents.ended_at), settled_us = max(hook_subagents.settled_us, excluded.settled_us)")
    }

    /// The times that the state of a session follows from.
    pub fn activity_times(&self, session: &str) -> Result<ActivityTimes> {
        let (active, idle, ended, settled) = self.query_row(
            "SELECT awake_us, idle_us, over_us, settled_us FROM hook_sessions WHERE session_id = ?1",
            params![session],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<i64>(3)?)),
        )?;
        let tool_running = self.query_row(TOOL_RUNS, params![session, settled], |row| row.get(0))?;
        Ok(ActivityTimes { active, idle, ended, tool_running })
    }

    /// Stores the state of a session.
    pub fn set_state(&self, session: &str, state: State) -> Result<()> {
        self.run(
            "UPDATE hook_sessions SET state = ?2 WHERE session_id = ?1 AND state <> ?2",
            params![session, state.as_str()],
        )
    }

    /// Whether a session has a status, and when it was last reminded to set one.
    pub fn reminded(&self, session: &str) -> Result<StatusReminder> {
        self.query_row(
            "SELECT status IS NOT NULL, reminded_at FROM hook_sessions WHERE session_id = ?1",
            params![session],
            |row| Ok(StatusReminder { has_status: row.get(0)?, at: row.time(1)? }),
        )
    }

    /// Records that a session was reminded to set a status.
    pub fn note_reminder(&self, session: &str, now: DateTime<Utc>) -> Result<()> {
        self.run(
            "UPDATE hook_sessions SET reminded_at = ?2 WHERE session_id = ?1",
            params![session, time::write(now)],
        )
    }

    /// Sets the status text of a session, which must have a row; an empty text removes it.
    pub fn set_status(&self, session: &str, text: &str, now: DateTime<Utc>) -> Result<()> {
        let text = Some(text).filter(|text| !text.is_empty());
        self.run(
            "UPDATE hook_sessions SET status = ?2, status_at = ?3, reminded_at = ?3 WHERE session_id = ?1",
            params![session, text.map(opsctl_redact::text), time::write(now)],
        )
    }
}
