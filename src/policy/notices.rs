//! The words of what an operator is to hear, and when the same is told again.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::decide::{BudgetKey, Reservation, Snapshot};
use crate::model::event::Level;
use crate::model::notice::{Body, Notice};
use crate::model::policy::{Budget, Policy, Tier};
use crate::policy::budget::{Fit, fit};

/// The model that cannot be asked stays so for a while, session after session.
const API_QUIET: TimeDelta = TimeDelta::hours(4);

/// A broken ledger fails at each action until somebody mends it.
const GUARD_QUIET: TimeDelta = TimeDelta::hours(1);

/// A budget that has nothing left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhausted {
    /// Whose.
    pub key: BudgetKey,
    /// The limit.
    pub budget: Budget,
    /// How much counts now.
    pub used: usize,
    /// When the next action fits; `None`: never, the limit is 0.
    pub next: Option<DateTime<Utc>>,
}

/// The budgets that these actions draw on and that have nothing left, each once.
pub fn exhausted(
    wanted: &[Reservation],
    snapshot: &Snapshot,
    policy: &Policy,
    now: DateTime<Utc>,
) -> Vec<Exhausted> {
    let mut found: Vec<Exhausted> = Vec::new();
    for reservation in wanted.iter().filter(|wanted| wanted.counts) {
        let key = &reservation.key;
        let budget = if key.kind == "redeployment" { policy.redeployment } else { policy.restart };
        let counted = snapshot.get(key).map(|usage| usage.counted(&budget, now)).unwrap_or_default();
        let next = match fit(&counted, &budget, 1) {
            Fit::Fits => continue,
            Fit::From(next) => Some(next),
            Fit::Never => None,
        };
        if found.iter().all(|exhausted| exhausted.key != *key) {
            found.push(Exhausted { key: key.clone(), budget, used: counted.len(), next });
        }
    }
    found
}

/// The agent wanted more than a budget has left. Told once until the budget has a place again.
pub fn budget_exhausted(
    exhausted: &Exhausted,
    denied: &str,
    session: Option<&str>,
    tier: Option<Tier>,
    now: DateTime<Utc>,
) -> Notice {
    let Exhausted { key: BudgetKey { service, kind }, budget, used, next } = exhausted;
    let Budget { limit, window } = budget;
    let next_allowed = next.map_or_else(
        || "None is ever allowed.".to_owned(),
        |next| format!("The next one is allowed at {}.", time(next)),
    );
    let mut body = format!(
        "**{service}** has used up its budget: {used}/{limit} {kind}s in last {window}. {next_allowed}\n\n- denied: `{denied}`\n"
    );
    body += &origin(session, tier);
    body += &format!("\nIf {service} is not well, it needs a person: the agent may not go on.");
    Notice {
        key: format!("budget/{kind}/{service}"),
        quiet_until: Some(next.unwrap_or(now + window.delta())),
        level: Level::Warning,
        title: format!("{service}: no {kind} left"),
        body: Body::Markdown(body),
        tags: vec!["budget".to_owned(), service.clone()],
    }
}

/// The guard could not do its work.
pub fn guard_failed(message: &str, session: Option<&str>, now: DateTime<Utc>) -> Notice {
    Notice {
        key: "guard".to_owned(),
        quiet_until: Some(now + GUARD_QUIET),
        level: Level::Critical,
        title: "The guard has failed".to_owned(),
        body: Body::Markdown(format!("{message}\n\n{}", origin(session, None))),
        tags: vec!["guard".to_owned()],
    }
}

/// A session was let go although services that it acted on are unhealthy.
pub fn verification_given_up(
    failed: &[(&str, Vec<String>)],
    attempts: u32,
    session: Option<&str>,
    tier: Option<Tier>,
) -> Notice {
    let services: Vec<&str> = failed.iter().map(|(service, _)| *service).collect();
    let mut body = format!("Still unhealthy after {attempts} attempts of the agent:\n\n");
    for (service, why) in failed {
        body += &format!("**{service}**\n");
        body.extend(why.iter().map(|line| format!("- {line}\n")));
        body.push('\n');
    }
    body += &origin(session, tier);
    Notice {
        key: format!("verification/{}/{}", session.unwrap_or_default(), services.join(",")),
        quiet_until: None,
        level: Level::Critical,
        title: format!("{}: needs human attention", services.join(", ")),
        body: Body::Markdown(body),
        tags: [
            vec!["verification".to_owned()],
            services.iter().map(|service| (*service).to_owned()).collect(),
        ]
        .concat(),
    }
}

/// What a turn's end without an answer of the model means to an operator.
pub fn api_failed(
    error: &str,
    message: &str,
    session: Option<&str>,
    tier: Option<Tier>,
    now: DateTime<Utc>,
) -> Notice {
    let said = if message.is_empty() { String::new() } else { format!("> {message}\n\n") };
    let body = format!(
        "The agent stopped: the model could not be asked (`{error}`).\n\n{said}{}\n{}",
        origin(session, tier),
        remedy(error)
    );
    Notice {
        key: format!("api/{error}"),
        quiet_until: Some(now + API_QUIET),
        level: api_level(error),
        title: format!("The agent stopped: {}", error.replace('_', " ")),
        body: Body::Markdown(body),
        tags: vec!["api".to_owned()],
    }
}

/// What passes by itself is a warning; the rest waits for a person.
pub fn api_level(error: &str) -> Level {
    match error {
        "rate_limit" | "overloaded" | "server_error" | "max_output_tokens" => Level::Warning,
        _ => Level::Critical,
    }
}

fn remedy(error: &str) -> &'static str {
    match error {
        "rate_limit" => "It passes when the limit is reset; sessions begin as planned.",
        "overloaded" | "server_error" => "It usually passes; sessions begin as planned.",
        "authentication_failed" | "cloud_credential_error" | "oauth_org_not_allowed" => {
            "Until the credentials are mended no session can do anything."
        }
        "billing_error" | "account_on_hold" | "verification_required" => {
            "Until the account is in order no session can do anything."
        }
        "model_not_found" => "Check the model of this tier in hosts.yaml.",
        _ => "Look at the session's log.",
    }
}

fn origin(session: Option<&str>, tier: Option<Tier>) -> String {
    let session = session.map(|session| format!("- session: {session}\n")).unwrap_or_default();
    let tier = tier.map(|tier| format!("- tier: {}\n", tier.number())).unwrap_or_default();
    session + &tier
}

fn time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
