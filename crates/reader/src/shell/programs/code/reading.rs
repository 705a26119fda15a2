//! The reading of one piece of code: the commands that it starts, as far as they can be determined.

use super::evaluation::{Call, Followed, Found, follow};
use super::unfollowed::{has_calls, numbered_tokens_of, suspected};
use crate::catalogue::Catalogue;
use crate::catalogue::program::Language;
use crate::languages::lexer::{Places, Token, clear_tokens, located_tokens};
use crate::languages::names::{evaluation, node, ruby};
use crate::languages::only_reads;
use crate::languages::text::{Part, Text};

/// What a piece of code starts.
pub(crate) struct Reading {
    pub found: Vec<Found>,
    /// Texts that it may run in a way that is not followed.
    pub suspected: Vec<String>,
    /// Whether it runs what cannot be determined.
    pub is_unclear: bool,
    /// Its texts, one line for each statement, without those that are part of what was found.
    pub rest: String,
    is_complete: bool,
}

impl Reading {
    /// Reads code: follows its values, and searches what is left for calls by their names.
    pub fn of(code: &str, language: Language, catalogue: Catalogue) -> Self {
        let acts = |word: &str| catalogue.find(word).is_some_and(|program| program.acts);
        let Followed { mut found, handled, is_complete } = follow(code, language, &acts);
        let count = located_tokens(code, language).0.len();
        let (indexes, tokens): (Vec<usize>, Vec<Token>) =
            numbered_tokens_of(code, language).into_iter().unzip();
        let written: Vec<String> = found.iter().map(|found| shown(&found.call)).collect();
        let is_written = |text: &str| written.iter().any(|own| own.contains(text));
        let is_left = |at: usize| match (indexes.get(at), tokens.get(at)) {
            (Some(index), _) if handled.contains(index) => false,
            (Some(index), _) if is_complete && *index >= count => false,
            (_, Some(Token::Text(text))) => {
                let known = text.parts.iter().filter_map(Part::known);
                let longest = known.max_by_key(|text| text.len()).unwrap_or_default();
                longest.trim().is_empty() || !is_written(longest.trim())
            }
            _ => true,
        };
        let left: Vec<bool> = (0..tokens.len()).map(is_left).collect();
        let is_left = |at: usize| left.get(at).copied().unwrap_or(true);
        let is_unclear = replaces_methods(&tokens, language)
            || language == Language::Ruby && reopens(&tokens)
            || has_calls(&tokens, language, &is_left)
            || found.iter().any(|found| found.call == Call::Unclear);
        let mut suspected = suspected(&tokens, &acts, &is_left);
        suspected.retain(|text| !is_written(text.trim()));
        // The texts of code that is proved to read are names of files and users.
        let reads = only_reads(code, language, false, &|_| true);
        found.retain(|found| !(reads && found.is_suspected));
        if is_complete && !is_unclear || reads {
            suspected.clear();
        }
        let rest = if is_unclear { rest(code, language, &is_written) } else { String::new() };
        found.retain(|found| found.call != Call::Unclear);
        // What runs again in a way that is not followed.
        let recurs = language == Language::Awk && !code.trim_start().starts_with("BEGIN")
            || tokens.iter().filter_map(Token::name).any(|name| evaluation::RECURRING.has(name))
            || calls_again(code, language)
            || tokens.windows(2).any(|pair| {
                matches!(pair, [Token::Symbol('}'), Token::Name(name)] if name == "until" || name == "while")
                    || matches!(pair, [Token::Name(end), Token::Name(name)] if end == "end" && (name == "until" || name == "while"))
            });
        for found in &mut found {
            found.repeats |= recurs;
        }
        let is_complete = is_complete && clear_tokens(code, language).is_some();
        Self { found, suspected, is_unclear, rest, is_complete }
    }

    /// Whether it starts nothing, as far as can be seen.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.suspected.is_empty() && !self.is_unclear
    }

    /// Whether all that it starts was determined from its values.
    pub fn is_followed(&self) -> bool {
        let is_sure = !self.is_unclear && self.suspected.is_empty();
        self.is_complete && is_sure && self.found.iter().all(|found| !found.is_suspected)
    }
}

/// Whether JavaScript gives other methods to the values of all code: `String.prototype.trim = …`.
fn replaces_methods(tokens: &[Token], language: Language) -> bool {
    matches!(language, Language::Node | Language::Deno)
        && (0..tokens.len()).any(|at| match tokens.name_at(at) {
            Some("prototype") => {
                let is_read = tokens.is_at(at + 1, '.') && tokens.name_at(at + 2).is_some();
                !is_read || assigns(tokens, at + 3)
            }
            Some(name) if node::GLOBALS.has(name) => {
                tokens.is_at(at + 1, '.') && tokens.name_at(at + 2).is_some() && assigns(tokens, at + 3)
                    || tokens.is_at(at + 1, '[')
                        && tokens.closing(at + 1).is_some_and(|close| assigns(tokens, close + 1))
            }
            Some(name) => node::REPLACING.has(name),
            None => false,
        })
}

/// Whether Ruby gives other methods to values of its own classes: `class String`, `def x.strip`.
fn reopens(tokens: &[Token]) -> bool {
    (0..tokens.len()).any(|at| match tokens.name_at(at) {
        Some("class" | "module") => {
            tokens.name_at(at + 1).is_some_and(|name| ruby::BUILT_IN.has(name))
                || matches!(tokens.get(at + 1), Some(Token::Symbol('<') | Token::Operator("<" | "<<")))
        }
        Some("def") => tokens.is_at(at + 2, '.') && tokens.name_at(at + 1) != Some("self"),
        Some(name) => ruby::REPLACING.has(name),
        None => false,
    })
}

fn assigns(tokens: &[Token], at: usize) -> bool {
    tokens.is_at(at, '=') && !tokens.is_at(at + 1, '=')
}

/// Whether code calls functions in ways in which calls are not counted: decorators of its own, `&$function` of Perl,
/// `function.()` of Ruby.
fn calls_again(code: &str, language: Language) -> bool {
    let (tokens, _) = located_tokens(code, language);
    let is = |at: usize, symbol| tokens.is_at(at, symbol);
    (0..tokens.len()).any(|at| match language {
        Language::Python => {
            let begins = at == 0 || tokens.get(at - 1) == Some(&Token::Line);
            begins
                && is(at, '@')
                && !tokens.name_at(at + 1).is_some_and(|name| evaluation::DECORATORS.has(name))
        }
        Language::Perl => {
            // `&function;`
            let is_plain = tokens.name_at(at + 1).is_some() && !is(at + 2, '(');
            let begins = at == 0
                || matches!(tokens.get(at - 1), Some(Token::Line | Token::Symbol(';' | '{' | '}' | ',')));
            // `main->function`
            let is_own = |name: &str| {
                let mut pairs = tokens.windows(2);
                name == "can"
                    || pairs.any(|pair| pair.name_at(0) == Some("sub") && pair.name_at(1) == Some(name))
            };
            let is_method = is(at, '-') && is(at + 1, '>') && tokens.name_at(at + 2).is_some_and(is_own);
            is_method || is(at, '&') && (is(at + 1, '$') || is(at + 1, '{') || begins && is_plain)
        }
        Language::Ruby => {
            let is_bare = is(at, '[') && is(at + 1, ']') && at > 0 && tokens.name_at(at - 1).is_some();
            is(at, '.') && is(at + 1, '(') || is_bare
        }
        _ => false,
    })
}

/// The words of a call, with unknown parts as written.
fn shown(call: &Call) -> String {
    let text = |parts: &Vec<Part>| parts.iter().map(|part| part.known().unwrap_or("\0")).collect::<String>();
    match call {
        Call::Script(parts) => text(parts),
        Call::Words(words) => words.iter().map(text).collect::<Vec<_>>().join(" "),
        Call::Unclear => String::new(),
    }
}

/// The texts of code, one line for each statement, with what is computed as an unknown word.
fn rest(code: &str, language: Language, is_written: &dyn Fn(&str) -> bool) -> String {
    let (tokens, _) = located_tokens(code, language);
    let mut lines = vec![String::new()];
    let mut before: Option<&Token> = None;
    for (at, token) in tokens.iter().enumerate() {
        let is_key = tokens.get(at + 1).is_some_and(|next| next.is(':') || next.is('='));
        let Some(line) = lines.last_mut() else { break };
        match token {
            Token::Text(Text { parts, .. }) | Token::Shell(Text { parts, .. }) => {
                line.extend(parts.iter().map(|part| part.known().unwrap_or("$…")));
                line.push(' ');
            }
            Token::Name(_) if !is_key && before.is_some_and(|token| token.is(',') || token.is('+')) => {
                line.push_str("$… ");
            }
            Token::Line | Token::Symbol(';') => lines.push(String::new()),
            _ => {}
        }
        before = Some(token);
    }
    lines.retain(|line| !line.trim().is_empty() && !is_written(line.trim()));
    lines.join("\n")
}
