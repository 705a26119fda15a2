//! What a change locks on a server. A file has one writer at a time anyway.
//!
//! Locks are advisory and end with their transaction. A change of everything excludes all others; changes of budgets
//! exclude those of budgets of the same services, because a lease and a reset are of a service. They are acquired in one
//! order, so that no two changes wait for each other.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::call_id::CallId;
use crate::engine::{Connection, EngineResult, Error, Result, Server, TextRows, Transaction};
use crate::time;
use opsctl_policy::decide::BudgetKey;

/// What a change reads before it writes.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// Anything.
    All,
    /// Only what is named, beside adding rows and changing single rows by their keys.
    Of {
        /// These budgets.
        budgets: &'a [BudgetKey],
        /// This call, or this session.
        call: Option<CallId<'a>>,
    },
}

/// The time of the server.
pub const CLOCK: &str =
    "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

/// The first number of all advisory locks of the ledger: `opsc` in ASCII.
const FAMILY: i32 = 0x6f70_7363;

/// How long to wait for locks before another attempt, which is behind all others: few attempts are fair.
const TURN: Duration = Duration::from_millis(2500);

/// How long the server keeps a transaction whose agent has stopped.
const STOPPED: Duration = Duration::from_secs(4);

/// Begins a transaction with the locks of `scope`. Returns it and the time of the server after it has them.
pub fn begin<'a>(
    connection: &'a Connection,
    server: &Server,
    scope: Scope<'_>,
    limit: Duration,
) -> Result<(Transaction<'a>, DateTime<Utc>)> {
    // One statement: each has the whole timeout.
    let locks = match scope {
        Scope::All => format!("pg_advisory_xact_lock({FAMILY}, 0)"),
        Scope::Of { budgets, call } => {
            let call =
                call.map(|call| number(&["call", call.session.unwrap_or(""), call.tool_use.unwrap_or("")]));
            // In the order of the numbers, and not of the names: two names may have one number.
            let numbers: BTreeSet<i32> =
                budgets.iter().map(|key| number(&["service", &key.service])).chain(call).collect();
            let of = |number: i32| format!("pg_advisory_xact_lock({FAMILY}, {number})");
            let all = format!("pg_advisory_xact_lock_shared({FAMILY}, 0)");
            std::iter::once(all).chain(numbers.into_iter().map(of)).collect::<Vec<_>>().join(", ")
        }
    };
    let turn = TURN.min(limit);
    // A server that is away must be noticed while this waits, so that it waits in turns. An agent that stops in the middle of
    // a transaction loses its locks before others give up.
    let sql = format!(
        "BEGIN; SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL statement_timeout = {};
         SELECT {locks}; SET LOCAL statement_timeout = DEFAULT; {CLOCK}",
        STOPPED.as_millis(),
        turn.as_millis(),
    );
    // If an answer is lost, dropping this rolls back.
    let transaction = Transaction::begun(connection);
    let mut answer = server.batch_with_locks(&sql, turn);
    let mut waited = turn;
    while matches!(answer, Err(Error::Locked)) && waited < limit {
        answer = server.batch_with_locks(&format!("ROLLBACK; {sql}"), turn);
        waited += turn;
    }
    let now = answer.and_then(|rows| time_of(&rows)).map_err(|cause| connection.failure(cause))?;
    server.clock.set(Some((now, Instant::now())));
    Ok((transaction, now))
}

/// The time in the last row of a batch.
pub fn time_of(rows: &TextRows) -> EngineResult<DateTime<Utc>> {
    let text = rows.last().and_then(|row| row.first()).and_then(Option::as_deref).unwrap_or_default();
    time::read(text).ok_or_else(|| Error::Server(format!("it stated the time as `{text}`")))
}

/// The number of the lock of a name; never 0, which is that of everything.
fn number(words: &[&str]) -> i32 {
    // FNV-1a: the same on all machines and in all releases.
    let mut hash: u32 = 0x811c_9dc5;
    for byte in words.join("\0").bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash.cast_signed().max(1 + i32::MIN) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_calls_have_numbers_of_their_own() {
        let numbers: BTreeSet<i32> = (0..500)
            .map(|n| number(&["service", &format!("service{n}")]))
            .chain([number(&["call", "service1"])])
            .collect();
        assert_eq!(numbers.len(), 501);
        assert!(!numbers.contains(&0));
    }
}
