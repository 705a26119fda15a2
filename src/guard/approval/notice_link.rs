//! The link to a question in its notice. It is added when the notice is delivered, and not stored: programs of the agent's
//! side may list notices.

use chrono::{DateTime, Utc};

use super::desk_key::DeskKey;
use super::link;
use crate::machine::environment::Environment;
use crate::machine::notify::apprise::{Target, lines};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::notices::StoredNotice;
use opsctl_policy::model::records::notice::Body;
use opsctl_policy::model::records::question::{Answer, Question, QuestionState};
use opsctl_policy::texts::notices::first_lines;

/// Adds the link of a question to its notice, and buttons to a target that shows them, if the notice shows the whole
/// command. Another notice stays as it is.
pub fn add(environment: &Environment, notice: StoredNotice, target: Target) -> (StoredNotice, Target) {
    let found = question(environment, &notice, Utc::now());
    let Some((desk, key, question)) = found else { return (notice, target) };
    let address = link::address(desk, &key, &question);
    let target = match target {
        Target::Urls(urls) if environment.ntfy_actions => {
            let is_whole = first_lines(&question.command).1 == 0;
            let buttons = is_whole.then(|| buttons(desk, question.id, &link::token(&key, &question)));
            Target::Urls(with_buttons(&urls, &address, buttons.as_deref()))
        }
        target => target,
    };
    (StoredNotice { body: with_link(&notice.body, &address), ..notice }, target)
}

/// The URL of the desk, its key and the open question of a notice.
fn question<'a>(
    environment: &'a Environment,
    notice: &StoredNotice,
    now: DateTime<Utc>,
) -> Option<(&'a str, DeskKey, Question)> {
    let id = notice.key.strip_prefix("question/")?.parse().ok()?;
    let desk = environment.desk_url.as_deref()?;
    // Only the desk creates its key.
    let key = DeskKey::existing(&environment.state_dir)?;
    let ledger = Ledger::open_existing(&environment.ledger).ok()??;
    let question = ledger.question(id, ledger.now(now).ok()?).ok()??;
    (question.state == QuestionState::Open).then_some((desk, key, question))
}

fn with_link(body: &Body, address: &str) -> Body {
    let line = format!("\n\nThis link answers the question, once: {address}\n");
    match body {
        Body::Markdown(text) => Body::Markdown(format!("{text}{line}")),
        Body::Plain(text) => Body::Plain(format!("{text}{line}")),
    }
}

/// Two buttons in the short format of ntfy.
fn buttons(desk: &str, id: i64, token: &str) -> String {
    let button = |label: &str, answer: Answer| {
        format!(
            "http, {label}, {}/answer/link, method=POST, headers.Content-Type=application/x-www-form-urlencoded, \
             body=id={id}&t={token}&decision={}, clear=true",
            desk.trim_end_matches('/'),
            answer.as_str()
        )
    };
    format!("{}; {}", button("Approve once", Answer::Approve), button("Refuse", Answer::Refuse))
}

/// The URLs, in which those of ntfy have the buttons, if there are any, and open the link when tapped.
fn with_buttons(urls: &str, address: &str, buttons: Option<&str>) -> String {
    let more = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("click", address)
        .extend_pairs(buttons.map(|buttons| ("actions", buttons)))
        .finish()
        // A plus sign is a space in forms only.
        .replace('+', "%20");
    let with = |line: &str| {
        let is_ntfy =
            ["ntfy://", "ntfys://"].iter().any(|scheme| line.to_ascii_lowercase().starts_with(scheme));
        // Settings of the operator come first.
        if !is_ntfy || ["actions=", "click="].iter().any(|key| line.contains(key)) {
            return line.to_owned();
        }
        format!("{line}{}{more}", if line.contains('?') { '&' } else { '?' })
    };
    lines(urls).lines().map(with).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_of_ntfy_get_buttons() {
        let buttons = buttons("https://desk.example/", 7, "AAAA");
        let urls = with_buttons(
            "ntfys://ntfy.example/ops, json://a/ ntfy://b/c?priority=high ntfy://d/e?click=x",
            "https://desk.example/q/7?t=AAAA",
            Some(&buttons),
        );
        let lines: Vec<&str> = urls.lines().collect();
        assert!(lines[0].starts_with(
            "ntfys://ntfy.example/ops?click=https%3A%2F%2Fdesk.example%2Fq%2F7%3Ft%3DAAAA&actions=http"
        ));
        assert_eq!(lines[1], "json://a/");
        assert!(lines[2].starts_with("ntfy://b/c?priority=high&click="));
        assert_eq!(lines[3], "ntfy://d/e?click=x");
        let actions = lines[0].split("actions=").nth(1).unwrap();
        let query = format!("a={actions}");
        let (_, decoded) = url::form_urlencoded::parse(query.as_bytes()).next().unwrap();
        assert_eq!(decoded, buttons);
        assert_eq!(
            buttons.split("; ").next().unwrap(),
            "http, Approve once, https://desk.example/answer/link, method=POST, \
             headers.Content-Type=application/x-www-form-urlencoded, body=id=7&t=AAAA&decision=approve, clear=true"
        );
    }
}
