//! Ruby, PHP and Lua that only compute and print: every name in the code is that of a variable, or is listed.

use std::collections::BTreeSet;

use super::lexer::{Places, Token, clear_tokens};
use super::literal::{self, Constants};
use super::names::{Names, Table, lua, php, ruby, starts};
use super::text::{Part, Text};
use crate::catalogue::program::Language;

/// The maximum nesting of code in texts.
const DEEPEST: usize = 4;

/// What is known of names.
struct Known {
    language: Language,
    /// All commands that the code starts are determined.
    starts: bool,
    /// Names with constant values.
    constants: Constants,
    /// Variables that the code binds.
    variables: BTreeSet<String>,
    /// Functions that the code defines.
    functions: BTreeSet<String>,
    words: Names,
    starting: Names,
    members: Table,
    loaded: Names,
    /// Functions whose first argument is constant, and what it begins with.
    fixed: Table,
    /// Functions that call one of their arguments, and its index.
    callbacks: Table,
    globals: Names,
    forbidden: Names,
    hiding: Names,
}

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart.
pub fn is_harmless(code: &str, language: Language, starts: bool) -> bool {
    macro_rules! known {
        ($of:ident) => {
            Known {
                language,
                starts,
                constants: Constants::none(),
                variables: BTreeSet::new(),
                functions: BTreeSet::new(),
                words: $of::WORDS,
                starting: $of::STARTING,
                members: $of::MEMBERS,
                loaded: $of::LOADED,
                fixed: $of::FIXED,
                callbacks: $of::CALLBACKS,
                globals: $of::GLOBALS,
                forbidden: $of::FORBIDDEN,
                hiding: $of::HIDING,
            }
        };
    }
    let mut known = match language {
        Language::Php => known!(php),
        Language::Ruby => known!(ruby),
        Language::Lua => known!(lua),
        _ => return false,
    };
    let code = code.trim_start();
    known.reads(code.strip_prefix("<?php").filter(|_| language == Language::Php).unwrap_or(code), 0)
}

impl Known {
    /// Whether code only computes and prints.
    fn reads(&mut self, code: &str, depth: usize) -> bool {
        if depth >= DEEPEST || self.hiding.are_in(code) {
            return false;
        }
        let Some(tokens) = clear_tokens(code, self.language).map(merged) else { return false };
        // The programs that start later get another environment.
        if self.starts
            && self.language == Language::Ruby
            && tokens.iter().any(|token| token.name() == Some("ENV"))
        {
            return false;
        }
        if depth == 0 && self.starts {
            let is_start = |at: usize| tokens.name_at(at).is_some_and(|name| starts::CALLS.has(name));
            let is_hidden = (0..tokens.len()).any(|at| match tokens.get(at) {
                // `/(?<name>…)/ =~ text` binds a name.
                Some(Token::Value) => tokens.is_at(at + 1, '=') && tokens.is_at(at + 2, '~'),
                Some(Token::Name(name)) => self.language == Language::Php && php::REACHING.has(name),
                _ => false,
            });
            if !is_hidden {
                self.constants = Constants::of(&tokens, self.language, is_start);
            }
        }
        self.define(&tokens);
        let is_php = self.language == Language::Php;
        tokens.iter().enumerate().all(|(at, token)| match token {
            Token::Name(name) => self.lists(&tokens, at, name),
            Token::Shell(text) if !self.starts || !self.constants.is_text(text) => false,
            Token::Text(text) | Token::Shell(text) => {
                let calls = text.literal().is_some_and(|text| starts::CALLS.has(text));
                let computes =
                    is_php && (text.raw.contains("${") || text.raw.contains("{$") && text.raw.contains('('));
                let is_inner = |part: &Part| match part {
                    Part::Known(_) => true,
                    // The end of an expression that holds braces or comments is not known.
                    Part::Unknown(source) => match source.strip_prefix("#{") {
                        Some(inner) => {
                            let inner = inner.strip_suffix('}').filter(|inner| !inner.contains(['{', '#']));
                            inner.is_some_and(|inner| self.reads(inner, depth + 1))
                        }
                        // `#$name` of Ruby.
                        None => self.reads(source.strip_prefix('#').unwrap_or(source), depth + 1),
                    },
                };
                !calls && !computes && !text.raw.contains('\u{1}') && text.parts.iter().all(is_inner)
            }
            // A variable that another one names, and `$:` of Ruby.
            Token::Symbol('$') => matches!(tokens.get(at + 1), Some(Token::Name(_) | Token::Value)),
            // A class of Ruby, or one that PHP may call: `Kernel::system`.
            Token::Symbol(':') => !tokens.is_at(at + 1, ':'),
            // `("sys" . "tem")(…)`.
            Token::Symbol('(') if is_php => !tokens
                .get(at.wrapping_sub(1))
                .is_some_and(|before| matches!(before, Token::Symbol(')' | ']' | '}') | Token::Text(_))),
            // `map(&name)`, `sort &name`.
            Token::Symbol('&') if self.language == Language::Ruby => {
                let is_after = |symbol| tokens.is_at(at.wrapping_sub(1), symbol);
                let name = tokens.name_at(at.wrapping_sub(1));
                let is_method = name.is_some_and(|name| {
                    !self.variables.contains(name) || tokens.is_at(at.wrapping_sub(2), '.')
                });
                !(is_after('(') || is_after(',') || is_method)
                    || tokens.is_at(at + 1, '.')
                    || tokens.is_at(at + 1, ':') && tokens.name_at(at + 2).is_some()
            }
            _ => true,
        })
    }

    /// Whether the name at an index is that of a variable, or is listed.
    fn lists(&self, tokens: &[Token], at: usize, name: &str) -> bool {
        let is_before = |symbol| tokens.is_at(at.wrapping_sub(1), symbol);
        let is_next = |ahead: usize, symbol| tokens.is_at(at + ahead, symbol);
        let is = |language| self.language == language;
        if is_before('$') {
            // `$f(…)` calls a function that is not known.
            return if is(Language::Php) { !is_next(1, '(') } else { self.globals.has(name) };
        }
        // What the code defines itself has no other fields and methods than values have.
        let is_joined = tokens.is_at(at.wrapping_sub(2), '.');
        if is(Language::Lua) && (is_before('.') && !is_joined || is_before(':')) {
            return true;
        }
        let is_field = is_before('>') && tokens.is_at(at.wrapping_sub(2), '-');
        if is(Language::Php) && is_field && !is_next(1, '(') {
            return true;
        }
        if let Some(beginnings) = self.fixed.get(name) {
            return is_next(1, '(') && self.is_fixed(tokens, at + 2, beginnings);
        }
        if let Some(index) = self.callbacks.get(name) {
            let index = index.iter().next().and_then(|index| index.parse().ok()).unwrap_or_default();
            return self.calls_known(tokens.get(at + 1..).unwrap_or_default(), index);
        }
        if name == "require" && is(Language::Ruby) {
            return matches!(tokens.get(at + 1), Some(Token::Text(text)) if self.loaded.has(&text.raw));
        }
        // `Time.now`: of a class, only what is listed.
        if let Some(members) = self.members.get(name) {
            let member = tokens.name_at(at + 2).filter(|_| is_next(1, '.'));
            let is_started = name == "Open3" || name == "IO" || name == "Process";
            return member.is_some_and(|member| {
                let beginnings = self.fixed.get(&format!("{name}.{member}"));
                let starts = is_started && starts::CALLS.has(member);
                members.has(member)
                    && (!starts || literal::in_ruby(tokens, at + 2, &self.constants))
                    && beginnings
                        .is_none_or(|beginnings| is_next(3, '(') && self.is_fixed(tokens, at + 4, beginnings))
            }) && (!is_started || self.starts)
                || is_next(1, '[') && matches!(name, "ENV" | "Dir" | "Set");
        }
        let owner = tokens.name_at(at.wrapping_sub(2)).filter(|_| is_before('.'));
        let is_member = owner.is_some_and(|owner| self.members.get(owner).is_some());
        let is_literal = || match self.language {
            Language::Php => literal::in_php(tokens, at, &self.constants),
            _ => literal::in_ruby(tokens, at, &self.constants),
        };
        let is_start = self.starts && self.starting.has(name) && !is_before('.') && is_literal();
        if self.forbidden.has(name) && !is_member && !is_start {
            return false;
        }
        let is_key = is_next(1, ':') && !is_next(2, ':');
        let is_call = is_next(1, '(') || matches!(tokens.get(at + 1), Some(Token::Text(_) | Token::Shell(_)));
        let is_own = self.functions.contains(name) && (!is_before('.') || owner == Some("self"))
            || self.variables.contains(name) && (is(Language::Lua) || !is_call && !is_before('.'));
        is_member
            || (is_key && is(Language::Ruby))
            || (is_own && !starts::CALLS.has(name))
            || self.words.has(name)
            || is_start
    }

    /// Whether the function among arguments, the opening bracket of which is the first token, is known.
    fn calls_known(&self, tokens: &[Token], index: usize) -> bool {
        let is_ruby = self.language == Language::Ruby;
        let is_block = |at| tokens.is_at(at, '{') || tokens.name_at(at) == Some("do");
        // `inject { … }`, `reduce :+`.
        if is_ruby && !tokens.is_at(0, '(') {
            return is_block(0) || tokens.is_at(0, ':') && !matches!(tokens.get(1), Some(Token::Text(_)));
        }
        let (mut depth, mut from, mut end) = (0, 1, 0);
        let mut arguments: Vec<&[Token]> = vec![];
        for (at, token) in tokens.iter().enumerate() {
            depth += token.nesting();
            if depth <= 0 || depth == 1 && token.is(',') {
                arguments.push(tokens.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            if depth <= 0 {
                end = at;
                break;
            }
        }
        if is_ruby {
            let is_number = |argument: &&[Token]| matches!(argument, [Token::Value]);
            let is_symbol = |argument: &[Token]| {
                !argument.iter().any(|token| matches!(token, Token::Text(_)) || token.is('$'))
                    && argument.is_at(usize::from(argument.is_at(0, '&')), ':')
            };
            return match arguments.as_slice() {
                [] => false,
                [_] if is_block(end + 1) => true,
                [first @ .., last] => is_symbol(last) && first.iter().all(is_number),
            };
        }
        // `…(...$list)`.
        if arguments.iter().any(|argument| argument.is_at(0, '.')) {
            return false;
        }
        match arguments.get(index).copied() {
            None => true,
            Some([Token::Name(word), ..]) => matches!(word.as_str(), "fn" | "function"),
            Some([Token::Text(text)]) => self.words.has(&text.raw),
            Some(_) => false,
        }
    }

    /// Whether the argument at an index is a constant text with one of these beginnings, and no address.
    fn is_fixed(&self, tokens: &[Token], at: usize, beginnings: Names) -> bool {
        let is_plain =
            |text: &Text| !text.raw.contains([':', '\\', '|', '\u{1}']) && !text.raw.contains("..");
        let Some(Token::Text(text)) = tokens.get(at) else { return false };
        let Some(path) = text.literal().filter(|_| is_plain(text)) else { return false };
        let is_alone = tokens.is_at(at + 1, ')');
        let is_mode = tokens.is_at(at + 1, ',')
            && tokens.is_at(at + 3, ')')
            && match tokens.get(at + 2) {
                // The mode of a file, or a file after the name of a function.
                Some(Token::Text(mode)) => {
                    matches!(mode.raw.as_str(), "r" | "rb") || mode.raw.starts_with('/') && is_plain(mode)
                }
                Some(Token::Name(name)) => self.words.has(name) && self.language == Language::Php,
                token => token == Some(&Token::Value),
            };
        (is_alone || is_mode) && (beginnings.0 == ["*"] || beginnings.begin(path))
    }

    /// Adds the names that the code binds, and the functions that it defines.
    fn define(&mut self, tokens: &[Token]) {
        let (is_ruby, is_lua) = (self.language == Language::Ruby, self.language == Language::Lua);
        let mut in_parameters = false;
        let mut depth = 0_usize;
        for (at, token) in tokens.iter().enumerate() {
            let before = tokens.get(at.wrapping_sub(1));
            let is = |ahead: usize, symbol| tokens.is_at(at + ahead, symbol);
            let after_word =
                |words: &[&str]| before.and_then(Token::name).is_some_and(|word| words.contains(&word));
            match token {
                Token::Symbol('{') => depth += 1,
                Token::Symbol('}') => depth = depth.saturating_sub(1),
                Token::Symbol('|') if is_ruby => {
                    in_parameters = before.is_some_and(|token| token.is('{') || token.name() == Some("do"));
                }
                Token::Name(name) => {
                    let is_set = (is_ruby || is_lua)
                        && ((is(1, '=')
                            && !is(2, '=')
                            && !is(2, '~')
                            && !before.is_some_and(|token| token.is('.')))
                            || in_parameters
                            || is(1, ',') && tokens.name_at(at + 2).is_some()
                            || after_word(&["for", "local"])
                            || before.is_some_and(|token| token.is(if is_lua { ',' } else { '>' })));
                    if is_set {
                        self.variables.insert(name.clone());
                    }
                    // A function of PHP within braces may never be defined.
                    if after_word(&["def", "function"])
                        && (depth == 0 || !matches!(self.language, Language::Php))
                    {
                        self.functions.insert(name.clone());
                    }
                    // Parameters.
                    if after_word(&["def"]) || is_lua && (after_word(&["function"]) || name == "function") {
                        let rest = tokens.get(at + 1..).unwrap_or_default();
                        let head = rest.iter().take_while(|token| !token.is(')') && **token != Token::Line);
                        self.variables.extend(head.filter_map(Token::name).map(str::to_owned));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The tokens with `A::B` as one name.
fn merged(tokens: Vec<Token>) -> Vec<Token> {
    let mut merged: Vec<Token> = Vec::new();
    for token in tokens {
        let end = merged.len();
        let is_inner = merged.is_at(end.wrapping_sub(1), ':') && merged.is_at(end.wrapping_sub(2), ':');
        let outer = merged.name_at(end.wrapping_sub(3)).filter(|_| is_inner);
        match (outer, token.name()) {
            (Some(outer), Some(name)) => {
                let name = format!("{outer}::{name}");
                merged.truncate(end - 3);
                merged.push(Token::Name(name));
            }
            _ => merged.push(token),
        }
    }
    merged
}
