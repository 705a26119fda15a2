//! Code of the `MongoDB` shell: it reads where only methods are called that do.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::languages::names::mongo;
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

/// Whether code calls only what reads.
fn only_reads(code: &str) -> bool {
    let lower = code.to_lowercase();
    let escapes = ["\\'", "\\\"", "\\u", "\\x", "`"];
    if escapes.iter().any(|one| lower.contains(one)) || mongo::DOUBTFUL.are_in(&lower) {
        return false;
    }
    let Some(plain) = without_texts(&lower) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let hands_over = plain.split(['.', '[']).skip(1).any(|member| {
        let member = member.trim_start_matches('"');
        let name = member.split(|c| !is_name(c)).next().unwrap_or_default();
        mongo::CHANGING.iter().any(|verb| {
            // `updatedAt` is a field.
            name.strip_prefix(verb).is_some_and(|rest| !mongo::FIELD_ENDINGS.has(rest))
        })
    });
    if hands_over {
        return false;
    }
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once('(') {
        let before = before.trim_end();
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        // `x['drop']()`.
        if (name.is_empty() && before.ends_with([']', ')'])) || !(name.is_empty() || mongo::READING.has(name))
        {
            return false;
        }
        if matches!(name, "admincommand" | "runcommand") {
            let argument = after.trim_start().trim_start_matches('{').trim_start().trim_start_matches('"');
            let named = argument.split(|c| !is_name(c)).next().unwrap_or_default();
            if !mongo::COMMANDS.has(named) {
                return false;
            }
        }
        rest = after;
    }
    true
}

/// The code with single quotes as double ones, and with texts that hold brackets left out; `None` where a text has no end.
fn without_texts(code: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let quote = rest.get(at..)?.chars().next()?;
        plain.push_str(rest.get(..at)?);
        let inside = rest.get(at + 1..)?;
        let end = inside.find(quote)?;
        plain.push('"');
        plain.extend(inside.get(..end)?.chars().filter(|c| c.is_alphanumeric()));
        plain.push('"');
        rest = inside.get(end + 1..)?;
    }
    plain.push_str(rest);
    Some(plain)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_code_that_queries_reads() {
        crate::languages::cases::check("mongo", |code| super::only_reads(code).then(Vec::new));
    }
}
