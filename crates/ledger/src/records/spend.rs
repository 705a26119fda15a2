//! The `api_requests` table: forwarded requests to the model and their cost.

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};

use crate::engine::{Result, from_row, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::budgets::spend::{DAY, Spent};
use opsctl_policy::model::rights::spend::{Usage, Usd};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionSpend {
    /// The client's id of the session; empty for requests that name none.
    pub session: String,
    /// The number of requests.
    pub requests: u64,
    /// Their cost.
    #[serde(serialize_with = "dollars")]
    pub usd: Usd,
}

/// The requests to a model and their cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSpend {
    /// The model.
    pub model: String,
    /// The number of requests.
    pub requests: u64,
    /// Input tokens, those of caches included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The cost.
    #[serde(serialize_with = "dollars")]
    pub usd: Usd,
}

/// Serialises an amount, or an optional one, in dollars.
pub fn dollars<S: Serializer>(
    amount: &(impl Copy + Into<Option<Usd>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*amount).into().map(Usd::dollars).serialize(serializer)
}

const BY_MODEL: &str = "SELECT model, count(*),
         CAST(sum(input_tokens + cache_write_tokens + cache_write_1h_tokens + cache_read_tokens) AS BIGINT),
         CAST(sum(output_tokens) AS BIGINT), CAST(sum(cost_micros) AS BIGINT)
     FROM api_requests WHERE at >= ?1 GROUP BY model ORDER BY 5 DESC, 1 LIMIT 100";

pub(crate) const OF_DAY: &str =
    "SELECT CAST(coalesce(sum(cost_micros), 0) AS BIGINT) FROM api_requests WHERE at > ?1";

pub(crate) const OF_SESSION: &str =
    "SELECT CAST(coalesce(sum(cost_micros), 0) AS BIGINT) FROM api_requests WHERE session_id = ?1";

const COSTS: &str = "SELECT at, cost_micros FROM api_requests WHERE at > ?1 ORDER BY at DESC";

/// For a plain `DISTINCT session_id`, SQLite would walk the whole index by session instead of the one by time.
const BY_SESSION: &str =
    "SELECT session, (SELECT count(*) FROM api_requests WHERE session_id = recent.session),
         (SELECT CAST(sum(cost_micros) AS BIGINT) FROM api_requests WHERE session_id = recent.session)
     FROM (SELECT DISTINCT coalesce(session_id, '') AS session FROM api_requests WHERE at > ?1) AS recent
     ORDER BY 3 DESC LIMIT ?2";

impl Ledger {
    /// What was spent in the last 24 hours, and by this session.
    pub fn spent(&self, session: &str, now: DateTime<Utc>) -> Result<Spent> {
        let sum = |sql: &str, value: &str| self.query_row(sql, params![value], |row| row.count(0)).map(Usd);
        Ok(Spent { day: sum(OF_DAY, &time::write(now - DAY))?, session: sum(OF_SESSION, session)? })
    }

    /// The costs of the last 24 hours, newest first.
    pub fn costs_of_the_day(&self, now: DateTime<Utc>) -> Result<Vec<(DateTime<Utc>, Usd)>> {
        let costs = self.query(COSTS, params![time::write(now - DAY)], |row| {
            Ok(row.time(0)?.zip(Some(Usd(row.count(1)?))))
        })?;
        Ok(costs.into_iter().flatten().collect())
    }

    /// The sessions with requests since then that have spent most, at most `most`, with all of their requests.
    pub fn spend_by_session(&self, since: DateTime<Utc>, most: u32) -> Result<Vec<SessionSpend>> {
        self.query(BY_SESSION, params![time::write(since), most], |row| {
            Ok(SessionSpend { session: row.get(0)?, requests: row.count(1)?, usd: Usd(row.count(2)?) })
        })
    }

    /// The models since then, the most expensive first, at most 100.
    pub fn spend_by_model(&self, since: DateTime<Utc>) -> Result<Vec<ModelSpend>> {
        self.query(BY_MODEL, params![time::write(since)], |row| {
            let usd = Usd(row.count(4)?);
            Ok(from_row!(row => ModelSpend { model, requests: count, input_tokens: count, output_tokens: count; usd }))
        })
    }
}

impl Change<'_> {
    /// Records a request. Returns its row id.
    pub fn add_api_request(&self, request: &ApiRequest) -> Result<i64> {
        let ApiRequest { at, session, model, usage, cost } = request;
        let tokens = &usage.tokens;
        insert!(self.add into api_requests {
            at: time::write(*at), session_id: session, model: model, input_tokens: stored(tokens.input),
            output_tokens: stored(tokens.output), cache_write_tokens: stored(tokens.cache_write),
            cache_write_1h_tokens: stored(tokens.cache_write_1h), cache_read_tokens: stored(tokens.cache_read),
            web_searches: stored(usage.web_searches), cost_micros: stored(cost.0), estimated: usage.estimated,
            agent: self.agent()
        })
    }

    /// Removes a request that cost nothing.
    pub fn remove_api_request(&self, id: i64) -> Result<()> {
        self.run("DELETE FROM api_requests WHERE id = ?1", params![id])
    }

    /// Replaces the model, and what a request used and cost.
    pub fn update_api_request(&self, id: i64, request: &ApiRequest) -> Result<()> {
        let ApiRequest { model, usage, cost, .. } = request;
        let tokens = &usage.tokens;
        self.run(
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
    }
}

/// SQLite's integers are signed. A sum of amounts must not overflow, so one amount is at most a million dollars.
fn stored(count: u64) -> i64 {
    i64::try_from(count.min(1_000_000_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::fixture;
    use opsctl_policy::model::rights::spend::Tokens;

    fn request(at: &str, session: &str, cost: u64) -> ApiRequest {
        let (session, model) = (session.to_owned(), "claude-haiku-5-5".to_owned());
        ApiRequest { at: at.parse().unwrap(), session, model, usage: Usage::default(), cost: Usd(cost) }
    }

    /// A ledger with these requests, a time after them, and the row of the last one.
    fn with(requests: &[ApiRequest]) -> (TempDir, Ledger, DateTime<Utc>, i64) {
        let (folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        let rows: Vec<i64> =
            requests.iter().map(|request| change.add_api_request(request).unwrap()).collect();
        change.commit().unwrap();
        (folder, ledger, "2026-03-21T14:00:00Z".parse().unwrap(), *rows.last().unwrap())
    }

    #[test]
    fn the_day_is_a_sliding_window_and_a_session_has_none() {
        let (_folder, ledger, now, _) = with(&[
            request("2026-03-20T13:59:59Z", "a", 1),
            request("2026-03-20T14:00:00Z", "a", 10),
            request("2026-03-20T14:00:01Z", "b", 100),
            request("2026-03-21T13:00:00Z", "a", 1000),
        ]);
        assert_eq!(ledger.spent("a", now).unwrap(), Spent { day: Usd(1100), session: Usd(1011) });
        assert_eq!(ledger.spent("c", now).unwrap().session, Usd(0));
        let costs: Vec<u64> = ledger.costs_of_the_day(now).unwrap().iter().map(|(_, cost)| cost.0).collect();
        assert_eq!(costs, [1000, 100]);
        let sessions = ledger.spend_by_session(now - DAY, 1).unwrap();
        assert_eq!(sessions, [SessionSpend { session: "a".into(), requests: 3, usd: Usd(1011) }]);
    }

    #[test]
    fn the_end_of_a_response_replaces_its_beginning() {
        let began = request("2026-03-21T13:00:00Z", "a", 5);
        let (_folder, mut ledger, now, id) = with(std::slice::from_ref(&began));
        let usage = Usage { tokens: Tokens { output: 7, ..Tokens::default() }, ..Usage::default() };
        let change = ledger.change().unwrap();
        change.update_api_request(id, &ApiRequest { usage, cost: Usd(50), ..began }).unwrap();
        change.commit().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap(), Spent { day: Usd(50), session: Usd(50) });
        let change = ledger.change().unwrap();
        change.remove_api_request(id).unwrap();
        change.commit().unwrap();
        assert_eq!(ledger.spent("a", now).unwrap(), Spent::default());
    }

    #[test]
    fn one_absurd_request_does_not_overflow_the_sum() {
        let absurd = request("2026-03-21T13:00:00Z", "a", u64::MAX);
        let (_folder, ledger, now, _) = with(&[absurd.clone(), absurd.clone(), absurd]);
        assert_eq!(ledger.spent("a", now).unwrap().day, Usd(3_000_000_000_000));
    }
}
