//! What was spent on requests to the model, for verbs and reports.

use chrono::{DateTime, Utc};
use serde::Serialize;

use opsctl_ledger::records::spend::{SessionSpend, dollars};
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::budgets::spend::{DAY, Limit, Standing};
use opsctl_policy::model::rights::spend::{SpendPolicy, Usd};

/// The number of sessions that are listed.
const SESSIONS: u32 = 5;

/// What was spent, and the limits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Spending {
    /// The cost of the last 24 hours.
    #[serde(rename = "usd_last_day", serialize_with = "dollars")]
    pub day: Usd,
    /// The limit of 24 hours.
    #[serde(rename = "limit_usd_day", serialize_with = "dollars")]
    pub day_limit: Option<Usd>,
    /// The limit of a session.
    #[serde(rename = "limit_usd_session", serialize_with = "dollars")]
    pub session_limit: Option<Usd>,
    /// The most expensive sessions of the last 24 hours, with all that they have spent.
    pub sessions: Vec<SessionSpend>,
}

/// A line about what was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The text.
    pub text: String,
    /// Whether the limit is near; `false` without a limit.
    pub is_near: bool,
    /// Whether the limit is reached.
    pub is_reached: bool,
}

impl Spending {
    /// Reads the ledger, if it exists.
    pub fn read(ledger: Option<&Ledger>, policy: &SpendPolicy, now: DateTime<Utc>) -> Result<Self> {
        let mut found = Self { day_limit: policy.day, session_limit: policy.session, ..Self::default() };
        if let Some(ledger) = ledger {
            found.day = ledger.spent("", now)?.day;
            found.sessions = ledger.spend_by_session(now - DAY, SESSIONS)?;
        }
        Ok(found)
    }

    /// Lines for people; none if nothing is limited and nothing was spent.
    pub fn lines(&self) -> Vec<Line> {
        let Self { day, day_limit, session_limit, sessions } = self;
        if day_limit.is_none() && session_limit.is_none() && sessions.is_empty() {
            return vec![];
        }
        let mut lines = vec![line("the last 24 h", *day, *day_limit, Limit::Day, "")];
        for SessionSpend { session, requests, usd } in sessions {
            let name = if session.is_empty() {
                "requests without a session".to_owned()
            } else {
                format!("session {session}")
            };
            let requests =
                if *requests == 1 { ", 1 request".to_owned() } else { format!(", {requests} requests") };
            lines.push(line(&name, *usd, *session_limit, Limit::Session, &requests));
        }
        lines
    }
}

fn line(name: &str, spent: Usd, most: Option<Usd>, limit: Limit, more: &str) -> Line {
    let Some(most) = most else {
        return Line { text: format!("{name}: {spent}{more}"), is_near: false, is_reached: false };
    };
    let standing = Standing { limit, spent, most };
    Line {
        text: format!("{name}: {spent} of {most}{more}"),
        is_near: standing.is_near(),
        is_reached: standing.is_reached(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_state_limits_where_there_are_some() {
        let session =
            |name: &str, requests, usd| SessionSpend { session: name.into(), requests, usd: Usd(usd) };
        let mut spending = Spending::default();
        assert_eq!(spending.lines(), []);
        spending.day = Usd(4_500_000);
        spending.sessions = vec![session("a", 12, 4_000_000), session("", 1, 500_000)];
        let texts =
            |spending: &Spending| spending.lines().into_iter().map(|line| line.text).collect::<Vec<_>>();
        assert_eq!(
            texts(&spending),
            [
                "the last 24 h: $4.50",
                "session a: $4.00, 12 requests",
                "requests without a session: $0.50, 1 request"
            ]
        );
        (spending.day_limit, spending.session_limit) = (Some(Usd(4_000_000)), Some(Usd(5_000_000)));
        assert_eq!(
            texts(&spending)[..2],
            ["the last 24 h: $4.50 of $4.00", "session a: $4.00 of $5.00, 12 requests"]
        );
        let states: Vec<(bool, bool)> =
            spending.lines().iter().map(|line| (line.is_near, line.is_reached)).collect();
        assert_eq!(states, [(true, true), (true, false), (false, false)]);
    }
}
