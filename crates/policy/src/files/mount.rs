//! `mount`: the mount point hides what is below it, and with `--bind` a folder gets a second path.

use super::access::{Access, Touch};
use crate::catalogue::options::{Item, Scanner};
use crate::shell::{Command, Word};

/// Options that give a folder a second path, or move it to one.
const JOINS: &[&str] = &["-B", "--bind", "-R", "--rbind", "-M", "--move"];

/// Adds the mount point; and the source if it is reachable through the mount point then.
pub(super) fn accesses(
    command: &Command,
    (rest, value): (usize, &[&str]),
    texts: &[&str],
    into: &mut Vec<Access>,
) {
    let (mut words, mut source, mut target): (Vec<Word>, Option<Word>, Option<Word>) = (vec![], None, None);
    let mut joins = false;
    for item in Scanner::new(texts, rest, value) {
        match item {
            Item::Positional(index) => words.extend(command.words.get(index).cloned()),
            Item::Option(name, at) => {
                joins |= name.is_any(JOINS);
                let word = at.and_then(|at| Some(command.words.get(at.index)?.tail(at.offset)));
                if name.is("--source") {
                    source = word;
                } else if name.is("--target") {
                    target = word;
                } else if name.is_any(&["-o", "--options"]) {
                    joins |= word.is_some_and(|word| word.text.split(',').any(is_join));
                }
            }
            Item::Dashes(_) => {}
        }
    }
    let target = target.or_else(|| words.pop());
    let source = source.or_else(|| words.pop()).filter(|_| joins);
    into.extend(target.iter().chain(&source).map(|word| Access::new(Touch::WriteAll, word)));
}

fn is_join(option: &str) -> bool {
    matches!(option, "bind" | "rbind" | "move")
}
