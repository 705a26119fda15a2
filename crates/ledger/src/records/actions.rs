//! Actions in the budgets: reserved before they run, and settled after.

use chrono::{DateTime, Utc};

use crate::call_id::CallId;
use crate::cooldown::usage::known_kind;
use crate::engine::{Connection, Result, Row, insert, params};
use crate::file::database::Change;
use crate::file::manager::session_column;
use crate::time;
use opsctl_policy::decide::{BudgetKey, Reservation};
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::policy::Tier;

/// What was reserved for a call. What is `unknown` has been counted already.
pub(crate) const RESERVED_FOR_CALL: &str =
    "SELECT id, service, kind, counts AND state <> 'unknown', agent FROM hook_actions
     WHERE session_id IS ?1 AND tool_use_id IS ?2 AND state IN ('reserved', 'released', 'unknown') ORDER BY id";

pub(crate) const RESERVED_FOR_ACTION: &str =
    "SELECT id, service, kind, counts AND state <> 'unknown', agent FROM hook_actions
     WHERE session_id IS ?1 AND tool_use_id IS NULL AND state IN ('reserved', 'released', 'unknown')
         AND service = ?2 AND kind = ?3 AND verb = ?4 AND host IS ?5
     ORDER BY state = 'reserved' DESC, id";

pub(crate) const ALREADY_SETTLED: &str =
    "SELECT 1 FROM hook_settled WHERE session_id IS ?1 AND tool_use_id = ?2 AND actions = ?3 LIMIT 1";

pub(crate) const OF_CALL: &str =
    "SELECT 1 FROM hook_actions WHERE session_id = ?1 AND tool_use_id = ?2 LIMIT 1";

/// The id of a reservation, its budget, whether it is to be counted now, and the agent that reserved it.
type Reserved = (i64, BudgetKey, bool, Option<String>);

/// The result of settling a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Its reservations, or its actions if nothing was reserved, are recorded. Holds the budgets that they count against.
    Now(Vec<BudgetKey>),
    /// It had been settled before; nothing is written.
    Before,
}

impl Connection {
    /// Whether a call has a reservation, or had one.
    pub fn has_call(&self, call: CallId<'_>) -> Result<bool> {
        self.exists(OF_CALL, params![call.session, call.tool_use])
    }
}

impl Change<'_> {
    /// Records reservations, which count against their budgets from now on.
    pub fn reserve(&self, call: CallId<'_>, reservations: &[Reservation], now: DateTime<Utc>) -> Result<()> {
        for reservation in reservations {
            self.insert_hook_action(call, reservation, "reserved", now, None)?;
        }
        Ok(())
    }

    /// Records reservations of a call that was allowed while the ledger could not be used, unless it has a row.
    pub fn reserve_once(
        &self,
        call: CallId<'_>,
        reservations: &[Reservation],
        at: DateTime<Utc>,
    ) -> Result<Settled> {
        if self.has_call(call)? {
            return Ok(Settled::Before);
        }
        self.reserve(call, reservations, at)?;
        Ok(Settled::Now(vec![]))
    }

    /// Records that a tool call has run. Successful and failed actions both count.
    ///
    /// `actions` is what the command takes from the budgets. It is used if nothing was reserved, because the ledger
    /// had failed or the hook before the call was not installed. `evidence` describes all actions of the command; it
    /// distinguishes two calls that have the same id.
    pub fn settle(
        &self,
        call: CallId<'_>,
        evidence: &str,
        actions: &[Reservation],
        result: &ToolResult,
        tier: Option<Tier>,
        now: DateTime<Utc>,
    ) -> Result<Settled> {
        let (state, _) = outcome(result);
        let (reserved, unreserved) = match call.tool_use {
            Some(_) => {
                let reserved = self.reserved_for_call(call)?;
                let first = self.note_settled(call, evidence, now)?;
                if reserved.is_empty() && !first {
                    return Ok(Settled::Before);
                }
                let unreserved = if reserved.is_empty() { actions.iter().collect() } else { vec![] };
                (reserved, unreserved)
            }
            None => self.reserved_for_actions(call, actions)?,
        };
        let mut counted = Vec::new();
        for (id, key, counts, agent) in reserved {
            self.run(
                "UPDATE hook_actions SET state = ?2, settled_at = ?3 WHERE id = ?1",
                params![id, state, time::write(now)],
            )?;
            if counts {
                let agent = agent.unwrap_or_else(|| self.agent());
                self.insert_cooldown_action(call, (&key, &agent), result, tier, now, false)?;
                counted.push(key);
            }
        }
        for action in unreserved {
            self.insert_hook_action(call, action, state, now, Some(now))?;
            if action.counts {
                self.insert_cooldown_action(call, (&action.key, &self.agent()), result, tier, now, false)?;
                counted.push(action.key.clone());
            }
        }
        Ok(Settled::Now(counted))
    }

    /// Whether anything was reserved for a call that is not settled yet.
    pub fn has_reserved(&self, call: CallId<'_>) -> Result<bool> {
        self.reserved_for_call(call).map(|reserved| !reserved.is_empty())
    }

    /// The reservations of a call whose result is not known yet, released ones included: an action that ran counts.
    fn reserved_for_call(&self, call: CallId<'_>) -> Result<Vec<Reserved>> {
        self.query(RESERVED_FOR_CALL, params![call.session, call.tool_use], read_reserved)
    }

    /// Matches the actions of a call without an id to reservations: the oldest open one of the same action, else one that
    /// is open no more. Each reservation is used once. Also returns the actions without a reservation.
    fn reserved_for_actions<'a>(
        &self,
        call: CallId<'_>,
        actions: &'a [Reservation],
    ) -> Result<(Vec<Reserved>, Vec<&'a Reservation>)> {
        let (mut found, mut left): (Vec<Reserved>, Vec<&Reservation>) = (vec![], vec![]);
        for action in actions {
            let BudgetKey { service, kind } = &action.key;
            let known = params![call.session, service, kind, action.verb.as_str(), action.host];
            let candidates = self.query(RESERVED_FOR_ACTION, known, read_reserved)?;
            match candidates.into_iter().find(|(id, ..)| found.iter().all(|(taken, ..)| taken != id)) {
                Some(reserved) => found.push(reserved),
                None => left.push(action),
            }
        }
        Ok((found, left))
    }

    /// Records that a call has been settled. `false` if it had been settled before.
    fn note_settled(&self, call: CallId<'_>, evidence: &str, now: DateTime<Utc>) -> Result<bool> {
        let evidence = opsctl_redact::text(evidence);
        let settled = self.exists(ALREADY_SETTLED, params![call.session, call.tool_use, evidence])?;
        if !settled {
            insert!(self.run into hook_settled {
                session_id: call.session, tool_use_id: call.tool_use, actions: evidence, settled_at: time::write(now)
            })?;
        }
        Ok(!settled)
    }

    fn insert_hook_action(
        &self,
        call: CallId<'_>,
        action: &Reservation,
        state: &str,
        now: DateTime<Utc>,
        settled: Option<DateTime<Utc>>,
    ) -> Result<()> {
        insert!(self.run into hook_actions {
            session_id: call.session, tool_use_id: call.tool_use, service: action.key.service, kind: action.key.kind,
            verb: action.verb.as_str(), host: action.host, counts: action.counts, state: state,
            reserved_at: time::write(now), settled_at: settled.map(time::write), agent: self.agent()
        })
    }

    /// Records an action that was reported by hand, without a tool call.
    pub fn record(
        &self,
        key: &BudgetKey,
        result: &ToolResult,
        session: Option<&str>,
        tier: Option<Tier>,
        at: DateTime<Utc>,
    ) -> Result<()> {
        let call = CallId { session, tool_use: None };
        self.insert_cooldown_action(call, (key, &self.agent()), result, tier, at, true)
    }

    pub(super) fn insert_cooldown_action(
        &self,
        call: CallId<'_>,
        (key, agent): (&BudgetKey, &str),
        result: &ToolResult,
        tier: Option<Tier>,
        now: DateTime<Utc>,
        by_hand: bool,
    ) -> Result<()> {
        let (state, error) = outcome(result);
        let session = session_column(&self.transaction, "cooldown_actions", call.session)?;
        let id: i64 = insert!(self.add into cooldown_actions {
            service: key.service, action_type: key.kind, timestamp: time::write(now), success: state == "done",
            tier: tier.map_or(0, Tier::number), error: error.map(opsctl_redact::text), session_id: session
        })?;
        insert!(self.run into recorded_actions {
            action_id: id, session_id: call.session, by_hand: by_hand, agent: agent
        }, self.again("action_id", "session_id = excluded.session_id, by_hand = excluded.by_hand, agent = excluded.agent"))
    }
}

fn read_reserved(row: &Row<'_>) -> Result<Reserved> {
    let kind = known_kind(&row.get::<String>(2)?).unwrap_or("restart");
    Ok((row.get(0)?, BudgetKey { service: row.get(1)?, kind }, row.get(3)?, row.get(4)?))
}

/// The stored state of a settled action, and its error message.
fn outcome(result: &ToolResult) -> (&'static str, Option<&str>) {
    match result {
        ToolResult::Succeeded => ("done", None),
        ToolResult::Failed(why) => ("failed", Some(why)),
    }
}
