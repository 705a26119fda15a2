//! Programs of `awk`: `system`, pipes and output redirections do more than read.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::program::Language;
use crate::languages::awk::is_filter;
use crate::languages::lexer::{Token, clear_tokens};
use crate::languages::sources::Sources;
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of a command line of `awk`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str], is_scratch: &dyn Fn(&str) -> bool) -> Proof {
    let file = ["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"];
    let sources = Sources::of(usage, texts, &["-e", "--source"], &file, true).or_first_word();
    if let Some(file) = sources.files.first() {
        let file = texts.get(file.index).copied().unwrap_or_default();
        return (Effect::Unknown, Why::ScriptOnDisk(file.to_owned()));
    }
    if sources.shows {
        return (Effect::Reads, Why::Stated);
    }
    let programs: Vec<Word> = command.words_at(&sources.scripts).collect();
    let mut files = Vec::new();
    for program in &programs {
        // A value put into the program may hold anything.
        match program.known().and_then(written) {
            Some(found) => files.extend(found),
            None => return (Effect::Unknown, Why::Statement),
        }
    }
    match files.into_iter().find(|file| !is_scratch(file)) {
        Some(file) => (Effect::Changes, Why::Writes(file)),
        None if programs.is_empty() => (Effect::Unknown, Why::Code),
        None => (Effect::Reads, Why::Stated),
    }
}

/// The files that a program writes; `None` where it may run a command, or is not understood.
fn written(program: &str) -> Option<Vec<String>> {
    let tokens = clear_tokens(program, Language::Awk)?;
    let mut files = Vec::new();
    // Depth of brackets, and that at which the statement prints.
    let (mut depth, mut prints): (i32, Option<i32>) = (0, None);
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = |count: usize| tokens.get(at + count);
        let ends =
            |token: Option<&Token>| matches!(token, None | Some(Token::Line | Token::Symbol(';' | '}')));
        match token {
            Token::Name(name) if name == "system" => return None,
            Token::Symbol('@') => return None,
            Token::Name(name) if name == "print" || name == "printf" => prints = Some(depth),
            Token::Symbol('(' | '[') => depth += 1,
            Token::Symbol(')' | ']') => depth -= 1,
            Token::Symbol(';' | '{' | '}') => prints = None,
            Token::Line if !matches!(before, Some(Token::Symbol(',') | Token::Operator("||" | "&&"))) => {
                prints = None
            }
            Token::Symbol('>') | Token::Operator(">>") if prints == Some(depth) => match after(1) {
                Some(Token::Text(file)) if ends(after(2)) => files.push(file.raw.clone()),
                _ => return None,
            },
            Token::Symbol('|') => {
                let starts = at.checked_sub(2).and_then(|at| tokens.get(at));
                let alone = matches!(starts, None | Some(Token::Line | Token::Symbol('{' | '}' | ';' | '(')));
                match (before, after(1)) {
                    // The effect of the command is that of its own node, below this one in the tree.
                    (Some(Token::Text(_)), Some(Token::Name(name))) if name == "getline" && alone => {}
                    (_, Some(Token::Text(filter)))
                        if prints.is_some() && ends(after(2)) && is_filter(&filter.raw) => {}
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_programs_that_print_read() {
        crate::languages::cases::check("awk", super::written);
    }
}
