//! `opsctl explain COMMAND`: it shows the scripts that the command would run.

use super::access::{Access, Touch};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::options::At;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell;
use opsctl_reader::shell::{Command, Construct, Node, Word};

/// Adds the files that are read: scripts of the explained command, and paths in a tool call as JSON. `accesses` adds those of a
/// command; its second argument is false for a wrapper.
pub fn accesses(
    command: &Command,
    given: &Operands<'_>,
    catalogue: Catalogue,
    accesses: &dyn Fn(&Command, bool, &mut Vec<Access>),
    into: &mut Vec<Access>,
) {
    let is_own = |at: &At| given.words.first().is_none_or(|first| at.index < *first);
    let folder = given.places(Role::Folder).filter(is_own).last().and_then(|at| command.value(at));
    let cwd = folder.map(|folder| folder.text).or_else(|| command.cwd.clone());
    let words = given.words.first().and_then(|first| command.words.get(*first..)).unwrap_or_default();
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
