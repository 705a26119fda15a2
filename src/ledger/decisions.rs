//! The audit: every decision on a command that acts, and how long hooks took.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Row, params};

use super::actions::CallId;
use super::database::{Change, Ledger};
use super::error::LedgerError;
use super::history::Period;
use super::{migrate, time};
use crate::model::policy::Tier;

/// The rows that statistics are made of: the latest ones.
const SAMPLE: u32 = 100_000;

/// A decision to be written down.
#[derive(Debug, Clone, Copy)]
pub struct NewDecision<'a> {
    /// The call.
    pub call: CallId<'a>,
    /// The tier that it was held to.
    pub tier: Option<Tier>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`.
    pub verdict: &'a str,
    /// The rules that objected, separated by spaces.
    pub rule: &'a str,
    /// The actions in words, from what was parsed.
    pub actions: &'a str,
    /// The services they concern, separated by spaces.
    pub services: &'a str,
    /// What the budgets held at that moment, in words.
    pub budgets: &'a str,
    /// Why, in the words that the model read.
    pub reason: &'a str,
    /// How long the hook took until it had decided; the write itself comes after.
    pub took: Option<Duration>,
}

/// A decision as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its number: later ones are larger.
    pub id: i64,
    /// When.
    pub at: Option<DateTime<Utc>>,
    /// The session.
    pub session: Option<String>,
    /// The tier.
    pub tier: Option<u8>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`.
    pub verdict: String,
    /// The rules that objected, separated by spaces.
    pub rule: String,
    /// The actions in words.
    pub actions: String,
    /// The services, separated by spaces.
    pub services: String,
    /// The budgets in words.
    pub budgets: String,
    /// Why.
    pub reason: String,
    /// Microseconds until it was decided.
    pub micros: Option<i64>,
}

/// Which decisions are asked for; `None` for all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Those that concern this service.
    pub service: Option<&'a str>,
    /// Those with this verdict.
    pub verdict: Option<&'a str>,
    /// Those of this rule.
    pub rule: Option<&'a str>,
    /// Those of this session.
    pub session: Option<&'a str>,
    /// Those at or after this time.
    pub since: Option<DateTime<Utc>>,
}

/// What can be said of many calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// How long each hook took, in microseconds, ascending; by the client's event in kebab case.
    pub times: BTreeMap<String, Vec<i64>>,
    /// How many decisions there were of each verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// How often each rule objected.
    pub rules: BTreeMap<String, u64>,
}

const MATCHING: &str =
    "SELECT id, at, session_id, tier, verdict, rule, actions, services, budgets, reason, micros
     FROM hook_decisions
     WHERE (?1 IS NULL OR instr(' ' || services || ' ', ' ' || ?1 || ' '))
         AND (?2 IS NULL OR verdict = ?2) AND (?3 IS NULL OR instr(' ' || rule || ' ', ' ' || ?3 || ' '))
         AND (?4 IS NULL OR session_id = ?4) AND (?5 IS NULL OR at >= ?5)
     ORDER BY id DESC LIMIT ?6";

impl Change<'_> {
    /// Writes a decision down.
    pub fn note_decision(&self, decision: &NewDecision<'_>, now: DateTime<Utc>) -> Result<(), LedgerError> {
        let NewDecision { call, tier, verdict, rule, actions, services, budgets, reason, took } = *decision;
        self.transaction
            .execute(
                "INSERT INTO hook_decisions (at, session_id, tool_use_id, tier, verdict, rule, actions, services,
                                             budgets, reason, micros)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    time::write(now),
                    call.session,
                    call.tool_use,
                    tier.map(Tier::number),
                    verdict,
                    rule,
                    actions,
                    services,
                    budgets,
                    reason,
                    took.map(micros),
                ],
            )
            .map(|_| ())
            .map_err(|cause| self.error(cause))
    }

    /// Writes down how long a hook took until it had nothing left but to write.
    pub fn note_time(&self, event: &str, took: Duration, now: DateTime<Utc>) -> Result<(), LedgerError> {
        self.transaction
            .execute(
                "INSERT INTO hook_times (at, event, micros) VALUES (?1, ?2, ?3)",
                params![time::write(now), event, micros(took)],
            )
            .map(|_| ())
            .map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// The latest decisions that match, newest first.
    pub fn decisions(&self, which: Which<'_>, count: u32) -> Result<Vec<Decision>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let Which { service, verdict, rule, session, since } = which;
            let wanted = params![service, verdict, rule, session, since.map(time::write), count];
            self.connection.prepare(MATCHING)?.query_map(wanted, decision)?.collect()
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The same, and whether there were more.
    pub fn decisions_of_period(&self, which: Which<'_>, most: u32) -> Result<Period<Decision>, LedgerError> {
        self.decisions(which, most.saturating_add(1)).map(|rows| Period::of(rows, most))
    }

    /// What the latest calls say, those at or after `since`.
    pub fn statistics(&self, since: Option<DateTime<Utc>>) -> Result<Statistics, LedgerError> {
        self.try_statistics(since).map_err(|cause| self.error(cause))
    }

    fn try_statistics(&self, since: Option<DateTime<Utc>>) -> rusqlite::Result<Statistics> {
        let mut found = Statistics::default();
        if !migrate::is_latest(&self.connection)? {
            return Ok(found);
        }
        let since = since.map(time::write).unwrap_or_default();
        let mut decisions = self.connection.prepare(
            "SELECT verdict, rule, micros FROM hook_decisions WHERE at >= ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let mut rows = decisions.query(params![since, SAMPLE])?;
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
        let mut times = self
            .connection
            .prepare("SELECT event, micros FROM hook_times WHERE at >= ?1 ORDER BY id DESC LIMIT ?2")?;
        let mut rows = times.query(params![since, SAMPLE])?;
        while let Some(row) = rows.next()? {
            found.times.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        for times in found.times.values_mut() {
            times.sort_unstable();
        }
        Ok(found)
    }
}

fn decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    Ok(Decision {
        id: row.get(0)?,
        at: time::read(&row.get::<_, String>(1)?),
        session: row.get(2)?,
        tier: row.get(3)?,
        verdict: row.get(4)?,
        rule: row.get(5)?,
        actions: row.get(6)?,
        services: row.get(7)?,
        budgets: row.get(8)?,
        reason: row.get(9)?,
        micros: row.get(10)?,
    })
}

fn micros(took: Duration) -> i64 {
    i64::try_from(took.as_micros()).unwrap_or(i64::MAX)
}
