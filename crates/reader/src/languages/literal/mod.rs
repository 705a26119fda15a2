//! Calls that start a command which stands literally in the code.
//!
//! What code assigns elsewhere, it may change in ways that are not followed. So a command is only proved where it is a text,
//! or a list of texts, at the place of the call; in Python and JavaScript, also a name that is bound to one once.

mod bindings;
mod settled;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use bindings::{bound_once, is_operated};
pub(super) use settled::is_settled;

use crate::catalogue::program::Language;
use crate::languages::lexer::{Places, Token};
use crate::languages::names::{Names, php, ruby, starts};
use crate::languages::text::{Part, Text};

/// Words behind which another statement begins, or a condition.
const ENDS: Names = Names(&[
    "and", "do", "else", "elsif", "end", "for", "foreach", "if", "or", "rescue", "then", "unless", "until",
    "while",
]);

/// Names that code binds to a constant where it mentions them first, and otherwise only prints or starts commands with: nothing
/// can change their values.
pub(super) struct Constants {
    texts: BTreeSet<String>,
    lists: BTreeSet<String>,
}

impl Constants {
    /// The names in code of Perl, PHP or Ruby. `is_start` states whether the name at an index starts a command.
    pub fn of(tokens: &[Token], language: Language, is_start: impl Fn(usize) -> bool) -> Self {
        let mut found = Self { texts: BTreeSet::new(), lists: BTreeSet::new() };
        let mut mentions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        // For each token, whether it is an argument of a call that prints or starts a command.
        let mut given = vec![false; tokens.len()];
        for (at, token) in tokens.iter().enumerate() {
            if let Some(name) = token.name() {
                mentions.entry(name).or_default().push(at);
                let is_started = is_start(at);
                if is_started || PRINTING.has(name) {
                    let close = Some(at + 1)
                        .filter(|open| tokens.is_at(*open, '('))
                        .and_then(|open| tokens.closing(open));
                    let end = close.unwrap_or_else(|| at + 1 + bare_arguments(tokens, at + 1).len());
                    let mut depth = i32::from(close.is_none());
                    for at in at + 1..end {
                        depth += tokens.get(at).map_or(0, Token::nesting);
                        let is_plain = (depth == 1 || is_started) && is_read(tokens, at);
                        given.get_mut(at).into_iter().for_each(|given| *given |= is_plain);
                    }
                }
            }
        }
        let used: Vec<&str> = tokens.iter().flat_map(computed_names).collect();
        for (name, places) in &mentions {
            let Some((first, rest)) = places.split_first() else { continue };
            let is_used = |at: &usize| given.get(*at).copied().unwrap_or_default();
            if used.contains(name)
                || !rest.iter().all(is_used)
                || is_used(first) && language != Language::Ruby
            {
                continue;
            }
            match bound(tokens, *first, language) {
                Some(Bound::Text) => drop(found.texts.insert((*name).to_owned())),
                Some(Bound::List) => drop(found.lists.insert((*name).to_owned())),
                None => {}
            }
        }
        found
    }

    /// No names.
    pub fn none() -> Self {
        Self { texts: BTreeSet::new(), lists: BTreeSet::new() }
    }

    /// Whether a text is known: what it interpolates are constants.
    pub fn is_text(&self, text: &Text) -> bool {
        let is_known = |part: &Part| {
            part.known().is_some() || variable(part.source()).is_some_and(|name| self.texts.contains(name))
        };
        text.is_exact && text.parts.iter().all(is_known)
    }

    /// Whether a token is a text that is known, or the name of one.
    fn is_constant(&self, token: &Token) -> bool {
        match token {
            Token::Text(text) => self.is_text(text),
            Token::Name(name) => self.texts.contains(name),
            _ => false,
        }
    }

    fn is_list(&self, token: &Token) -> bool {
        token.name().is_some_and(|name| self.lists.contains(name))
    }
}

/// Whether the name at an index is only read there: an argument, or a part of a text.
fn is_read(tokens: &[Token], at: usize) -> bool {
    let signs = tokens.get(..at).unwrap_or_default().iter().rev();
    let signs = signs.take_while(|token| matches!(token, Token::Symbol('$' | '@' | '*'))).count();
    let before = at.wrapping_sub(signs).wrapping_sub(1);
    let begins = match tokens.get(before) {
        Some(Token::Name(_) | Token::Symbol('(' | ',' | '+')) => true,
        Some(Token::Symbol('.')) => signs > 0,
        _ => false,
    };
    let ends = match tokens.get(at + 1) {
        None | Some(Token::Line | Token::Symbol(')' | ',' | ';' | '}')) => true,
        // A text is joined: `.` of Perl and PHP.
        Some(Token::Symbol('.')) => signs > 0 && !tokens.is_at(at + 2, '='),
        _ => false,
    };
    begins && ends
}

/// Functions that join texts.
const JOINING: Names = Names(&["escapeshellarg", "format", "implode", "join", "sprintf"]);

/// What a name is bound to.
enum Bound {
    Text,
    List,
}

/// Functions that print what they are given.
const PRINTING: Names = Names(&["echo", "print", "puts", "say"]);

/// What the name at an index is bound to there, if that is a constant.
fn bound(tokens: &[Token], at: usize, language: Language) -> Option<Bound> {
    let is = |at: usize, symbol| tokens.is_at(at, symbol);
    let ends = |at: usize| matches!(tokens.get(at), None | Some(Token::Line | Token::Symbol(';')));
    let is_text = |at: usize| tokens.get(at).is_some_and(is_constant);
    let texts = |open: usize| {
        let close = tokens.closing(open)?;
        let mut inside = tokens.get(open + 1..close)?;
        // `(qw(a b))`.
        if inside.first().is_some_and(|token| token.is('(')) && inside.closing(0) == Some(inside.len() - 1) {
            inside = inside.get(1..inside.len() - 1)?;
        }
        are_constant(inside, |_| false).then_some(close)
    };
    let before = at.wrapping_sub(1);
    let word = |at: usize| tokens.name_at(at);
    match language {
        Language::Perl if word(at.wrapping_sub(2)) == Some("my") => {
            let is_loop = matches!(word(at.wrapping_sub(3)), Some("for" | "foreach"));
            if is_loop && is(before, '$') && is(at + 1, '(') {
                return texts(at + 1).filter(|close| is(close + 1, '{')).map(|_| Bound::Text);
            }
            if is(before, '@') && is(at + 1, '=') && is(at + 2, '(') {
                return texts(at + 2).filter(|close| ends(close + 1)).map(|_| Bound::List);
            }
            (is(before, '$') && is(at + 1, '=') && is_text(at + 2) && ends(at + 3)).then_some(Bound::Text)
        }
        Language::Php if is(before, '$') => {
            if word(at.wrapping_sub(2)) == Some("as") && is(at + 1, ')') && is(at.wrapping_sub(3), ']') {
                let open = (0..at).rev().find(|open| is(*open, '['))?;
                return texts(open)
                    .filter(|close| close + 3 == at && is(open.wrapping_sub(1), '('))
                    .map(|_| Bound::Text);
            }
            (is(at + 1, '=') && is_text(at + 2) && ends(at + 3)).then_some(Bound::Text)
        }
        Language::Ruby => {
            // `["a", "b"].each { |name| … }`.
            if is(before, '|') && is(at + 1, '|') {
                let begins = is(at.wrapping_sub(2), '{') || word(at.wrapping_sub(2)) == Some("do");
                let close = at
                    .checked_sub(5)
                    .filter(|close| begins && word(at - 3) == Some("each") && is(*close, ']'))?;
                let open = (0..close).rev().find(|open| is(*open, '['))?;
                return texts(open).map(|_| Bound::Text);
            }
            if word(before) == Some("for") && word(at + 1) == Some("in") && is(at + 2, '[') {
                return texts(at + 2).filter(|close| ends(close + 1)).map(|_| Bound::Text);
            }
            if !matches!(tokens.get(before), None | Some(Token::Line | Token::Symbol(';')))
                || !is(at + 1, '=')
            {
                return None;
            }
            if is(at + 2, '[') {
                return texts(at + 2).filter(|close| ends(close + 1)).map(|_| Bound::List);
            }
            (is_text(at + 2) && ends(at + 3)).then_some(Bound::Text)
        }
        _ => None,
    }
}

/// The variable that an interpolation consists of: `$name`, `${name}`, `{$name}`, `#{name}`.
fn variable(source: &str) -> Option<&str> {
    let inside = |open: &str| source.strip_prefix(open).and_then(|rest| rest.strip_suffix('}'));
    let name = inside("{$")
        .or_else(|| inside("${"))
        .or_else(|| inside("#{"))
        .or_else(|| source.strip_prefix('$'))?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
}

/// The words in what a text computes of variables, which may be changed there.
fn computed_names(token: &Token) -> impl Iterator<Item = &str> {
    let parts = match token {
        Token::Text(text) | Token::Shell(text) => text.parts.as_slice(),
        _ => &[],
    };
    let computed = parts.iter().filter(|part| part.known().is_none() && variable(part.source()).is_none());
    computed.flat_map(|part| part.source().split(|c: char| !(c.is_alphanumeric() || c == '_')))
}

/// Whether a token is a text of which nothing is computed.
fn is_constant(token: &Token) -> bool {
    matches!(token, Token::Text(text) if text.is_constant())
}

/// Whether tokens are constant texts with commas between them.
fn are_constant(tokens: &[Token], is_other: impl Fn(&Token) -> bool) -> bool {
    let mut items = tokens.split(|token| token.is(','));
    let is_item = |item: &[Token]| match item {
        [] => true,
        [one] => is_constant(one) || is_other(one),
        _ => false,
    };
    tokens.iter().any(|token| !token.is(',')) && items.all(is_item)
}

/// The arguments between the bracket at an index and the one that closes it.
fn arguments(tokens: &[Token], open: usize) -> Option<Vec<&[Token]>> {
    let close = Some(open).filter(|open| tokens.is_at(*open, '(')).and_then(|open| tokens.closing(open))?;
    let inside = tokens.get(open + 1..close)?;
    let mut depth = 0;
    let parts = inside.split(|token| {
        depth += token.nesting();
        depth == 0 && token.is(',')
    });
    Some(parts.collect())
}

/// The tokens up to the end of a call without brackets, whose first argument is at an index.
fn bare_arguments(tokens: &[Token], from: usize) -> &[Token] {
    let rest = tokens.get(from..).unwrap_or_default();
    let mut depth = 0;
    let end = rest.iter().position(|token| {
        depth += token.nesting();
        let ends = token.is(';') || *token == Token::Line || token.name().is_some_and(|name| ENDS.has(name));
        depth < 0 || depth == 0 && ends
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// The texts in brackets: `["ls", "-l"]`.
fn listed(tokens: &[Token]) -> Option<&[Token]> {
    let close = tokens.first().filter(|token| token.is('[')).and_then(|_| tokens.closing(0))?;
    tokens.get(1..close).filter(|_| close + 1 == tokens.len())
}

/// Whether a call of Perl, whose name is at an index, starts a command that is literal there.
pub(super) fn in_perl(tokens: &[Token], at: usize, known: &Constants) -> bool {
    let name = tokens.name_at(at).unwrap_or_default();
    if name == "close" {
        return true;
    }
    let close = Some(at + 1).filter(|open| tokens.is_at(*open, '(')).and_then(|open| tokens.closing(open));
    // The brackets of `qw(…)` do not end the arguments.
    let inside = close.and_then(|close| tokens.get(at + 2..close));
    let inside = inside.filter(|inside| inside.last().is_some_and(|token| !token.is(',')));
    let may_join = inside.is_some();
    let mut words = inside.unwrap_or_else(|| bare_arguments(tokens, at + 1));
    if name == "open" {
        let skipped = usize::from(matches!(words.name_at(0), Some("my" | "our" | "local")));
        let skipped = skipped + usize::from(words.is_at(skipped, '$'));
        if words.name_at(skipped).is_none() || !words.is_at(skipped + 1, ',') {
            return false;
        }
        words = words.get(skipped + 2..).unwrap_or_default();
    }
    let is_fine = |at: usize| match words.get(at) {
        Some(Token::Symbol(',' | '(' | ')')) => true,
        Some(Token::Symbol('$')) => {
            words.get(at + 1).is_some_and(|name| name.name().is_some() && known.is_constant(name))
        }
        Some(Token::Symbol('@')) => words.get(at + 1).is_some_and(|name| known.is_list(name)),
        Some(Token::Symbol('.')) => {
            may_join && !words.is_at(at.wrapping_sub(1), ')') && !words.is_at(at + 1, '(')
        }
        Some(token @ Token::Text(_)) => known.is_constant(token),
        Some(Token::Name(name)) => {
            let is_variable = words.is_at(at.wrapping_sub(1), '$') || words.is_at(at.wrapping_sub(1), '@');
            is_variable || may_join && JOINING.has(name) && words.is_at(at + 1, '(')
        }
        _ => false,
    };
    words.iter().any(|token| known.is_constant(token) || known.is_list(token))
        && (0..words.len()).all(is_fine)
}

/// Whether a call of PHP, whose name is at an index, starts a command that is literal there.
pub(super) fn in_php(tokens: &[Token], at: usize, known: &Constants) -> bool {
    let name = tokens.name_at(at).unwrap_or_default();
    if !starts::CALLS.has(name) {
        return true;
    }
    let Some(arguments) = arguments(tokens, at + 1) else { return false };
    let Some((first, rest)) = arguments.split_first() else { return false };
    let is_list = name == "proc_open" && listed(first).is_some_and(|items| are_constant(items, |_| false));
    let is_word = |part: &[Token]| match part {
        [text @ Token::Text(_)] => known.is_constant(text),
        [Token::Symbol('$'), name] => known.is_constant(name),
        _ => false,
    };
    let is_joined = || {
        (0..first.len()).all(|at| match first.get(at) {
            Some(Token::Symbol('.')) => at > 0 && !first.is_at(at + 1, '.'),
            Some(Token::Symbol('[')) => at > 0,
            Some(Token::Symbol('(' | ')' | ']' | ',')) => true,
            Some(Token::Symbol('$')) => first.get(at + 1).is_some_and(|name| known.is_constant(name)),
            Some(Token::Name(name)) => {
                first.is_at(at.wrapping_sub(1), '$') || JOINING.has(name) && first.is_at(at + 1, '(')
            }
            Some(token) => known.is_constant(token),
            None => false,
        })
    };
    if !is_list && !first.split(|token| token.is('.')).all(is_word) && (first.is_empty() || !is_joined()) {
        return false;
    }
    let is_variable = |part: &&[Token]| matches!(part, [Token::Symbol('$'), Token::Name(_)]);
    match (name, rest) {
        ("popen", [[mode]]) => is_constant(mode),
        // Pipes, and no files, which it would write.
        ("proc_open", [pipes, variable]) => {
            let is_pipe = |token: &Token| match token {
                Token::Text(text) => php::PIPES.has(&text.raw),
                Token::Symbol(symbol) => "[],=>".contains(*symbol),
                token => *token == Token::Value,
            };
            pipes.iter().all(is_pipe) && is_variable(variable)
        }
        ("proc_open" | "popen", _) => false,
        (_, rest) => rest.iter().all(is_variable),
    }
}

/// Whether a call of Ruby, whose name is at an index, starts a command that is literal there.
pub(super) fn in_ruby(tokens: &[Token], at: usize, known: &Constants) -> bool {
    let close = Some(at + 1).filter(|open| tokens.is_at(*open, '(')).and_then(|open| tokens.closing(open));
    let mut words = match close.and_then(|close| tokens.get(at + 2..close)) {
        Some(inside) => {
            let after = close.map_or(tokens.len(), |close| close + 1);
            // With a blank before the bracket, what follows it belongs to the argument.
            let reads = tokens.is_at(after, '.')
                && tokens.name_at(after + 1).is_some_and(|name| ruby::READING.has(name));
            let ends = match tokens.get(after) {
                None | Some(Token::Line | Token::Symbol(';' | ')' | '}' | ']' | '{')) => true,
                Some(token) => token.name().is_some_and(|name| ENDS.has(name)),
            };
            if !reads && !ends {
                return false;
            }
            inside
        }
        None => bare_arguments(tokens, at + 1),
    };
    // `{ "LANG" => "C" }`.
    if let Some(close) = words.first().filter(|token| token.is('{')).and_then(|_| words.closing(0)) {
        let is_fine =
            |token: &Token| is_constant(token) || matches!(token, Token::Symbol('{' | '}' | ',' | '=' | '>'));
        if !words.iter().take(close).all(is_fine) || !words.is_at(close + 1, ',') {
            return false;
        }
        words = words.get(close + 2..).unwrap_or_default();
    }
    let may_list = tokens.name_at(at) == Some("popen");
    let mut depth = 0;
    let parts: Vec<&[Token]> = words
        .split(|token| {
            depth += token.nesting();
            depth == 0 && token.is(',')
        })
        .collect();
    let is_fine = |(index, part): (usize, &&[Token])| match part {
        [text] => known.is_constant(text),
        [one, Token::Symbol('+'), other] => known.is_constant(one) && known.is_constant(other),
        [Token::Symbol('*'), list] => known.is_list(list),
        [Token::Name(name), Token::Symbol('('), inside @ .., Token::Symbol(')')] => {
            JOINING.has(name) && are_constant(inside, |token| known.is_constant(token))
        }
        [list @ .., Token::Symbol('.'), Token::Name(name), Token::Symbol('('), text, Token::Symbol(')')] => {
            name == "join"
                && is_constant(text)
                && listed(list).is_some_and(|items| are_constant(items, |token| known.is_constant(token)))
        }
        [Token::Name(key), Token::Symbol(':'), value @ ..] if index > 0 => {
            ruby::STARTING_OPTIONS.has(key)
                && value.iter().all(|token| match token {
                    Token::Name(value) => ruby::STARTING_VALUES.has(value),
                    token => matches!(token, Token::Symbol(':' | '[' | ']' | ',')),
                })
        }
        [Token::Symbol('*'), list @ ..] => listed(list).is_some_and(|items| are_constant(items, |_| false)),
        list if may_list && index == 0 => listed(list).is_some_and(|items| are_constant(items, |_| false)),
        _ => false,
    };
    !words.is_empty() && parts.iter().enumerate().all(is_fine)
}
