//! Calls that start a command which stands literally in the code.
//!
//! What code assigns elsewhere, it may change in ways that are not followed. So a command is only proved where it is a text,
//! or a list of texts, at the place of the call; in Python and JavaScript, also a name that is bound to one once.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{Places, Token};
use super::names::{Names, php, ruby, starts};
use super::text::{Part, Text};
use crate::catalogue::program::Language;

/// Words behind which another statement begins, or a condition.
const ENDS: Names = Names(&[
    "and", "do", "else", "elsif", "end", "for", "foreach", "if", "or", "rescue", "then", "unless", "until",
    "while",
]);

/// Words before a name that they bind, or whose value they end.
const DECLARING: Names =
    Names(&["as", "class", "const", "def", "del", "for", "function", "global", "let", "nonlocal", "var"]);

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

/// Whether each name in code of Python or JavaScript that starts commands is bound once and nothing that it holds is changed, so
/// that the evaluator follows all values. `renamed` are names of functions that start commands.
pub(super) fn is_settled(tokens: &[Token], language: Language, renamed: &BTreeSet<String>) -> bool {
    let is_python = language == Language::Python;
    let targets = targets(tokens);
    // Whether all bindings of a name are plain statements.
    let mut bound: BTreeMap<&str, bool> = BTreeMap::new();
    let (lists, defined) = (own_lists(tokens), defined(tokens));
    let mut depth = 0_i32;
    (0..tokens.len()).all(|at| {
        depth += tokens.get(at).map_or(0, Token::nesting);
        // An element, or what is in it, is assigned: `x[0] = …`, `{"a": x}["a"][0] = …`.
        if tokens.is_at(at, ']') && (is_set(tokens, at + 1) || is_operated(tokens, at + 1)) {
            let open = (0..at).rev().find(|open| tokens.is_at(*open, '['));
            let owner = open.and_then(|open| tokens.name_at(open.wrapping_sub(1)));
            return targets.get(at).copied().unwrap_or_default()
                || owner.is_some_and(|owner| lists.contains(owner));
        }
        let Some(name) = tokens.name_at(at) else { return true };
        let before = tokens.get(at.wrapping_sub(1));
        if is_python && name == "case" {
            return false;
        }
        if starts::CALLS.has(name) || renamed.contains(name) {
            let is_own = defined.contains(name) && !before.is_some_and(|token| token.is('.'));
            return is_own || takes_plain_options(tokens, at, is_python);
        }
        let changes = is_set(tokens, at + 1) || is_operated(tokens, at + 1);
        if before.is_some_and(|token| token.is('.')) {
            let owner = tokens.name_at(at.wrapping_sub(2));
            let is_own = matches!(owner, Some("self" | "this"));
            let may_mutate = tokens.is_at(at + 1, '(') && owner.is_some_and(|owner| lists.contains(owner));
            return (!changes || is_own) && (!starts::MUTATING.has(name) || may_mutate);
        }
        let is_option = is_python && depth > 0 && is_set(tokens, at + 1);
        let loops = tokens.name_at(at + 1).is_some_and(|word| word == "of" || word == "in" && !is_python);
        let declares = before.and_then(Token::name).is_some_and(|word| DECLARING.has(word));
        let is_arrow = tokens.is_at(at + 1, '=') && tokens.is_at(at + 2, '>');
        let is_target = targets.get(at).copied().unwrap_or_default();
        let binds = changes && !is_option || loops || declares || is_arrow || is_target;
        let counts = matches!(tokens.get(at + 1), Some(Token::Operator("++" | "--"))) && !is_python;
        let word = before.and_then(Token::name);
        let begins = matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':' | '{' | '}')));
        let is_first = !bound.contains_key(name);
        let is_plain = !is_target
            && (begins
                || is_first && matches!(word, Some("let" | "var")) && !tokens.is_at(at.wrapping_sub(2), '('));
        if !binds || counts || matches!(name, "self" | "cls" | "_") {
            return true;
        }
        let was_plain = bound.insert(name, is_plain);
        was_plain.is_none_or(|was_plain| was_plain && is_plain)
    })
}

/// The names in Python that are bound once, to a text or in a loop over texts, each with these texts: `u = "a"`,
/// `for u in ["a", "b"]:`.
pub(super) fn bound_once(tokens: &[Token]) -> BTreeMap<&str, Vec<&str>> {
    let targets = targets(tokens);
    let mut found = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        if name == "for" {
            found.extend(looped(tokens, at).into_iter().flatten());
        }
        let before = tokens.get(at.wrapping_sub(1));
        let word = before.and_then(Token::name);
        let begins = matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':')));
        let is_target = targets.get(at).copied().unwrap_or_default();
        let is_changed = is_set(tokens, at + 1) || is_operated(tokens, at + 1);
        let is_stated = begins && tokens.is_at(at + 1, ':');
        if !(is_changed || is_target || is_stated || word.is_some_and(|word| DECLARING.has(word))) {
            continue;
        }
        *counts.entry(name).or_default() += 1;
        let texts = match tokens.get(at + 2) {
            Some(Token::Text(text)) if begins && is_set(tokens, at + 1) && !is_target => {
                let ends = matches!(tokens.get(at + 3), None | Some(Token::Line | Token::Symbol(';')));
                ends.then(|| vec![text.raw.as_str()])
            }
            _ => None,
        };
        found.extend(texts.map(|texts| (name, texts)));
    }
    // What a pattern binds is not seen.
    let has_case = tokens.iter().any(|token| token.name() == Some("case"));
    found.retain(|name, _| counts.get(name) == Some(&1) && !has_case);
    found
}

/// The variables of a loop over a list of texts, over a list of lists of these, or over the items of a dictionary of texts, each
/// with its texts: `for u in ["a"]:`, `for name, u in {"a": "b"}.items():`. The list may be that of a name that is used nowhere else.
fn looped(tokens: &[Token], at: usize) -> Option<Vec<(&str, Vec<&str>)>> {
    let length = tokens.get(at..)?.iter().position(|token| token.name() == Some("in"))?;
    let names: Vec<&str> = tokens
        .get(at + 1..at + length)?
        .iter()
        .filter(|token| !token.is(','))
        .map(Token::name)
        .collect::<Option<_>>()?;
    let from = at + length + 1;
    let places =
        |name: &str| (0..tokens.len()).filter(|at| tokens.name_at(*at) == Some(name)).collect::<Vec<_>>();
    let (open, after) = match tokens.name_at(from) {
        Some(name) => match places(name).as_slice() {
            [bound, place] if *place == from => {
                let begins = bound.checked_sub(1).is_none_or(|before| {
                    matches!(tokens.get(before), Some(Token::Line | Token::Symbol(';')))
                });
                let open = bound + 2;
                let close = tokens.closing(open)?;
                let ends = matches!(tokens.get(close + 1), None | Some(Token::Line | Token::Symbol(';')));
                (begins && ends && is_set(tokens, bound + 1)).then_some((open, from + 1))?
            }
            _ => return None,
        },
        None => (from, tokens.closing(from)? + 1),
    };
    let inside = tokens.get(open + 1..tokens.closing(open)?)?;
    let rows = match tokens.get(open)? {
        Token::Symbol('{') => {
            let asks = tokens.is_at(after, '.')
                && tokens.name_at(after + 1) == Some("items")
                && tokens.is_at(after + 2, '(')
                && tokens.is_at(after + 3, ')')
                && tokens.is_at(after + 4, ':');
            asks.then_some(())?;
            let pairs = listed_by(inside, ',').map(|pair| listed_by(pair, ':').map(only_text).collect());
            pairs.collect::<Option<Vec<Vec<&str>>>>()?
        }
        Token::Symbol('[' | '(') if tokens.is_at(after, ':') => {
            let rows = listed_by(inside, ',').map(|row| match row {
                [Token::Symbol('(' | '['), row @ .., Token::Symbol(')' | ']')] if names.len() > 1 => {
                    listed_by(row, ',').map(only_text).collect()
                }
                row if names.len() == 1 => Some(vec![only_text(row)?]),
                _ => None,
            });
            rows.collect::<Option<Vec<Vec<&str>>>>()?
        }
        _ => return None,
    };
    let is_whole = !rows.is_empty() && rows.iter().all(|row| row.len() == names.len());
    let column = |index: usize| rows.iter().filter_map(|row| row.get(index).copied()).collect();
    is_whole.then(|| names.iter().enumerate().map(|(index, name)| (*name, column(index))).collect())
}

/// The parts between separators outside of brackets, without ends of lines.
fn listed_by(tokens: &[Token], separator: char) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0_i32;
    let parts = tokens.split(move |token| {
        depth += i32::from(matches!(token, Token::Symbol('(' | '[' | '{')));
        depth -= i32::from(matches!(token, Token::Symbol(')' | ']' | '}')));
        depth == 0 && token.is(separator)
    });
    let trimmed = parts.map(|mut part| {
        while let [Token::Line, rest @ ..] | [rest @ .., Token::Line] = part {
            part = rest;
        }
        part
    });
    trimmed.filter(|part| !part.is_empty())
}

/// The text of a part that is nothing else.
fn only_text(part: &[Token]) -> Option<&str> {
    match part {
        [Token::Text(text)] => Some(text.raw.as_str()),
        _ => None,
    }
}

/// The names of the functions that code defines.
fn defined(tokens: &[Token]) -> BTreeSet<&str> {
    let pairs = tokens.windows(2).filter(|pair| matches!(pair.name_at(0), Some("def" | "function")));
    pairs.filter_map(|pair| pair.name_at(1)).collect()
}

/// The names of lists that code only changes by that name, and otherwise only starts commands with or prints.
fn own_lists(tokens: &[Token]) -> BTreeSet<&str> {
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        matches!(before, None | Some(Token::Line | Token::Symbol(';' | ':' | '{' | '}')))
            || before.and_then(Token::name).is_some_and(|word| matches!(word, "const" | "let" | "var"))
    };
    let mut found: BTreeMap<&str, bool> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(' | '[' | '{') => open.push(at),
            Token::Symbol(')' | ']' | '}') => drop(open.pop()),
            Token::Name(name) => {
                let caller = open
                    .last()
                    .filter(|open| tokens.is_at(**open, '('))
                    .and_then(|open| tokens.name_at(open.wrapping_sub(1)));
                let is_given = is_read(tokens, at)
                    && caller.is_some_and(|caller| starts::CALLS.has(caller) || caller == "print");
                let is_bound = is_set(tokens, at + 1) && tokens.is_at(at + 2, '[');
                let mutates = tokens.is_at(at + 1, '.')
                    && tokens.name_at(at + 2).is_some_and(|name| starts::MUTATING.has(name))
                    && tokens.is_at(at + 3, '(');
                let is_element = tokens.is_at(at + 1, '[')
                    && tokens.closing(at + 1).is_some_and(|close| is_set(tokens, close + 1));
                let is_own = is_given
                    || begins(at) && (is_bound || mutates || is_element || is_operated(tokens, at + 1));
                *found.entry(name).or_insert(true) &= is_own;
            }
            _ => {}
        }
    }
    found.into_iter().filter(|(_, is_own)| *is_own).map(|(name, _)| name).collect()
}

/// Whether an assignment stands at an index.
fn is_set(tokens: &[Token], at: usize) -> bool {
    tokens.is_at(at, '=') && !tokens.is_at(at + 1, '=') && !tokens.is_at(at + 1, '>')
}

/// Whether a call, whose name is at an index, does not name another program or shell behind its first argument.
fn takes_plain_options(tokens: &[Token], at: usize, is_python: bool) -> bool {
    let name = tokens.name_at(at).unwrap_or_default();
    let Some(arguments) = arguments(tokens, at + 1) else { return true };
    arguments.iter().enumerate().all(|(index, part)| {
        if is_python {
            let is_named = part.is_at(1, '=') || part.is_at(0, '*');
            return !starts::OPTIONED.has(name) || index < 2 || is_named || part.is_empty();
        }
        let has_shell = part.iter().enumerate().any(|(at, token)| {
            let is_key = token.name() == Some("shell") || token.literal() == Some("shell");
            is_key && !matches!(part.name_at(at + 2), Some("true" | "false"))
        });
        let is_computed = part.is_at(0, '{')
            && (0..part.len()).any(|at| part.is_at(at, '[') && !part.is_at(at.wrapping_sub(1), ':'));
        !has_shell && !is_computed
    })
}

/// Whether an operator stands at an index that changes the name before it: `+=`, `//=`, `:=`, `++`.
pub(super) fn is_operated(tokens: &[Token], at: usize) -> bool {
    match tokens.get(at) {
        Some(Token::Operator("++" | "--")) => true,
        Some(Token::Operator(_)) => tokens.is_at(at + 1, '='),
        Some(Token::Symbol(symbol)) if "+-*/%|&^@<>?:".contains(*symbol) => {
            tokens.is_at(at + 1, '=') || tokens.is_at(at + 1, *symbol) && tokens.is_at(at + 2, '=')
        }
        _ => false,
    }
}

/// For each token, whether it stands among several targets or among parameters: `a, b = …`, `[a] = …`, `def f(a)`, `(a) => …`.
fn targets(tokens: &[Token]) -> Vec<bool> {
    let mut targets = vec![false; tokens.len()];
    let mut mark = |from: usize, to: usize| {
        targets.iter_mut().take(to).skip(from).for_each(|target| *target = true);
    };
    let mut open = Vec::new();
    let mut statement = 0;
    for (at, token) in tokens.iter().enumerate() {
        let is_set = token.is('=') && !tokens.is_at(at + 1, '=') && !tokens.is_at(at.wrapping_sub(1), '=');
        match token {
            Token::Symbol('(' | '[' | '{') => open.push(at),
            Token::Symbol(')' | ']' | '}') => {
                let Some(from) = open.pop() else { continue };
                let word = tokens.name_at(from.wrapping_sub(1));
                let sets = tokens.is_at(at + 1, '=') && !tokens.is_at(at + 2, '=');
                let loops = tokens.name_at(at + 1) == Some("of")
                    || tokens.name_at(at + 1) == Some("in") && word == Some("for");
                let heads = matches!(word, Some("function" | "as" | "catch"))
                    || matches!(tokens.name_at(from.wrapping_sub(2)), Some("def" | "function"));
                // `x[0] = …` is an element.
                let is_element = tokens.is_at(from, '[')
                    && match tokens.get(from.wrapping_sub(1)) {
                        Some(Token::Name(word)) => !DECLARING.has(word),
                        Some(Token::Symbol(')' | ']') | Token::Text(_)) => true,
                        _ => false,
                    };
                if is_element {
                    continue;
                }
                if heads {
                    let own = tokens.get(..at).unwrap_or_default().iter().enumerate().skip(from + 1);
                    let names = own.filter(|(at, token)| {
                        let mut before = tokens.get(..*at).unwrap_or_default().iter().rev();
                        let before = before.find(|token| **token != Token::Line);
                        token.name().is_some()
                            && matches!(before, Some(Token::Symbol('(' | ',' | '*' | '.' | '{' | '[' | '/')))
                    });
                    names.for_each(|(at, _)| mark(at, at + 1));
                } else if sets || loops {
                    mark(from, at + 1);
                }
            }
            Token::Symbol(';' | ':') | Token::Line if open.is_empty() => statement = at + 1,
            _ if is_set && open.is_empty() => {
                let head = tokens.get(statement..at).unwrap_or_default();
                if head.iter().any(|token| token.is(',')) {
                    mark(statement, at);
                }
                statement = at + 1;
            }
            _ => {
                // `for a, b in …`, `lambda a, b: …`.
                let end = match token.name() {
                    Some("for") => tokens.iter().skip(at).position(|token| token.name() == Some("in")),
                    Some("lambda") => tokens.iter().skip(at).position(|token| token.is(':')),
                    _ => None,
                };
                if let Some(length) = end.filter(|length| *length >= 3 || token.name() == Some("lambda")) {
                    mark(at, at + length);
                }
            }
        }
    }
    targets
}
