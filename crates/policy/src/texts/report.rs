//! The events of actions and verifications: levels and texts.

use crate::lists::PAST_VERBS;
use crate::model::records::event::{Level, NewEvent, ToolResult};
use crate::model::records::verdict::ResolvedAction;
use opsctl_reader::terms::action::{Action, ActionKind, Family, Verb};
use opsctl_reader::terms::plain_text::plain;

/// The event of an action that has run.
///
/// Levels follow Claude Ops: routine is `info`, a remediation `warning`, a failed one `critical`. Taking a
/// compose service down is `critical` too: it stays down until it is started again.
pub fn event(action: &ResolvedAction, result: &ToolResult) -> NewEvent {
    let ResolvedAction { action, service, host, .. } = action;
    let succeeded = *result == ToolResult::Succeeded;
    let level = match action.kind {
        _ if !succeeded => Level::Critical,
        ActionKind::Forbidden => Level::Critical,
        ActionKind::PullRequest | ActionKind::Notification => Level::Info,
        ActionKind::Restart if action.family == Family::Compose && action.verb == Verb::Stop => {
            Level::Critical
        }
        ActionKind::Restart | ActionKind::Redeployment => Level::Warning,
    };
    let message = message(action, host.as_deref(), result);
    // Titles and names come from a command line: a line break in one would fake a second event in a list.
    NewEvent { level, service: service.clone(), message: plain(&message) }
}

/// The event of secrets in the output of a tool, which were replaced before the model read it. `what` is the command or the
/// tool, without secrets.
pub fn secrets_redacted(count: usize, what: &str) -> NewEvent {
    let secrets = if count == 1 { "1 secret" } else { &format!("{count} secrets") };
    let message = format!("{secrets} redacted in the output of `{what}`");
    NewEvent { level: Level::Info, service: None, message: plain(&message) }
}

/// The event of secrets in the output of a command that failed: the client shows such output to the model unchanged.
pub fn secrets_shown(count: usize, what: &str) -> NewEvent {
    let (secrets, were) =
        if count == 1 { ("1 secret", "was") } else { (&*format!("{count} secrets"), "were") };
    let message = format!(
        "{secrets} in the output of `{what}` {were} not redacted: the command failed, and the client shows such output unchanged"
    );
    NewEvent { level: Level::Warning, service: None, message: plain(&message) }
}

/// The event of an action that ran, and whose outcome is not known.
pub fn outcome_unknown(verb: &str, service: &str, host: Option<&str>, why: &str) -> NewEvent {
    let message = format!("{}, outcome unknown: {why}", done_on(verb, service, host));
    of_service(Level::Critical, service, &message)
}

/// What was done to a service, such as `jellyfin restarted on nas`.
pub fn done_on(verb: &str, service: &str, host: Option<&str>) -> String {
    let host = host.map(|host| format!(" on {host}")).unwrap_or_default();
    plain(&format!("{service} {}{host}", past_of(verb).unwrap_or("redeployed")))
}

/// The beginnings of the events of verifications: the service is healthy, unhealthy, or the attempts are used up.
const HEALTHY: &str = "Verified healthy after remediation";
const UNHEALTHY: &str = "Unhealthy after remediation";
const GIVEN_UP: &str = "Needs human attention: still unhealthy";

/// Whether the service of an event was found healthy when it was verified; `None` for every other event.
pub fn verification(message: &str) -> Option<bool> {
    if message == HEALTHY {
        return Some(true);
    }
    [UNHEALTHY, GIVEN_UP].iter().any(|words| message.starts_with(words)).then_some(false)
}

/// The event of a service that was verified at the end of a session; `None`: nothing could be checked, for the reasons `why`.
pub fn verified(service: &str, healthy: Option<bool>, why: &[String]) -> NewEvent {
    let message = match (healthy, why) {
        (Some(_), _) => HEALTHY.to_owned(),
        (None, []) => "Not verified after remediation: no check is configured".to_owned(),
        (None, why) => format!("Not verified after remediation: {}", why.join("; ")),
    };
    of_service(Level::Info, service, &message)
}

/// The event of an unhealthy service, because of which the stop was blocked.
pub fn unhealthy(service: &str, why: &[String], attempt: u32, limit: u32) -> NewEvent {
    let message = format!("{UNHEALTHY} (attempt {attempt} of {limit}): {}", why.join("; "));
    of_service(Level::Warning, service, &message)
}

/// The event of a service that is unhealthy after an earlier session acted on it, whose outcome was unknown.
pub fn left_unhealthy(service: &str, why: &[String]) -> NewEvent {
    let message = format!("{GIVEN_UP} after an earlier session: {}", why.join("; "));
    of_service(Level::Critical, service, &message)
}

/// The event of a service that a session left unhealthy.
pub fn given_up(service: &str, why: &[String], limit: u32) -> NewEvent {
    let message = format!("{GIVEN_UP} after {limit} attempts: {}", why.join("; "));
    of_service(Level::Critical, service, &message)
}

fn of_service(level: Level, service: &str, message: &str) -> NewEvent {
    NewEvent { level, service: Some(service.to_owned()), message: plain(message) }
}

/// The event of a verifier of a model that found nothing unhealthy.
pub fn confirmed() -> NewEvent {
    let message = "The verifier of a model found nothing unhealthy".to_owned();
    NewEvent { level: Level::Info, service: None, message }
}

/// The event of a verifier of a model that objected, because of which the session went on.
pub fn objected(reason: &str, attempt: u32, limit: u32) -> NewEvent {
    let message = format!("The verifier of a model objected (attempt {attempt} of {limit}): {reason}");
    NewEvent { level: Level::Warning, service: None, message }
}

/// The prompt after the objection of a verifier, which the agent reads.
pub fn objection(reason: &str, attempt: u32, limit: u32) -> String {
    format!(
        "Verification failed (attempt {attempt} of {limit}).\nA second model looked at your work: {reason}\n{REPAIR}"
    )
}

/// What the agent does after a failed verification.
const REPAIR: &str = "Find the cause and repair it within your limits. If you cannot, state what you found and end your turn: the check runs again.";

/// The reason for a blocked stop, which the agent reads: the failed checks, and those that could not be carried out.
pub fn still_unhealthy(
    failed: &[(&str, Vec<String>)],
    unchecked: &[(&str, Vec<String>)],
    attempt: u32,
    limit: u32,
) -> String {
    let mut text = format!("Verification failed (attempt {attempt} of {limit}).\n");
    for (service, why) in failed {
        text += &format!("Service {service} still unhealthy:\n");
        text.extend(why.iter().map(|line| format!("- {line}\n")));
    }
    for (service, why) in unchecked {
        text += &format!(
            "Service {service} not checked, which does not block the stop; an operator has to fix it:\n"
        );
        text.extend(why.iter().map(|line| format!("- {line}\n")));
    }
    text + REPAIR
}

/// The request for a report to a background session.
pub fn missing(may_hand_over: bool) -> String {
    let mut text = "[CLAUDE OS SYS: INFO]: Reminder - Ping before ending. This session runs unattended in the background, and anything that you do not report is lost. Report before it \
                    ends: state what is healthy, what is not and what was done. Write what an operator should know on a line of \
                    its own: `[EVENT:info] …`, `[EVENT:warning:SERVICE] …` or `[EVENT:critical:SERVICE] …`."
        .to_owned();
    if may_hand_over {
        text += " Hand remaining work over to the next tier with `opsctl handoff write`.";
    }
    text + " You are asked once."
}

/// What an action has done, or that it has failed.
fn message(action: &Action, host: Option<&str>, result: &ToolResult) -> String {
    let mut evidence = action.evidence.clone();
    evidence.extend(host.iter().flat_map(|host| [" on ", host]));
    let (what, done, tried) = match (action.kind, action.family) {
        (ActionKind::Forbidden, _) => ("Forbidden action", "ran", ""),
        (_, Family::Tool) => ("Tool", "called", ""),
        (ActionKind::PullRequest, _) => {
            let title = action.title.clone().filter(|_| *result == ToolResult::Succeeded);
            evidence = title.unwrap_or(evidence);
            ("Pull request", "created", "")
        }
        (ActionKind::Notification, _) => {
            let channel = channel(action);
            return match result {
                ToolResult::Succeeded => format!("Notification sent via {channel}"),
                ToolResult::Failed(why) => format!("Notification via {channel} failed ({why})"),
            };
        }
        (_, Family::Ansible) => (Family::Ansible.as_str(), "executed", ""),
        (_, Family::Helm) => (helm(action), "", ""),
        (_, family) => {
            (family.as_str(), past_of(action.verb.as_str()).unwrap_or("ran"), action.verb.as_str())
        }
    };
    let with = |word: &str| if word.is_empty() { what.to_owned() } else { format!("{what} {word}") };
    match result {
        ToolResult::Succeeded => format!("{}: {evidence}", with(done)),
        ToolResult::Failed(why) => format!("{} failed ({why}): {evidence}", with(tried)),
    }
}

/// The channel of a message; `Apprise` in events, as the dashboard expects.
fn channel(action: &Action) -> &str {
    if matches!(action.evidence.as_str(), "apprise" | "opsctl") { "Apprise" } else { &action.evidence }
}

fn helm(action: &Action) -> &'static str {
    match action.verb {
        Verb::Rollback => "Helm rollback",
        Verb::Uninstall => "Helm uninstall",
        _ if action.evidence.contains(" install") => "Helm install",
        _ => "Helm upgrade",
    }
}

/// What an action with this verb, as the ledger names it, did to its target: `restarted`.
pub fn past_of(verb: &str) -> Option<&'static str> {
    PAST_VERBS.iter().find(|(known, _)| *known == verb).map(|(_, past)| *past)
}
