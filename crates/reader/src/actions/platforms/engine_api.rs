//! Requests to the HTTP interface of the container engine, with `curl`, `wget` and similar programs.

use crate::catalogue::program::Role;
use crate::shell::host_of;
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};

use super::engine;
use crate::actions::call::Call;
use crate::actions::request::Request;

pub(in crate::actions) fn find_actions(call: &Call<'_>, request: &Request, actions: &mut Vec<Action>) {
    for url in &request.urls {
        let Some((_, path)) = url.text.split_once("/containers/") else { continue };
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let Some((name, operation)) = path.split_once('/') else { continue };
        let verb = match operation {
            "restart" => Verb::Restart,
            "stop" | "kill" | "pause" => Verb::Stop,
            "start" | "unpause" => Verb::Start,
            _ => continue,
        };
        let known = url.unknown.is_none() || !name.contains(['$', '`', '{']);
        let target = if known { Target::Container(name.to_owned()) } else { Target::Unknown };
        let evidence = format!("docker {operation} {name}");
        let mut action = call.line.action(ActionKind::Restart, verb, Family::Container, target, evidence);
        let socket = call.own.value(&call.usage.role(Role::Socket));
        action.reference =
            socket.map(|path| engine::reference_on_socket(call.line, &path.text)).unwrap_or_default();
        let host = host_of(&url.text)
            .filter(|host| !matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1" | "docker"));
        if let Some(host) = host.filter(|_| socket.is_none()) {
            action.host = Some(host);
        }
        actions.push(action);
    }
}
