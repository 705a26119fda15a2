//! The `api_requests` table: forwarded requests to the model and their cost.

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::engine;
use super::engine::params;
use super::error::LedgerError;
use super::{migrate, time};
use crate::model::spend::{Usage, Usd};
use crate::policy::spend::{DAY, Spent};

/// A request to the model whose response has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// When the response began.
    pub at: DateTime<Utc>,
    /// The client's id of the session; empty if the request names none.
    pub session: String,
    /// The model, as the response names it.
    pub model: String,
    /// What it used, as far as it is known.
    pub usage: Usage,
    /// The cost.
    pub cost: Usd,
}

/// What a session has spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpend {
    /// The client's id of the session; empty for requests that name none.
    pub session: String,
    /// The number of requests.
    pub requests: u64,
    /// Their cost.
    pub usd: Usd,
}

/// The requests to a model and their cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpend {
    /// The model.
    pub model: String,
    /// The number of requests.
    pub requests: u64,
    /// Input tokens, those of caches included.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// The cost.
    pub usd: Usd,
}

const BY_MODEL: &str = "SELECT model, count(*),
         sum(input_tokens + cache_write_tokens + cache_write_1h_tokens + cache_read_tokens), sum(output_tokens), sum(cost_micros)
     FROM api_requests WHERE at >= ?1 GROUP BY model ORDER BY 5 DESC, 1 LIMIT 100";

pub(super) const OF_DAY: &str = "SELECT coalesce(sum(cost_micros), 0) FROM api_requests WHERE at > ?1";

pub(super) const OF_SESSION: &str =
    "SELECT coalesce(sum(cost_micros), 0) FROM api_requests WHERE session_id = ?1";

const COSTS: &str = "SELECT at, cost_micros FROM api_requests WHERE at > ?1 ORDER BY at DESC";

const BY_SESSION: &str = "SELECT session_id, count(*), sum(cost_micros) FROM api_requests
     WHERE session_id IN (SELECT session_id FROM api_requests WHERE at > ?1)
     GROUP BY session_id ORDER BY 3 DESC LIMIT ?2";

impl Ledger {
    /// What was spent in the last 24 hours, and by this session.
    pub fn spent(&self, session: &str, now: DateTime<Utc>) -> Result<Spent, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "api_requests")? {
                return Ok(Spent::default());
            }
            let sum = |sql: &str, value: &str| {
                self.connection.query_row(sql, [value], |row| row.get::<i64>(0)).map(usd)
            };
            Ok(Spent { day: sum(OF_DAY, &time::write(now - DAY))?, session: sum(OF_SESSION, session)? })
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The costs of the last 24 hours, newest first.
    pub fn costs_of_the_day(&self, now: DateTime<Utc>) -> Result<Vec<(DateTime<Utc>, Usd)>, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "api_requests")? {
                return Ok(vec![]);
            }
            let mut statement = self.connection.prepare(COSTS)?;
            let rows = statement
                .query_map([time::write(now - DAY)], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))?;
            let rows = rows.collect::<engine::Result<Vec<_>>>()?;
            Ok(rows.into_iter().filter_map(|(at, cost)| Some((time::read(&at)?, usd(cost)))).collect())
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The sessions with requests since then that have spent most, at most `most`, with all of their requests.
    pub fn spend_by_session(
        &self,
        since: DateTime<Utc>,
        most: u32,
    ) -> Result<Vec<SessionSpend>, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "api_requests")? {
                return Ok(vec![]);
            }
            let mut statement = self.connection.prepare(BY_SESSION)?;
            let rows = statement.query_map(params![time::write(since), most], |row| {
                let (requests, cost): (i64, i64) = (row.get(1)?, row.get(2)?);
                Ok(SessionSpend {
                    session: row.get(0)?,
                    requests: u64::try_from(requests).unwrap_or(0),
                    usd: usd(cost),
                })
            })?;
            rows.collect()
        };
        look().map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// The models since then, the dearest first, at most 100.
    pub fn spend_by_model(&self, since: Option<DateTime<Utc>>) -> Result<Vec<ModelSpend>, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "api_requests")? {
                return Ok(vec![]);
            }
            let mut statement = self.connection.prepare(BY_MODEL)?;
            let rows = statement.query_map(
                [since.map_or_else(|| time::BEFORE_ALL.to_owned(), time::write)],
                |row| {
                    let [requests, input, output, cost] =
                        [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
                    let [requests, input, output] =
                        [requests, input, output].map(|count: i64| u64::try_from(count).unwrap_or(0));
                    Ok(ModelSpend { model: row.get(0)?, requests, input, output, usd: usd(cost) })
                },
            )?;
            rows.collect()
        };
        look().map_err(|cause| self.error(cause))
    }
}

impl Change<'_> {
    /// Records a request. Returns its row id.
    pub fn add_api_request(&self, request: &ApiRequest) -> Result<i64, LedgerError> {
        let ApiRequest { at, session, model, usage, cost } = request;
        let tokens = &usage.tokens;
        self.transaction
            .query_row(
                "INSERT INTO api_requests (at, session_id, model, input_tokens, output_tokens, cache_write_tokens,
                     cache_write_1h_tokens, cache_read_tokens, web_searches, cost_micros, estimated, agent)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING id",
                params![
                    time::write(*at),
                    session,
                    model,
                    stored(tokens.input),
                    stored(tokens.output),
                    stored(tokens.cache_write),
                    stored(tokens.cache_write_1h),
                    stored(tokens.cache_read),
                    stored(usage.web_searches),
                    stored(cost.0),
                    usage.estimated,
                    self.agent(),
                ],
                |row| row.get(0),
            )
            .map_err(|cause| self.error(cause))
    }

    /// Removes a request that cost nothing.
    pub fn remove_api_request(&self, id: i64) -> Result<(), LedgerError> {
        self.transaction
            .run("DELETE FROM api_requests WHERE id = ?1", params![id])
            .map_err(|cause| self.error(cause))
    }

    /// Replaces the model, and what a request used and cost.
    pub fn update_api_request(&self, id: i64, request: &ApiRequest) -> Result<(), LedgerError> {
        let ApiRequest { model, usage, cost, .. } = request;
        let tokens = &usage.tokens;
        self.transaction
            .run(
                "UPDATE api_requests SET input_tokens = ?2, output_tokens = ?3, cache_write_tokens = ?4,
                     cache_write_1h_tokens = ?5, cache_read_tokens = ?6, web_searches = ?7, cost_micros = ?8, estimated = ?9, model = ?10
                 WHERE id = ?1",
                params![
                    id,
                    stored(tokens.input),
                    stored(tokens.output),
                    stored(tokens.cache_write),
                    stored(tokens.cache_write_1h),
                    stored(tokens.cache_read),
                    stored(usage.web_searches),
                    stored(cost.0),
                    usage.estimated,
                    model
                ],
            )
            .map_err(|cause| self.error(cause))
    }
}

/// SQLite's integers are signed. A sum of amounts must not overflow, so one amount is at most a million dollars.
fn stored(count: u64) -> i64 {
    i64::try_from(count.min(1_000_000_000_000)).unwrap_or(i64::MAX)
}

fn usd(micros: i64) -> Usd {
    Usd(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture;
    use crate::model::spend::Tokens;

    fn request(at: &str, session: &str, cost: u64) -> ApiRequest {
        ApiRequest {
            at: at.parse().unwrap(),
            session: session.to_owned(),
            model: "claude-haiku-5-5".to_owned(),
            usage: Usage::default(),
            cost: Usd(cost),
        }
    }

    #[test]
    fn the_day_is_a_sliding_window_and_a_session_has_none() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        for row in [
            request("2026-03-20T13:59:59Z", "a", 1),
            request("2026-03-20T14:00:00Z", "a", 10),
            request("2026-03-20T14:00:01Z", "b", 100),
            request("2026-03-21T13:00:00Z", "a", 1000),
        ] {
            change.add_api_request(&row).unwrap();
        }
        change.commit().unwrap();
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap(), Spent { day: Usd(1100), session: Usd(1011) });
        assert_eq!(ledger.spent("c", now).unwrap().session, Usd(0));
        let costs: Vec<u64> = ledger.costs_of_the_day(now).unwrap().iter().map(|(_, cost)| cost.0).collect();
        assert_eq!(costs, [1000, 100]);
        let sessions = ledger.spend_by_session(now - DAY, 1).unwrap();
        assert_eq!(sessions, [SessionSpend { session: "a".into(), requests: 3, usd: Usd(1011) }]);
    }

    #[test]
    fn the_end_of_a_response_replaces_its_beginning() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        let id = change.add_api_request(&request("2026-03-21T13:00:00Z", "a", 5)).unwrap();
        let usage = Usage { tokens: Tokens { output: 7, ..Tokens::default() }, ..Usage::default() };
        let ended = ApiRequest { usage, ..request("2026-03-21T13:00:00Z", "a", 50) };
        change.update_api_request(id, &ended).unwrap();
        change.commit().unwrap();
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap(), Spent { day: Usd(50), session: Usd(50) });
        let change = ledger.change().unwrap();
        change.remove_api_request(id).unwrap();
        change.commit().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap(), Spent::default());
    }

    #[test]
    fn one_absurd_request_does_not_overflow_the_sum() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        for _ in 0..3 {
            change.add_api_request(&request("2026-03-21T13:00:00Z", "a", u64::MAX)).unwrap();
        }
        change.commit().unwrap();
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap().day, Usd(3_000_000_000_000));
    }
}
