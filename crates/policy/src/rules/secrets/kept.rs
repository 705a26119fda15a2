//! Files that a script writes with output in which secrets would be replaced: a later call may read them in another form.

use super::filters::{Pipes, Source, is_alone, passed_on};
use crate::files;
use crate::model::records::verdict::Reason;
use crate::paths::word_paths::UnknownMachine;
use opsctl_reader::shell::{Command, Construct, Node, Script};

/// Files that hold nothing afterwards.
const OPEN: [&str; 3] = ["/dev/", "/proc/self/fd/", "-"];

/// The objection to a file that is written with such output.
pub fn objection(script: &Script) -> Option<Reason> {
    // What prints such output has a verb: `ls -la` does not.
    let has_no_verb =
        |command: &&Command| command.words.iter().skip(1).all(|word| word.text.starts_with('-'));
    if is_alone(script) && script.commands().iter().all(has_no_verb) {
        return None;
    }
    let path = files(script, &Pipes::of(script)).into_iter().next()?;
    let text = format!(
        "Secret: `{path}` would hold the output of a command in which secrets are replaced, so that a later call may read them \
         in another form. Select what you need before: `jq '.[0].Config.Image'`, `grep image:`, `--format`, or read the output \
         itself."
    );
    Some(Reason::of("secret", text))
}

/// The files that a script writes with such output.
pub fn files(script: &Script, pipes: &Pipes<'_>) -> Vec<String> {
    let mut kept = vec![];
    in_list(&script.nodes, pipes, &mut kept);
    script.visit(|node| {
        if let Node::Group(construct, parts) = node
            && *construct != Construct::Pipeline
        {
            in_list(parts, pipes, &mut kept);
        }
    });
    kept
}

/// Finds the files that commands of a list write.
fn in_list(nodes: &[Node], pipes: &Pipes<'_>, kept: &mut Vec<String>) {
    let prints = |node: &Node| in_which(node, pipes, &mut |_| {});
    for (at, node) in nodes.iter().enumerate() {
        in_which(node, pipes, &mut |command| kept.extend(written(command, pipes)));
        let Node::Command(command) = node else { continue };
        // `{ docker inspect web; } > FILE`, `exec > FILE; docker inspect web`.
        let rest = nodes.get(at + 1..).unwrap_or_default();
        let is_redirected = match command.words.as_slice() {
            [] => rest.first().is_some_and(prints),
            [name] if name.text == "exec" => rest.iter().any(prints),
            _ => false,
        };
        if is_redirected {
            kept.extend(written(command, pipes));
        }
    }
}

/// Sees the commands that print such output; whether the node itself does.
fn in_which<'a>(node: &'a Node, pipes: &Pipes<'_>, see: &mut dyn FnMut(&'a Command)) -> bool {
    let parts = match node {
        Node::Group(Construct::Pipeline, parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let (mut is_given, mut all) = (false, false);
    for (part, source) in parts.iter().zip(passed_on(parts, pipes)) {
        all = source == Some(Source::Redacted);
        let outer = match part {
            Node::Command(command) | Node::Group(Construct::Through(command), _) => Some(command.as_ref()),
            _ => None,
        };
        if all && let Some(command) = outer {
            see(command);
        }
        if is_given && let Node::Group(_, parts) = part {
            for part in parts {
                crate::selection::visit(part, see);
            }
        }
        is_given = all;
    }
    all
}

/// The files that a command writes.
fn written(command: &Command, pipes: &Pipes<'_>) -> Vec<String> {
    let all = files::accesses(command, true, pipes.script.catalogue, &UnknownMachine);
    let is_kept = |path: &String| !OPEN.iter().any(|open| path.starts_with(open));
    all.into_iter().filter(|access| access.touch.writes()).map(|access| access.path).filter(is_kept).collect()
}
