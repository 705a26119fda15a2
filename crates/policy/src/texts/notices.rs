//! The texts of notifications to the operators, and their quiet periods.

use chrono::{DateTime, TimeDelta, Utc};

use crate::budgets::budget::{Fit, fit};
use crate::decide::{BudgetKey, Budgets, Reservation};
use crate::lists::API_REMEDIES;
use crate::model::display::relative_time::timestamp as time;
use crate::model::records::event::Level;
use crate::model::records::notice::Notice;
use crate::model::records::question::NewQuestion;
use crate::model::rights::policy::{Budget, Tier};

/// The quiet period after a failed request to the model: such a failure often affects several sessions.
const API_QUIET: TimeDelta = TimeDelta::hours(4);

/// The quiet period after a failure of the guard: a broken ledger fails at each action until an operator fixes it.
const GUARD_QUIET: TimeDelta = TimeDelta::hours(1);

/// The most lines of a command in a notice.
const COMMAND_LINES: usize = 40;

/// The most bytes of a command in a notice: targets cut longer messages.
const COMMAND_BYTES: usize = 2_000;

/// A used-up budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhausted {
    /// The budget.
    pub key: BudgetKey,
    /// The limit.
    pub budget: Budget,
    /// The number of actions that count now.
    pub used: usize,
    /// When the next action fits; `None`: never, the limit is 0.
    pub next: Option<DateTime<Utc>>,
}

/// The used-up budgets among those that these actions draw on, each once; those of hosts have `host NAME` for the service.
pub fn exhausted(wanted: &[Reservation], budgets: Budgets<'_>) -> Vec<Exhausted> {
    let policy = budgets.policy;
    let mut found: Vec<Exhausted> = Vec::new();
    let mut add = |key: BudgetKey, budget: Budget, counted: &[DateTime<Utc>]| {
        let next = match fit(counted, &budget, 1) {
            Fit::Fits => return,
            Fit::From(next) => Some(next),
            Fit::Never => None,
        };
        if found.iter().all(|exhausted| exhausted.key != key) {
            found.push(Exhausted { key, budget, used: counted.len(), next });
        }
    };
    let counting = || wanted.iter().filter(|wanted| wanted.counts).map(|wanted| &wanted.key);
    counting().for_each(|key| add(key.clone(), *key.budget(policy), &budgets.counted(key)));
    for host in &policy.host_budgets {
        for (kind, budget) in host.budgets().filter(|(kind, _)| counting().any(|key| host.counts(key, kind)))
        {
            let key = BudgetKey { service: format!("host {}", host.host), kind };
            add(key, *budget, &host.counted(kind, budget, budgets));
        }
    }
    found
}

/// The notice of a used-up budget. It is not repeated until the budget has a free place again.
pub fn budget_exhausted(
    exhausted: &Exhausted,
    denied: &str,
    session: Option<&str>,
    tier: Option<Tier>,
    now: DateTime<Utc>,
) -> Notice {
    let Exhausted { key: BudgetKey { service, kind }, budget, used, next } = exhausted;
    let Budget { limit, window, .. } = budget;
    let next_allowed = next.map_or_else(
        || "The limit is 0: no action is allowed.".to_owned(),
        |next| format!("The next one is allowed at {}.", time(next)),
    );
    let mut body = format!(
        "**{service}** has used up its budget: {used}/{limit} {kind}s in last {window}. {next_allowed}\n\n- denied: `{denied}`\n"
    );
    body += &origin(session, tier);
    body += &format!("\nIf {service} is unhealthy, an operator has to act: the agent may not continue.");
    let (key, title) = (format!("budget/{kind}/{service}"), format!("{service}: no {kind} left"));
    Notice::new(key, "budget", Level::Warning, title, body)
        .quiet_until(next.unwrap_or(now + window.delta()))
        .with_tags([service.strip_prefix("host ").unwrap_or(service)])
}

/// The notice of a question to a person. `url` is the address of the desk, the page on which it can be answered.
pub fn question_asked(id: i64, question: &NewQuestion, contact: &[String], url: Option<&str>) -> Notice {
    let NewQuestion { call, reasons, tier, words, expires_at, .. } = question;
    let mut body = format!("A session waits for an answer until {}.\n\n", time(*expires_at));
    let (shown, missing) = first_lines(&call.command);
    body.extend(shown.iter().map(|line| format!("    {line}\n")));
    if missing > 0 {
        let lines = if missing == 1 { "line" } else { "lines" };
        body += &format!(
            "\n… {missing} more {lines} of the command. Read all of it on the desk or with `opsctl approvals` before you answer.\n"
        );
    }
    body.push('\n');
    body.extend(reasons.iter().map(|reason| format!("- {reason}\n")));
    body.extend(call.service.iter().map(|service| format!("- service: {service}\n")));
    body += &origin(Some(&call.session), tier.and_then(Tier::from_number));
    if let Some(words) = words {
        let quoted: String = words.lines().map(|line| format!("> {line}\n")).collect();
        body += &format!("\nThe agent's last words:\n\n{quoted}");
    }
    body += &format!("\nAnswer with `opsctl approve {id}` or `opsctl refuse {id}`, where the guard runs");
    body += &url.map_or_else(|| ".".to_owned(), |url| format!(", or on {url}"));
    let what = call.service.as_deref().unwrap_or("a command");
    let title = format!("Question {id}: may the agent act on {what}?");
    Notice::new(format!("question/{id}"), "question", Level::Warning, title, body)
        .with_tags(call.service.iter().chain(contact).map(String::as_str))
}

/// The first lines of a command, as its notice shows them, and how many lines are missing.
pub fn first_lines(command: &str) -> (Vec<&str>, usize) {
    let mut bytes = 0;
    let shown: Vec<&str> = command
        .lines()
        .take(COMMAND_LINES)
        .take_while(|line| {
            bytes += line.len();
            bytes <= COMMAND_BYTES
        })
        .collect();
    let missing = command.lines().count() - shown.len();
    (shown, missing)
}

/// The notice of an answer that no person has given.
pub fn forged_answer(id: i64, session: &str, now: DateTime<Utc>) -> Notice {
    let body = format!(
        "Question {id} has an answer in the ledger whose signature is not valid for the call. The call was denied. Another \
         program writes to the ledger, or `policy.approval_key` has changed since the answer was given.\n\n{}",
        origin(Some(session), None)
    );
    let title = format!("The answer to question {id} is not genuine");
    of_guard("forged", title, body, now)
}

/// The notice of a failure of the guard.
pub fn guard_failed(message: &str, session: Option<&str>, now: DateTime<Utc>) -> Notice {
    let body = format!("{message}\n\n{}", origin(session, None));
    of_guard("guard", "The guard has failed", body, now)
}

fn of_guard(key: &str, title: impl Into<String>, body: String, now: DateTime<Utc>) -> Notice {
    Notice::new(key, "guard", Level::Critical, title, body).quiet_until(now + GUARD_QUIET)
}

/// The notice of a ledger that has lost rows.
pub fn ledger_lost(loss: &str, session: Option<&str>, now: DateTime<Utc>) -> Notice {
    let body = format!(
        "{loss}.\n\nActions that it had recorded count only if cooldown.json holds them.\n\n{}",
        origin(session, None)
    );
    of_guard("ledger", "The ledger has lost actions", body, now)
}

/// The notice of a session that ended while services that it acted on are unhealthy.
pub fn verification_given_up(
    failed: &[(&str, Vec<String>)],
    attempts: u32,
    session: Option<&str>,
    tier: Option<Tier>,
) -> Notice {
    unhealthy(failed, &format!("Still unhealthy after {attempts} attempts of the agent"), session, tier)
}

/// The notice of services that are unhealthy after an earlier session acted on them, and its outcome was unknown.
pub fn left_unhealthy(failed: &[(&str, Vec<String>)], session: &str, tier: Option<Tier>) -> Notice {
    unhealthy(failed, "Unhealthy after a session that was cut off while it acted", Some(session), tier)
}

fn unhealthy(failed: &[(&str, Vec<String>)], how: &str, session: Option<&str>, tier: Option<Tier>) -> Notice {
    let services: Vec<&str> = failed.iter().map(|(service, _)| *service).collect();
    let mut body = format!("{how}:\n\n");
    for (service, why) in failed {
        body += &format!("**{service}**\n");
        body.extend(why.iter().map(|line| format!("- {line}\n")));
        body.push('\n');
    }
    body += &origin(session, tier);
    of_services(("verification", "needs human attention"), Level::Critical, body, session, &services)
}

/// An action on a service, and the verification after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The service.
    pub service: String,
    /// What happened to it: `restarted`, `redeployment failed`.
    pub done: String,
    /// The host; `None` for this machine, or if unknown.
    pub host: Option<String>,
    /// Whether it is healthy; `None` if it cannot be checked.
    pub healthy: Option<bool>,
    /// Why it, or a part of it, was not checked.
    pub unchecked: Vec<String>,
    /// The time from the action to the verification.
    pub after: TimeDelta,
    /// How much of its budget is used.
    pub used: usize,
    /// The limit of its budget.
    pub limit: u32,
}

/// The notice of services that a session acted on and that were verified at its end.
pub fn remediation_verified(repairs: &[Repair], session: Option<&str>, tier: Option<Tier>) -> Notice {
    let mut body = String::new();
    for Repair { service, done, host, healthy, unchecked, after, used, limit } in repairs {
        let host = host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
        let health = match healthy {
            Some(true) => format!("healthy after {} s", after.num_seconds()),
            Some(false) => "unhealthy".to_owned(),
            None if unchecked.is_empty() => "not verified: no check is configured".to_owned(),
            None => format!("not verified: {}", unchecked.join("; ")),
        };
        body += &format!("- {service} {done}{host}, {health}, {used} of {limit} used\n");
    }
    body += &format!("\n{}", origin(session, tier));
    let services: Vec<&str> = repairs.iter().map(|repair| repair.service.as_str()).collect();
    let verified = repairs.iter().all(|repair| repair.healthy == Some(true));
    let what = if verified { "repaired and healthy" } else { "repaired" };
    of_services(("remediation", what), Level::Info, body, session, &services)
}

fn of_services(
    (subject, what): (&str, &str),
    level: Level,
    body: String,
    session: Option<&str>,
    services: &[&str],
) -> Notice {
    let key = format!("{subject}/{}/{}", session.unwrap_or_default(), services.join(","));
    let title = format!("{}: {what}", services.join(", "));
    Notice::new(key, "verification", level, title, body).with_tags(services.iter().copied())
}

/// The notice of actions that ran, a line each, and whose outcome is not known.
pub fn outcome_unknown(actions: &[String], services: &[&str], why: &str, session: Option<&str>) -> Notice {
    let lines: String = actions.iter().map(|line| format!("- {line}\n")).collect();
    let body = format!(
        "Allowed, and its result is not known: {why}.\n\n{lines}\nIt counts against the budget. The next session verifies the service; \
         check it with `opsctl verify`.\n\n{}",
        origin(session, None)
    );
    of_services(("outcome", "outcome unknown"), Level::Critical, body, session, services)
}

/// The report of a session of the highest tier. `said` is the last text of the agent.
pub fn session_report(ended: &str, said: &str, level: Level, session: &str, tier: Tier) -> Notice {
    let quoted: String = said.lines().map(|line| format!("> {line}\n")).collect();
    let body = format!("{ended}.\n\n{quoted}\n{}", origin(Some(session), Some(tier)));
    let title = format!("opsctl: report of a session of tier {}", tier.number());
    Notice::new(format!("session/{session}"), "session", level, title, body)
}

/// The notice of a turn that ended because a request to the model failed.
pub fn api_failed(
    error: &str,
    message: &str,
    session: Option<&str>,
    tier: Option<Tier>,
    now: DateTime<Utc>,
) -> Notice {
    let said = if message.is_empty() { String::new() } else { format!("> {message}\n\n") };
    let body = format!(
        "The agent stopped: a request to the model failed (`{error}`).\n\n{said}{}\n{}",
        origin(session, tier),
        remedy(error)
    );
    let title = format!("The agent stopped: {}", error.replace('_', " "));
    Notice::new(format!("api/{error}"), "api", api_level(error), title, body).quiet_until(now + API_QUIET)
}

/// The level of a failed request: `warning` for temporary errors, `critical` for errors that need an operator.
pub fn api_level(error: &str) -> Level {
    match error {
        "rate_limit" | "overloaded" | "server_error" | "max_output_tokens" => Level::Warning,
        _ => Level::Critical,
    }
}

fn remedy(error: &str) -> &'static str {
    API_REMEDIES
        .iter()
        .find(|(known, _)| *known == error)
        .map_or("Check the session's log.", |(_, remedy)| *remedy)
}

fn origin(session: Option<&str>, tier: Option<Tier>) -> String {
    let session = session.map(|session| format!("- session: {session}\n")).unwrap_or_default();
    let tier = tier.map(|tier| format!("- tier: {}\n", tier.number())).unwrap_or_default();
    session + &tier
}
