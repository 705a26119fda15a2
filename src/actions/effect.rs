//! What a command does to the world, as far as the catalogue states it. Doubt falls towards unknown.

use super::call::{Call, Idle};
use super::line::Line;
use crate::catalogue::Catalogue;
use crate::catalogue::program::How;
use crate::model::effect::Effect;
use crate::shell::{Command, Construct, Mode, Node, Script};

/// The strongest effect of the parts of a script; a script without commands reads.
pub fn of_script(script: &Script) -> Effect {
    let mut strongest = if script.complaints.is_empty() { Effect::Reads } else { Effect::Unknown };
    script.visit(|node| strongest = strongest.max(of_node(node, script.catalogue)));
    strongest
}

/// The effect of a part of the tree, without the parts below it.
pub fn of_node(node: &Node, catalogue: Catalogue) -> Effect {
    match node {
        Node::Command(command) => of_command(command, false, catalogue),
        Node::Group(Construct::Through(command), inner) => of_command(command, !inner.is_empty(), catalogue),
        Node::Group(..) => Effect::Reads,
        Node::Unread(_) => Effect::Unknown,
    }
}

/// The effect of a simple command. `runs` is true for one whose own command stands below it.
fn of_command(command: &Command, runs: bool, catalogue: Catalogue) -> Effect {
    let writes = |mode| matches!(mode, Mode::Write | Mode::Append | Mode::ReadWrite);
    let written = command.redirections.iter().filter(|redirection| writes(redirection.mode));
    let redirected = if written.clone().any(|redirection| !is_stream(&redirection.path.text)) {
        Effect::Changes
    } else {
        Effect::Reads
    };
    redirected.max(of_words(command, runs, catalogue))
}

/// Files that are no files: what is written there changes nothing.
fn is_stream(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") || path.starts_with("/dev/fd/")
}

fn of_words(command: &Command, runs: bool, catalogue: Catalogue) -> Effect {
    if command.words.is_empty() {
        return Effect::Reads;
    }
    let line = Line::new(command, catalogue);
    let Some(usage) = line.usage() else { return Effect::Unknown };
    match Call::of(&line, &usage) {
        Err(Idle::Quiet) => return Effect::Reads,
        Err(Idle::NoAction) => {}
        Ok(call) => {
            let mut actions = Vec::new();
            super::targets::act_on(&call, &mut actions);
            if !actions.is_empty() {
                return Effect::Acts;
            }
        }
    }
    let code = usage.form.runs.is_some_and(|runs| matches!(runs.how, How::Code(_)));
    usage.form.effect.unwrap_or(if runs && !code { Effect::Reads } else { Effect::Unknown })
}
