//! Ruby and PHP that only compute and print: every name in the code is that of a variable, or is listed.

use std::collections::BTreeSet;

use super::lexer::{Places, Token, clear_tokens};
use super::names::{Names, Table, php, ruby, starts};
use super::text::Part;
use crate::catalogue::program::Language;

/// The maximum nesting of code in texts.
const DEEPEST: usize = 4;

/// What is known of names.
struct Known {
    language: Language,
    /// All commands that the code starts are determined.
    starts: bool,
    /// Names that the code binds.
    own: BTreeSet<String>,
    words: Names,
    starting: Names,
    members: Table,
    loaded: Names,
}

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart.
pub fn is_harmless(code: &str, language: Language, starts: bool) -> bool {
    let (words, starting, members, loaded) = match language {
        Language::Php => (php::WORDS, php::STARTING, php::MEMBERS, php::LOADED),
        Language::Ruby => (ruby::WORDS, ruby::STARTING, ruby::MEMBERS, ruby::LOADED),
        _ => return false,
    };
    Known { language, starts, own: BTreeSet::new(), words, starting, members, loaded }.reads(code, 0)
}

impl Known {
    /// Whether code only computes and prints.
    fn reads(&mut self, code: &str, depth: usize) -> bool {
        let tokens = clear_tokens(code, self.language).filter(|_| depth < DEEPEST);
        let Some(tokens) = tokens else { return false };
        self.own.extend(defined(&tokens, self.language));
        tokens.iter().enumerate().all(|(at, token)| match token {
            Token::Name(name) => self.lists(&tokens, at, name),
            Token::Shell(_) if !self.starts => false,
            Token::Text(text) | Token::Shell(text) => {
                let calls = text.literal().is_some_and(|text| starts::CALLS.has(text));
                let is_inner = |part: &Part| match part {
                    Part::Known(_) => true,
                    Part::Unknown(source) => {
                        let inner = source.trim_start_matches(['#', '{']).trim_end_matches('}');
                        self.reads(inner, depth + 1)
                    }
                };
                !calls && !text.raw.contains('\u{1}') && text.parts.iter().all(is_inner)
            }
            // A variable that another one names.
            Token::Symbol('$') => !tokens.is_at(at + 1, '$') && !tokens.is_at(at + 1, '{'),
            // A class of Ruby, or one that PHP may call: `Kernel::system`.
            Token::Symbol(':') => !tokens.is_at(at + 1, ':'),
            _ => true,
        })
    }

    /// Whether the name at an index is that of a variable, or is listed.
    fn lists(&self, tokens: &[Token], at: usize, name: &str) -> bool {
        let is_before = |symbol| tokens.is_at(at.wrapping_sub(1), symbol);
        let is_next = |ahead: usize, symbol| tokens.is_at(at + ahead, symbol);
        if is_before('$') {
            // `$f(…)` calls a function that is not known.
            return self.language == Language::Php && !is_next(1, '(');
        }
        // A file that the code names; with a scheme it is something else.
        if name == "file_get_contents" && self.language == Language::Php {
            let path = tokens.literal_at(at + 2).filter(|_| is_next(1, '(') && is_next(3, ')'));
            return path.is_some_and(|path| !path.contains(':'));
        }
        if name == "require" {
            return matches!(tokens.get(at + 1), Some(Token::Text(text)) if self.loaded.has(&text.raw));
        }
        // `Time.now`: of a class, only what is listed.
        if let Some(members) = self.members.get(name) {
            let member = tokens.name_at(at + 2).filter(|_| is_next(1, '.'));
            let is_started = name == "Open3" || name == "IO" || name == "Process";
            let opens =
                name == "File" && member.is_some_and(|member| member == "read" || member == "readlines");
            let is_fixed = tokens.literal_at(at + 4).is_some() && tokens.is_at(at + 5, ')');
            return member.is_some_and(|member| members.has(member))
                && (!is_started || self.starts)
                && (!opens || is_fixed)
                || is_next(1, '[') && name == "ENV";
        }
        let is_member = is_before('.')
            && tokens.name_at(at.wrapping_sub(2)).is_some_and(|owner| self.members.get(owner).is_some());
        let is_key = is_next(1, ':') && !is_next(2, ':');
        is_member
            || (is_key && self.language == Language::Ruby)
            || (self.own.contains(name) && !starts::CALLS.has(name))
            || self.words.has(name)
            || (self.starts && self.starting.has(name) && !is_before('.'))
    }
}

/// The names that code of Ruby binds, and the functions that code defines.
fn defined(tokens: &[Token], language: Language) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_parameters = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = tokens.get(at.wrapping_sub(1));
        let is = |ahead: usize, symbol| tokens.is_at(at + ahead, symbol);
        let after_word =
            |words: &[&str]| before.and_then(Token::name).is_some_and(|word| words.contains(&word));
        match token {
            Token::Symbol('|') if language == Language::Ruby => {
                let opens = before.is_some_and(|token| token.is('{') || token.name() == Some("do"));
                in_parameters = opens;
            }
            Token::Name(name) => {
                let is_set = language == Language::Ruby
                    && ((is(1, '=')
                        && !is(2, '=')
                        && !is(2, '~')
                        && !before.is_some_and(|token| token.is('.')))
                        || in_parameters
                        || is(1, ',') && tokens.name_at(at + 2).is_some()
                        || after_word(&["for"])
                        || before.is_some_and(|token| token.is('>')));
                let is_function = after_word(&["def", "function", "fn"]);
                if is_set || is_function {
                    names.insert(name.clone());
                }
                // Parameters of a function of Ruby.
                if is_function && language == Language::Ruby {
                    let rest = tokens.get(at + 1..).unwrap_or_default();
                    let head = rest.iter().take_while(|token| !token.is(')') && **token != Token::Line);
                    names.extend(head.filter_map(Token::name).map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    names
}
