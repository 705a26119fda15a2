//! Requests that create a pull request, to the HTTP interfaces of forges.

use crate::actions::call::Call;
use crate::actions::request::Request;
use crate::languages::names::apis;
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};

pub(in crate::actions) fn find_actions(call: &Call<'_>, request: &Request, actions: &mut Vec<Action>) {
    let creates = request.urls.iter().any(|url| request.sends && is_collection(&url.text));
    let mutates = || {
        let mut values = call.own.options.iter().filter_map(|(_, value)| value.as_ref());
        values.any(|value| apis::MUTATIONS.are_in(&value.text))
    };
    let is_graphql = request.urls.iter().any(|url| url.text.contains("graphql"));
    if creates || (is_graphql && mutates()) {
        let evidence = format!("{} creates a pull request", call.words());
        let kind = ActionKind::PullRequest;
        actions.push(call.line.action(kind, Verb::Create, Family::Forge, Target::Nothing, evidence));
    }
}

/// Whether an address is that of all pull requests of a repository.
fn is_collection(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let (front, last) = path.rsplit_once('/').unwrap_or(("", path));
    match last {
        "pulls" | "pull-requests" => front.contains("repos/"),
        "merge_requests" => front.contains("projects/"),
        "pullrequests" => front.contains("repositories/"),
        _ => false,
    }
}
