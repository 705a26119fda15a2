//! Tools of MCP servers, as `hosts.yaml` describes them.

use crate::model::records::event::McpCall;
use crate::model::rights::rules::ToolRule;
use opsctl_reader::terms::action::{Action, ActionKind, Family, Target};
use opsctl_reader::terms::message::Recipient;
use opsctl_reader::terms::reference::Reference;

/// The actions of a call: one for each named service. A tool without a rule has none.
pub fn find_actions(call: &McpCall, rules: &[ToolRule]) -> Vec<Action> {
    let Some(rule) = rules.iter().find(|rule| rule.tool == call.tool) else { return vec![] };
    let kind = ActionKind::of(rule.verb);
    let counted = matches!(kind, ActionKind::Restart | ActionKind::Redeployment);
    let mut services = values(call, rule.service.as_deref());
    services.dedup();
    let host = values(call, rule.host.as_deref()).into_iter().next();
    let action = |service: Option<&str>| Action {
        kind,
        verb: rule.verb,
        family: Family::Tool,
        target: match service {
            Some(name) => Target::Service(name.to_owned()),
            None if counted => Target::Unknown,
            None if kind == ActionKind::Notification => Target::Recipients(recipients(call, rule)),
            None => Target::Nothing,
        },
        reference: Reference::default(),
        within: None,
        host: host.map(str::to_owned),
        via: vec![],
        repeats: false,
        evidence: match service {
            Some(name) => format!("{} {}", call.tool, plain(name)),
            None => call.tool.clone(),
        },
        title: None,
    };
    if services.is_empty() {
        return vec![action(None)];
    }
    services.into_iter().map(|service| action(Some(service))).collect()
}

/// The recipients of a tool's message.
fn recipients(call: &McpCall, rule: &ToolRule) -> Vec<Recipient> {
    let written: Vec<Recipient> = values(call, rule.to.as_deref())
        .into_iter()
        .flat_map(|text| text.split(',').map(str::trim).filter(|one| !one.is_empty()))
        .map(|one| Recipient::Written(one.to_owned()))
        .collect();
    if written.is_empty() {
        return vec![Recipient::Unread(
            "its rule in hosts.yaml does not state which argument names it (`to`)",
        )];
    }
    written
}

/// The texts of an argument, which is given by name or as a JSON pointer; a list has one text per item.
fn values<'a>(call: &'a McpCall, argument: Option<&str>) -> Vec<&'a str> {
    let Some(argument) = argument else { return vec![] };
    let pointer = if argument.starts_with('/') { argument.to_owned() } else { format!("/{argument}") };
    let at = |known: &str| {
        known.strip_prefix(pointer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let texts =
        call.arguments.iter().filter(|(known, _)| at(known)).map(|(_, text)| text.trim_start_matches('/'));
    texts.filter(|text| !text.is_empty()).collect()
}

/// A name as it may be shown.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(128).collect()
}
