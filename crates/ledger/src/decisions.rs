//! The audit log: every decision on a command that acts, and hook durations.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::call_id::CallId;
use super::database::{Change, Ledger};
use super::engine;
use super::engine::{Row, params};
use super::error::LedgerError;
use super::history::Period;
use super::{migrate, time};
use crate::model::effect::Effect;
use crate::model::policy::Tier;
use crate::redact;

/// The maximum number of rows in statistics, the latest ones.
const SAMPLE: u32 = 100_000;

/// A decision to record.
#[derive(Debug, Clone, Copy)]
pub struct NewDecision<'a> {
    /// The tool call.
    pub call: CallId<'a>,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`.
    pub verdict: &'a str,
    /// The rules that denied it, separated by spaces.
    pub rule: &'a str,
    /// A description of the actions, from the parsed command.
    pub actions: &'a str,
    /// The target services, separated by spaces.
    pub services: &'a str,
    /// A description of the budgets at the time of the decision.
    pub budgets: &'a str,
    /// The reason, as shown to the model.
    pub reason: &'a str,
    /// What the call does to the world; `None`: nothing asked for it.
    pub effect: Option<Effect>,
    /// The time until the decision, without the time to record it.
    pub took: Option<Duration>,
}

/// A stored decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its row id, which ascends.
    pub id: i64,
    /// The time of the decision; `None` if it cannot be parsed.
    pub at: Option<DateTime<Utc>>,
    /// The id of the session.
    pub session: Option<String>,
    /// The number of the session's tier.
    pub tier: Option<u8>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`.
    pub verdict: String,
    /// The rules that denied it, separated by spaces.
    pub rule: String,
    /// A description of the actions.
    pub actions: String,
    /// The target services, separated by spaces.
    pub services: String,
    /// A description of the budgets at the time of the decision.
    pub budgets: String,
    /// The reason, as shown to the model.
    pub reason: String,
    /// The time until the decision, in microseconds.
    pub micros: Option<i64>,
    /// What it does to the world: `reads`, `acts`, `changes` or `unknown`; `None`: nothing asked for it.
    pub effect: Option<String>,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
}

/// Selects decisions; `None` selects all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Those with this target service.
    pub service: Option<&'a str>,
    /// Those with this verdict.
    pub verdict: Option<&'a str>,
    /// Those of this rule.
    pub rule: Option<&'a str>,
    /// Those of this session.
    pub session: Option<&'a str>,
    /// Those at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those after this row id.
    pub after: Option<i64>,
    /// Those of this agent.
    pub agent: Option<&'a str>,
}

/// Statistics of recorded decisions and hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The durations of each hook in microseconds, ascending, by event in kebab case.
    pub times: BTreeMap<String, Vec<i64>>,
    /// The number of decisions per verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// The number of denials per rule.
    pub rules: BTreeMap<String, u64>,
}

const MATCHING: &str =
    "SELECT id, at, session_id, tier, verdict, rule, actions, services, budgets, reason, micros, effect, agent
     FROM hook_decisions
     WHERE (instr(' ' || services || ' ', ' ' || ?1 || ' ') > 0 OR ?1 IS NULL)
         AND (verdict = ?2 OR ?2 IS NULL) AND (instr(' ' || rule || ' ', ' ' || ?3 || ' ') > 0 OR ?3 IS NULL)
         AND (session_id = ?4 OR ?4 IS NULL) AND (at >= ?5 OR ?5 IS NULL) AND (id > ?7 OR ?7 IS NULL)
         AND (agent = ?8 OR ?8 IS NULL)
     ORDER BY id DESC LIMIT ?6";

impl Change<'_> {
    /// Records a decision, without secrets.
    pub fn note_decision(&self, decision: &NewDecision<'_>, now: DateTime<Utc>) -> Result<(), LedgerError> {
        let NewDecision { call, tier, verdict, rule, actions, services, budgets, reason, effect, took } =
            *decision;
        self.transaction
            .run(
                "INSERT INTO hook_decisions (at, session_id, tool_use_id, tier, verdict, rule, actions, services,
                                             budgets, reason, micros, effect, agent)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    time::write(now),
                    call.session,
                    call.tool_use,
                    tier.map(Tier::number),
                    verdict,
                    rule,
                    redact::text(actions),
                    redact::text(services),
                    redact::text(budgets),
                    redact::text(reason),
                    took.map(micros),
                    effect.map(Effect::as_str),
                    self.agent(),
                ],
            )
            .map_err(|cause| self.error(cause))
    }

    /// Records the duration of a hook, without the time to record it.
    pub fn note_time(&self, event: &str, took: Duration, now: DateTime<Utc>) -> Result<(), LedgerError> {
        self.transaction
            .run(
                "INSERT INTO hook_times (at, event, micros, agent) VALUES (?1, ?2, ?3, ?4)",
                params![time::write(now), event, micros(took), self.agent()],
            )
            .map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// The latest matching decisions, at most `count`, newest first.
    pub fn decisions(&self, which: Which<'_>, count: u32) -> Result<Vec<Decision>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let Which { service, verdict, rule, session, since, after, agent } = which;
            let wanted =
                params![service, verdict, rule, session, since.map(time::write), count, after, agent];
            self.connection.prepare(MATCHING)?.query_map(wanted, decision)?.collect()
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The latest matching decisions, at most `most`, newest first, and whether there are more.
    pub fn decisions_of_period(&self, which: Which<'_>, most: u32) -> Result<Period<Decision>, LedgerError> {
        self.decisions(which, most.saturating_add(1)).map(|rows| Period::of(rows, most))
    }

    /// Statistics of the latest decisions and hooks at or after `since`.
    pub fn statistics(&self, since: Option<DateTime<Utc>>) -> Result<Statistics, LedgerError> {
        self.statistics_of(None, since)
    }

    /// Statistics of the latest decisions and hooks of an agent (`None`: of all agents) at or after `since`.
    pub fn statistics_of(
        &self,
        agent: Option<&str>,
        since: Option<DateTime<Utc>>,
    ) -> Result<Statistics, LedgerError> {
        self.try_statistics(agent, since).map_err(|cause| self.error(cause))
    }

    fn try_statistics(
        &self,
        agent: Option<&str>,
        since: Option<DateTime<Utc>>,
    ) -> engine::Result<Statistics> {
        let mut found = Statistics::default();
        if !migrate::is_latest(&self.connection)? {
            return Ok(found);
        }
        let since = since.map_or_else(|| time::BEFORE_ALL.to_owned(), time::write);
        let mut decisions = self.connection.prepare(
            "SELECT verdict, rule, micros FROM hook_decisions WHERE at >= ?1 AND (agent = ?3 OR ?3 IS NULL)
             ORDER BY id DESC LIMIT ?2",
        )?;
        let mut rows = decisions.query(params![since, SAMPLE, agent])?;
        while let Some(row) = rows.next()? {
            let (verdict, rules): (String, String) = (row.get(0)?, row.get(1)?);
            for rule in rules.split_whitespace() {
                *found.rules.entry(rule.to_owned()).or_default() += 1;
            }
            *found.verdicts.entry(verdict).or_default() += 1;
            if let Some(micros) = row.get(2)? {
                found.times.entry("pre-tool-use".to_owned()).or_default().push(micros);
            }
        }
        let mut times = self.connection.prepare(
            "SELECT event, micros FROM hook_times WHERE at >= ?1 AND (agent = ?3 OR ?3 IS NULL)
             ORDER BY id DESC LIMIT ?2",
        )?;
        let mut rows = times.query(params![since, SAMPLE, agent])?;
        while let Some(row) = rows.next()? {
            found.times.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        for times in found.times.values_mut() {
            times.sort_unstable();
        }
        Ok(found)
    }
}

fn decision(row: &Row<'_>) -> engine::Result<Decision> {
    Ok(Decision {
        id: row.get(0)?,
        at: time::read(&row.get::<String>(1)?),
        session: row.get(2)?,
        tier: row.get(3)?,
        verdict: row.get(4)?,
        rule: row.get(5)?,
        actions: row.get(6)?,
        services: row.get(7)?,
        budgets: row.get(8)?,
        reason: row.get(9)?,
        micros: row.get(10)?,
        effect: row.get(11)?,
        agent: row.get(12)?,
    })
}

fn micros(took: Duration) -> i64 {
    i64::try_from(took.as_micros()).unwrap_or(i64::MAX)
}
