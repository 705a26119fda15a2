//! `opsctl` itself: an agent may ask it and report to it, but not loosen what it is held to.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::model::message::Recipient;

use super::line::{Arguments, Line};
use super::message;

const VALUED: &[&str] = &[
    "--tier",
    "--hosts",
    "--out",
    "--opsctl",
    "--keep",
    "--limit",
    "--kind",
    "--at",
    "--cwd",
    "--deliver",
    "--deadline",
    "--from",
    "--managed",
    "--session",
    "--grace",
    "--probes",
    "--role",
];
const QUIET: &[&str] = &["-h", "--help", "-V", "--version"];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    line.arguments(1, VALUED, &mut arguments);
    if arguments.has(QUIET) {
        return;
    }
    let word = |n: usize| arguments.positionals.get(n).map(|&index| line.text(index));
    if word(0) == Some("notify") && arguments.has(&["--test", "--deliver"]) {
        actions.push(message::sent(line, vec![Recipient::Operators], "opsctl notify".to_owned()));
        return;
    }
    let words = match (word(0), word(1)) {
        // Told by hand, a hook settles and releases what never ran.
        (Some("hook"), _) => "opsctl hook",
        (Some("render"), _) if !arguments.has(&["--check"]) => "opsctl render",
        (Some("prune"), _) => "opsctl prune",
        (Some("cooldown"), Some("reset")) => "opsctl cooldown reset",
        // A session of a higher tier would be the agent's own way up.
        (Some("session"), _) => "opsctl session",
        (Some("handoff"), Some("take")) => "opsctl handoff take",
        (Some("handoff"), Some("clear")) => "opsctl handoff clear",
        (Some("mcp"), Some("merge")) => "opsctl mcp merge",
        _ => return,
    };
    let evidence = words.to_owned();
    actions.push(line.action(ActionKind::Forbidden, Verb::Loosen, Family::Guard, Target::Nothing, evidence));
}

/// The client itself. A session that an agent starts would be held to whatever tier and settings the agent
/// gives it; the way up is a hand-over.
/// Its arguments begin at `from`.
pub(super) fn client(line: &Line<'_>, from: usize, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    line.arguments(from, &[], &mut arguments);
    let verb = arguments.positionals.first().map(|&index| line.text(index));
    if arguments.has(&["-h", "--help", "-v", "--version"]) || verb == Some("doctor") {
        return;
    }
    let evidence = "claude".to_owned();
    actions.push(line.action(ActionKind::Forbidden, Verb::Loosen, Family::Guard, Target::Nothing, evidence));
}

/// The client's package, which a package runner fetches and starts: `npx @anthropic-ai/claude-code`.
pub(super) fn fetched_client(line: &Line<'_>, actions: &mut Vec<Action>) {
    const PACKAGE: &str = "@anthropic-ai/claude-code";
    let from = match (line.program(), line.text(1)) {
        ("npx" | "pnpx" | "bunx", _) => 1,
        (_, "exec" | "x" | "dlx") => 2,
        _ => return,
    };
    let words = || (from..).map_while(|index| line.word(index).map(|_| (index, line.text(index))));
    let is_package = |text: &str| text.trim_start_matches("--package=").starts_with(PACKAGE);
    let program = words().find(|(_, text)| !text.starts_with('-'));
    if words().any(|(_, text)| is_package(text)) || program.is_some_and(|(_, text)| text == "claude") {
        let named = words().filter(|(_, text)| is_package(text) || *text == "claude").last();
        client(line, named.map_or(from, |(index, _)| index + 1), actions);
    }
}
