//! `opsctl explain COMMAND`: it shows the scripts that the command would run.

use super::access::{Access, Touch};
use crate::catalogue::Catalogue;
use crate::catalogue::options::{Item, Scanner};
use crate::shell::{self, Command, Construct, Node, Word};

/// Adds the files that are read: scripts of the explained command, and paths in a tool call as JSON. `accesses` adds those of a
/// command; its second argument is false for a wrapper.
pub fn accesses(
    command: &Command,
    (rest, value): (usize, &[&str]),
    catalogue: Catalogue,
    accesses: &dyn Fn(&Command, bool, &mut Vec<Access>),
    into: &mut Vec<Access>,
) {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let (mut first, mut cwd) = (None, command.cwd.clone());
    for item in Scanner::new(&texts, rest, value) {
        match item {
            Item::Option(name, Some(at)) if name.is("--cwd") => {
                cwd = texts.get(at.index).and_then(|text| text.get(at.offset..)).map(str::to_owned);
            }
            Item::Positional(index) => {
                first = Some(index);
                break;
            }
            Item::Option(..) | Item::Dashes(_) => {}
        }
    }
    let words = first.and_then(|first| command.words.get(first..)).unwrap_or_default();
    let words = if words.iter().all(|word| word.text == "-") { command.stdin.as_slice() } else { words };
    let unknown = words.iter().any(|word| word.unknown.is_some());
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let text = text.join(" ");
    if text.trim_start().starts_with("{\"") {
        let parts = text.split(|c: char| c.is_whitespace() || "\"'\\`;|&()".contains(c));
        let paths = parts.filter(|part| part.contains(['/', '.']));
        into.extend(paths.map(|path| Access::named(Touch::Read, path.to_owned(), unknown)));
        return;
    }
    shell::read_with(&text, cwd.as_deref(), catalogue).visit(|node| {
        let (inner, shown) = match node {
            Node::Command(shown) => (true, shown),
            Node::Group(Construct::Through(shown), _) => (false, shown),
            _ => return,
        };
        let texts: Vec<&str> = shown.words.iter().map(|word| word.text.as_str()).collect();
        let usage = catalogue.usage(&texts, &|_| false);
        let mut found = Vec::new();
        if usage.is_some_and(|usage| usage.form.runs.is_some()) {
            accesses(shown, inner, &mut found);
        }
        found.extend(shown.words.first().filter(|word| word.text.contains('/')).map(read));
        found.retain(|access| !access.touch.writes());
        // Relative to the folder in which the explained command would run.
        for access in &mut found {
            if let (Some(folder), false) = (&shown.cwd, access.path.starts_with(['/', '~', '$'])) {
                access.path = format!("{folder}/{}", access.path);
            }
        }
        into.append(&mut found);
    });
}

fn read(word: &Word) -> Access {
    Access::new(Touch::Read, word)
}
