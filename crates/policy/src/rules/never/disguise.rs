//! Calls of `opsctl` with changed session variables. `opsctl` identifies the calling session by the client's variables,
//! so an agent may not change them.

use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::shell::{Command, Construct, Node, Script};

/// The objections to calls of `opsctl` in another environment than the client's own.
pub fn objections(script: &Script) -> Vec<Reason> {
    let mut changed: Option<String> = None;
    let mut reasons = Vec::new();
    script.visit(|node| match node {
        Node::Group(Construct::Through(command), _) => {
            if let Some(how) = changes(command) {
                changed.get_or_insert(how);
            }
        }
        Node::Command(command) => {
            if let Some(how) = changes(command) {
                changed.get_or_insert(how);
            }
            let program = command.words.first().map(|word| word.text.rsplit('/').next().unwrap_or(&word.text));
            if program != Some("opsctl") || !acts(command) {
                return;
            }
            let set = command.env.iter().map(|(name, _)| name.as_str()).find(|name| is_ours(name));
            let through = command.via.iter().find(|wrapper| !hands_on(wrapper, script.catalogue));
            let how = match (set, &changed, through) {
                (Some(name), _, _) => format!("`{name}` is set for it"),
                (None, Some(how), _) => how.clone(),
                (None, None, Some(wrapper)) => format!("it runs through `{wrapper}`, which hides the session"),
                (None, None, None) => return,
            };
            reasons.push(Reason {
                rule: "never", topic: None,
                text: format!(
                    "Never allowed (rule disguise): `opsctl`{}, because {how}. opsctl must know which session calls it. Call it directly, without changing its environment.",
                    command.whereabouts()
                ),
            });
        }
        _ => {}
    });
    reasons
}

/// Whether a wrapper passes on the whole environment.
fn hands_on(wrapper: &str, catalogue: Catalogue) -> bool {
    let program = catalogue.find(wrapper);
    program.and_then(|program| program.form.runs).is_some_and(|runs| runs.environment)
}

/// Whether the call does more than show information.
fn acts(command: &Command) -> bool {
    !command.words.iter().any(|word| matches!(word.text.as_str(), "--help" | "-h" | "--version" | "-V"))
}

fn is_ours(name: &str) -> bool {
    name.starts_with("CLAUDE")
}

/// How a command changes the variables of what runs in it or after it.
fn changes(command: &Command) -> Option<String> {
    let mut words = command.words.iter().map(|word| word.text.as_str());
    let program = words.next()?;
    let rest: Vec<&str> = words.collect();
    let program = program.rsplit('/').next().unwrap_or(program);
    let names_ours = || {
        rest.iter()
            .map(|word| word.trim_start_matches("--unset=").trim_start_matches("-u"))
            .map(|word| word.split('=').next().unwrap_or(word))
            .find(|name| is_ours(name))
    };
    let empties = |options: &[&str]| {
        rest.iter().take_while(|word| word.starts_with('-')).any(|word| options.contains(word))
    };
    match program {
        "env" if empties(&["-", "-i", "--ignore-environment"]) => {
            Some("`env -i` removes its variables".to_owned())
        }
        "exec" if empties(&["-c"]) => Some("`exec -c` removes its variables".to_owned()),
        "env" | "unset" => names_ours().map(|name| format!("`{program}` changes `{name}`")),
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" => {
            names_ours().map(|name| format!("`{program}` changes `{name}`"))
        }
        _ => None,
    }
}
