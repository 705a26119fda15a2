//! Calls of `opsctl` with changed session variables. `opsctl` identifies the calling session by the client's variables,
//! so an agent may not change them.

use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Construct, Node, Script};

/// The objections to calls of `opsctl` in another environment than the client's own.
pub fn objections(script: &Script) -> Vec<Reason> {
    let mut changed: Option<String> = None;
    let mut reasons = Vec::new();
    script.visit(|node| {
        let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return };
        changed = changed.take().or_else(|| changes(command));
        let is_opsctl = command.words.first().is_some_and(|word| base_name(&word.text) == "opsctl");
        if matches!(node, Node::Group(..)) || !is_opsctl || !acts(command) {
            return;
        }
        let set = command.env.iter().map(|variable| variable.0.as_str()).find(|name| is_ours(name));
        let through = command.via.iter().find(|wrapper| !hands_on(wrapper, script.catalogue));
        let how = match (set, &changed, through) {
            (Some(name), _, _) => format!("`{name}` is set for it"),
            (None, Some(how), _) => how.clone(),
            (None, None, Some(wrapper)) => format!("it runs through `{wrapper}`, which hides the session"),
            (None, None, None) => return,
        };
        let advice =
            "opsctl must know which session calls it. Call it directly, without changing its environment.";
        let place = command.whereabouts();
        let text = format!("Never allowed (rule disguise): `opsctl`{place}, because {how}. {advice}");
        reasons.push(Reason::of("never", text));
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
    let program = base_name(&command.words.first()?.text);
    let names_ours = || {
        let words = command.words.iter().skip(1).map(|word| word.text.as_str());
        words
            .map(|word| word.trim_start_matches("--unset=").trim_start_matches("-u"))
            .map(|word| word.split('=').next().unwrap_or(word))
            .find(|name| is_ours(name))
    };
    match program {
        "env" if empties(command) => Some("`env -i` removes its variables".to_owned()),
        "exec" if empties(command) => Some("`exec -c` removes its variables".to_owned()),
        "env" | "unset" | "export" | "declare" | "typeset" | "local" | "readonly" | "read" => {
            names_ours().map(|name| format!("`{program}` changes `{name}`"))
        }
        _ => None,
    }
}

/// Whether a wrapper removes all variables: by an option before its command, or by `-`.
fn empties(command: &Command) -> bool {
    let texts = command.texts();
    let Some(usage) = Catalogue::default().usage(&texts, &|_| false) else { return false };
    let (value, empties) = (usage.value(), usage.role(Role::Empties));
    let found = Scanner::new(&texts, usage.start, &value).find_map(|item| match item {
        Item::Option(name, _) => (name.is_any(&empties) || name.begins(&empties)).then_some(true),
        Item::Positional(index) => Some(texts.get(index) == Some(&"-")),
        Item::Dashes(_) => Some(false),
    });
    found.unwrap_or(false)
}
