//! The chain of the audit: each decision has a number and a hash over itself and all decisions before it. A row that is changed,
//! removed, added or moved does not fit any more; `audit_head` has the number and the hash of the last one.
//!
//! Who can write the whole file can also write a new chain. A head that is kept elsewhere, or signed, shows that.

use serde::{Deserialize, Serialize};

use super::entry::Entry;

use crate::engine::{OptionalExtension as _, Result, Row, params};
use crate::file::database::{Change, Ledger};
use crate::time;

/// The end of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last decision.
    pub entries: i64,
    /// Its hash in hexadecimal; empty if there is none.
    pub hash: String,
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum Break {
    #[error("row {row} of {at} has been changed, or belongs to another place")]
    Changed { row: i64, at: String },
    #[error("{missing} {} before row {row} of {at}", if *missing == 1 { "row is missing" } else { "rows are missing" })]
    Missing { row: i64, at: String, missing: i64 },
    #[error("row {row} of {at} was not written by opsctl, or twice")]
    Added { row: i64, at: String },
    #[error("{missing} {} at the end: the last one has number {last}, and the head states {head}", if *missing == 1 { "row is missing" } else { "rows are missing" })]
    Truncated { missing: i64, last: i64, head: i64 },
    #[error("the head of the chain does not fit the last row, number {last}")]
    Head { last: i64 },
    #[error("no row has the number {entries} and the hash of the head that is stated")]
    OtherHead { entries: i64 },
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How many decisions were checked.
    pub rows: u64,
    /// The end of the chain, as its rows state it.
    pub head: Head,
    /// The first decision that does not fit.
    pub broken: Option<Break>,
}

/// The head row and what [`crate::upkeep`] has deleted before the first decision.
const HEAD: &str = "SELECT entries, hash, pruned, pruned_hash FROM audit_head WHERE id = 1";

const COLUMNS: &str =
    "at, session_id, tool_use_id, tier, verdict, rule, actions, services, budgets, reason, micros, effect,
     agent, command, hosts, person, undo, entry, hash";

/// The same on both engines; a server computes the hash itself, so that no other decision can come between.
const ON_SERVER: &str = "WITH head AS (
         INSERT INTO audit_head (id, entries, hash) VALUES (1, 1, encode(sha256(convert_to('1' || ?18::text, 'UTF8')), 'hex'))
         ON CONFLICT (id) DO UPDATE SET entries = audit_head.entries + 1,
             hash = encode(sha256(convert_to(audit_head.hash || (audit_head.entries + 1)::text || ?18::text, 'UTF8')), 'hex')
         RETURNING entries, hash)
     INSERT INTO hook_decisions (at, session_id, tool_use_id, tier, verdict, rule, actions, services, budgets, reason, micros,
         effect, agent, command, hosts, person, undo, entry, hash)
     SELECT ?1::timestamptz, ?2::text, ?3::text, ?4::smallint, ?5::text, ?6::text, ?7::text, ?8::text, ?9::text, ?10::text, ?11::bigint,
         ?12::text, ?13::text, ?14::text, ?15::text, ?16::text, ?17::text, entries, hash FROM head";

/// The first decision of the chain up to a row that is not old.
const FIRST_KEPT: &str =
    "SELECT id FROM hook_decisions WHERE id <= ?1 AND at >= ?2 AND entry IS NOT NULL ORDER BY id LIMIT 1";

/// The last decision of the chain up to a row.
const LAST_PRUNED: &str =
    "SELECT entry, hash FROM hook_decisions WHERE id <= ?1 AND entry IS NOT NULL ORDER BY id DESC LIMIT 1";

/// How many rows are read at a time.
const PAGE: i64 = 5_000;

impl Change<'_> {
    /// Adds a decision to the chain at the end of this transaction: all decisions wait for each other from then on.
    pub(crate) fn add_entry(&self, entry: Entry) {
        self.entries.borrow_mut().push(entry.storable());
    }

    /// Writes the decisions of this transaction.
    pub(crate) fn write_entries(&self) -> Result<()> {
        for entry in self.entries.take() {
            self.write_entry(&entry)?;
        }
        Ok(())
    }

    fn write_entry(&self, entry: &Entry) -> Result<()> {
        let Entry {
            at,
            session,
            tool_use,
            tier,
            verdict,
            rule,
            actions,
            services,
            budgets,
            reason,
            micros,
            effect,
            agent,
            command,
            hosts,
            person,
            undo,
        } = entry;
        if self.is_server() {
            let canonical = entry.canonical();
            return self.run(
                ON_SERVER,
                params![
                    at, session, tool_use, tier, verdict, rule, actions, services, budgets, reason, micros,
                    effect, agent, command, hosts, person, undo, canonical
                ],
            );
        }
        let (head, _) = self.head()?;
        let number = head.entries + 1;
        let hash = entry.hash(&head.hash, number);
        let places: Vec<String> = (1..=19).map(|number| format!("?{number}")).collect();
        self.run(
            &format!("INSERT INTO hook_decisions ({COLUMNS}) VALUES ({})", places.join(", ")),
            params![
                at, session, tool_use, tier, verdict, rule, actions, services, budgets, reason, micros,
                effect, agent, command, hosts, person, undo, number, hash
            ],
        )?;
        self.run(
            "INSERT INTO audit_head (id, entries, hash) VALUES (1, ?1, ?2)
             ON CONFLICT (id) DO UPDATE SET entries = excluded.entries, hash = excluded.hash",
            params![number, hash],
        )
    }

    /// Remembers the last of the old decisions up to the row `end`, which are about to be deleted. Returns its id, or a lower one
    /// than that of the first row: only rows from the beginning are deleted.
    pub(crate) fn prune_chain(&self, end: i64, cutoff: &str) -> Result<i64> {
        let read = |row: &Row<'_>| Ok((row.get::<Option<i64>>(0)?, row.get::<Option<String>>(1)?));
        if self.query_row(LAST_PRUNED, params![end], read).optional()?.is_none() {
            return Ok(end);
        }
        let first_kept = self.query_row(FIRST_KEPT, params![end, cutoff], |row| row.get::<i64>(0));
        let first_kept = first_kept.optional()?.unwrap_or(i64::MAX);
        let last: i64 =
            self.query_row("SELECT coalesce(max(id), 0) FROM hook_decisions", params![], |row| row.get(0))?;
        let end = end.min(first_kept - 1).min(last - 1);
        if let Some((entry, hash)) = self.query_row(LAST_PRUNED, params![end], read).optional()? {
            let sql = "UPDATE audit_head SET pruned = ?1, pruned_hash = ?2 WHERE id = 1";
            self.run(sql, params![entry, hash])?;
        }
        Ok(end)
    }
}

impl crate::engine::Connection {
    /// The end of the chain, and the last decision that was deleted because it was old.
    pub(crate) fn head(&self) -> Result<(Head, Head)> {
        let read = |row: &Row<'_>| {
            let pruned = Head {
                entries: row.get::<Option<i64>>(2)?.unwrap_or(0),
                hash: row.get::<Option<String>>(3)?.unwrap_or_default(),
            };
            Ok((Head { entries: row.get(0)?, hash: row.get(1)? }, pruned))
        };
        let none = || Head { entries: 0, hash: String::new() };
        Ok(self.query_row(HEAD, params![], read).optional()?.unwrap_or_else(|| (none(), none())))
    }
}

impl Ledger {
    /// The end of the chain of the audit.
    pub fn audit_head(&self) -> Result<Head> {
        self.head().map(|(head, _)| head)
    }

    /// Checks the chain, and that `known`, a head of an earlier time, is part of it.
    pub fn check_chain(&self, known: Option<&Head>, mut progress: impl FnMut(u64)) -> Result<Checked> {
        // What is added meanwhile is not checked.
        let (head, pruned) = self.head()?;
        let mut last = pruned.clone();
        let mut is_known = known.is_none_or(|known| *known == pruned || known.entries == 0);
        let mut checked = Checked { rows: 0, head: pruned, broken: None };
        let sql = format!("SELECT {COLUMNS}, id FROM hook_decisions WHERE id > ?1 ORDER BY id LIMIT {PAGE}");
        let mut after = 0;
        loop {
            let rows = self.query(&sql, params![after], stored)?;
            for row in &rows {
                if row.number > Some(head.entries) {
                    continue;
                }
                if let Some(broken) = misfit(row, &last) {
                    checked.broken = Some(broken);
                    return Ok(checked);
                }
                last = Head { entries: row.number.unwrap_or_default(), hash: row.hash.clone() };
                is_known |= known == Some(&last);
                checked.rows += 1;
                checked.head = last.clone();
            }
            let Some(end) = rows.last() else { break };
            after = end.row;
            progress(checked.rows);
        }
        checked.broken = match (head.entries - last.entries, known) {
            (0, _) if head.hash != last.hash => Some(Break::Head { last: last.entries }),
            (0, Some(known)) if !is_known => Some(Break::OtherHead { entries: known.entries }),
            (0, _) => None,
            (missing, _) => Some(Break::Truncated { missing, last: last.entries, head: head.entries }),
        };
        Ok(checked)
    }
}

/// A stored decision.
struct Stored {
    row: i64,
    entry: Entry,
    number: Option<i64>,
    hash: String,
}

fn stored(row: &Row<'_>) -> Result<Stored> {
    let at: String = row.get(0)?;
    let entry = Entry {
        at: time::read(&at).map_or(at, time::write),
        session: row.get(1)?,
        tool_use: row.get(2)?,
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
        command: row.get(13)?,
        hosts: row.get(14)?,
        person: row.get(15)?,
        undo: row.get(16)?,
    };
    let hash: Option<String> = row.get(18)?;
    Ok(Stored { entry, number: row.get(17)?, hash: hash.unwrap_or_default(), row: row.get(19)? })
}

/// Why a decision does not follow the one before it.
fn misfit(found: &Stored, last: &Head) -> Option<Break> {
    let (row, at) = (found.row, found.entry.at.clone());
    let Some(number) = found.number.filter(|number| *number > last.entries) else {
        return Some(Break::Added { row, at });
    };
    let missing = number - last.entries - 1;
    if missing > 0 {
        return Some(Break::Missing { row, at, missing });
    }
    (found.entry.hash(&last.hash, number) != found.hash).then_some(Break::Changed { row, at })
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::*;
    use crate::fixture;
    use crate::records::decisions::{NewDecision, OperatorAct};
    use crate::upkeep::Wanted;
    use std::time::Duration;

    fn at(number: i64) -> DateTime<Utc> {
        "2026-03-21T14:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(6 * number)
    }

    fn decide(ledger: &mut Ledger, number: i64) {
        let change = ledger.change().unwrap();
        let command = format!("docker restart \"service\" {number}\u{0}\n\t\\");
        let decision = NewDecision {
            verdict: ["allow", "deny", "would deny"][usize::try_from(number % 3).unwrap()],
            command: &command,
            rule: "budget",
            services: "jellyfin",
            reason: "Grüße an \u{1f600}",
            ..NewDecision::default()
        };
        change.note_decision(&decision, at(number)).unwrap();
        if number % 5 == 0 {
            let act = OperatorAct { person: "ann", command: "opsctl grant", services: "x", session: None };
            change.note_operator(&act, at(number)).unwrap();
        }
        change.commit().unwrap();
    }

    fn history(rows: i64) -> (tempfile::TempDir, Ledger) {
        let (folder, mut ledger) = fixture::ledger();
        (0..rows).for_each(|number| decide(&mut ledger, number));
        (folder, ledger)
    }

    fn broken(ledger: &Ledger) -> Option<Break> {
        ledger.check_chain(None, |_| ()).unwrap().broken
    }

    #[test]
    fn an_audit_that_was_not_altered_is_reported_whole_as_it_grows() {
        let (_folder, mut ledger) = fixture::ledger();
        assert_eq!(broken(&ledger), None);
        let mut heads = vec![];
        for number in 0..60 {
            decide(&mut ledger, number);
            assert_eq!(broken(&ledger), None, "{number}");
            heads.push(ledger.audit_head().unwrap());
        }
        assert_eq!(ledger.audit_head().unwrap().entries, 72);
        for head in &heads {
            assert_eq!(ledger.check_chain(Some(head), |_| ()).unwrap().broken, None);
        }
        let other = Head { entries: 7, hash: heads[0].hash.clone() };
        let found = ledger.check_chain(Some(&other), |_| ()).unwrap().broken;
        assert_eq!(found, Some(Break::OtherHead { entries: 7 }));
    }

    #[test]
    fn every_random_alteration_is_found() {
        let (_folder, ledger) = history(60);
        let alterations = if ledger.connection.is_server() { 300 } else { 1_000 };
        let mut seed = fastrand::Rng::with_seed(7);
        let count = ledger.last_decision().unwrap();
        let columns = [
            "at",
            "session_id",
            "verdict",
            "rule",
            "actions",
            "services",
            "reason",
            "micros",
            "tier",
            "command",
            "hosts",
            "person",
            "undo",
            "agent",
            "effect",
            "budgets",
            "tool_use_id",
            "entry",
            "hash",
        ];
        for number in 0..alterations {
            let row = seed.i64(1..=count);
            let other = (row + seed.i64(1..count) - 1) % count + 1;
            let column = columns[seed.usize(0..columns.len())];
            let value = match column {
                "at" => "'2026-03-22T09:00:00Z'".to_owned(),
                "verdict" => "CASE verdict WHEN 'allow' THEN 'deny' ELSE 'allow' END".to_owned(),
                "tier" => "3".to_owned(),
                "micros" | "entry" => format!("{}", 1_000 + number),
                _ => format!("'altered {number}'"),
            };
            let same_row = "id, at, session_id, tool_use_id, tier, verdict, rule, actions, services, budgets, reason, micros,
                 effect, agent, command, hosts, person, undo, entry, hash";
            let sql = match number % 6 {
                0 | 1 => format!("UPDATE hook_decisions SET {column} = {value} WHERE id = {row}"),
                2 => format!("DELETE FROM hook_decisions WHERE id = {row}"),
                3 => format!("DELETE FROM hook_decisions WHERE id > {}", row.min(count - 1)),
                4 if other != row => format!(
                    "UPDATE hook_decisions SET id = -1 WHERE id = {row}; UPDATE hook_decisions SET id = {row} WHERE id = {other};
                     UPDATE hook_decisions SET id = {other} WHERE id = -1"
                ),
                _ => format!(
                    "INSERT INTO hook_decisions ({same_row}) SELECT {} {} FROM hook_decisions WHERE id = {row}",
                    count + 1,
                    same_row.split_once("id").unwrap().1
                ),
            };
            ledger.connection.execute_batch(&format!("BEGIN; {sql}")).unwrap();
            let found = ledger.check_chain(None, |_| ());
            ledger.connection.execute_batch("ROLLBACK").unwrap();
            assert!(found.unwrap().broken.is_some(), "not found: {sql}");
        }
        assert_eq!(broken(&ledger), None);
    }

    #[test]
    fn a_pruned_audit_is_whole_and_its_beginning_cannot_be_cut_further() {
        let (_folder, mut ledger) = history(60);
        let known = ledger.audit_head().unwrap();
        let wanted = Wanted { cutoff: Some(at(30)), within: Duration::from_mins(1), is_thorough: true };
        ledger.tidy(wanted, at(300), |_| true).unwrap();
        let rows = ledger.check_chain(Some(&known), |_| ()).unwrap();
        assert_eq!(rows.broken, None);
        assert!(rows.rows < 45 && rows.rows > 20, "{rows:?}");
        ledger
            .connection
            .execute_batch("DELETE FROM hook_decisions WHERE id = (SELECT min(id) FROM hook_decisions)")
            .unwrap();
        assert!(matches!(broken(&ledger), Some(Break::Missing { missing: 1, .. })));
    }
}
