//! Code of the `MongoDB` shell: it reads where only methods are called that do.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::languages::mongo::only_reads;
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of a command line of `mongosh`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let mut scripts: Vec<Word> = Vec::new();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at)) if name.is("--eval") => {
                scripts.extend(command.words.get(at.index).map(|word| word.tail(at.offset)));
            }
            Item::Option(name, at) if name.is_any(&["--file", "-f", "--shell"]) => {
                let file = at.and_then(|at| texts.get(at.index)).copied().unwrap_or_default();
                return (Effect::Unknown, Why::ScriptOnDisk(file.to_owned()));
            }
            Item::Positional(index) => {
                if let Some(file) = texts.get(index).filter(|text| text.ends_with("js")) {
                    return (Effect::Unknown, Why::ScriptOnDisk((*file).to_owned()));
                }
            }
            _ => {}
        }
    }
    if scripts.is_empty() {
        scripts.extend(command.stdin.clone());
    }
    if scripts.is_empty() {
        return (Effect::Unknown, Why::Unread);
    }
    if scripts.iter().all(|script| script.known().is_some_and(only_reads)) {
        (Effect::Reads, Why::Stated)
    } else {
        (Effect::Changes, Why::Statement)
    }
}
