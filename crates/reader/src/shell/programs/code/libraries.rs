//! Libraries in code of other languages: other names of functions, clients of container engines and of HTTP.

use super::interpreter_calls::Call;
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::starts;
use crate::languages::text::{Part, Text};

/// Maximum number of tokens after the name of a program that are searched for its arguments.
const MOST_LATER: usize = 24;

fn name(token: Option<&Token>) -> Option<&str> {
    token.and_then(Token::name)
}

fn is(token: Option<&Token>, symbol: char) -> bool {
    token == Some(&Token::Symbol(symbol))
}

/// The literal text of a token.
fn text(token: Option<&Token>) -> Option<&str> {
    match token {
        Some(Token::Text(text)) => text.literal(),
        _ => None,
    }
}

/// Gives functions and modules their own names back: `import subprocess as s`, `const {exec: x} = …`, `f = os.system`.
pub(crate) fn rename(tokens: &mut [Token]) {
    let known = |word: &str| starts::CALLS.has(word) || starts::MODULES.has(word);
    let mut others: Vec<(String, String)> = Vec::new();
    for at in 0..tokens.len() {
        let after = |offset: usize| tokens.get(at + offset);
        if let Some(own) = name(after(0)).filter(|own| known(own)) {
            // `x as y`, `{x: y}`.
            let is_option =
                name(after(2)).is_some_and(|other| matches!(other, "True" | "False" | "true" | "false"));
            let other = match after(1) {
                Some(Token::Name(word)) if word == "as" => name(after(2)),
                Some(Token::Symbol(':')) if !is_option && starts::CALLS.has(own) => name(after(2)),
                _ => None,
            };
            others.extend(other.map(|other| (other.to_owned(), own.to_owned())));
            // `y = a.x`, without a call.
            let ends = matches!(
                after(1),
                None | Some(Token::Symbol(';' | ',' | ')') | Token::Name(_) | Token::Line)
            );
            if ends && starts::CALLS.has(own) {
                let mut before = at;
                while before > 1
                    && is(tokens.get(before - 1), '.')
                    && matches!(tokens.get(before - 2), Some(Token::Name(_) | Token::Symbol(')')))
                {
                    before -= 2;
                    if is(tokens.get(before), ')') {
                        let open =
                            tokens.get(..before).unwrap_or_default().iter().rposition(|t| is(Some(t), '('));
                        before = open.map_or(before, |open| open.saturating_sub(1));
                    }
                }
                if before > 1
                    && is(tokens.get(before - 1), '=')
                    && let Some(other) = name(tokens.get(before - 2))
                {
                    others.push((other.to_owned(), own.to_owned()));
                }
            }
        }
        // `$f = "system"; $f(…)`, `f = getattr(os, "system")`, `f = o["system"]`.
        if let Some(own) = text(after(0)).filter(|own| starts::CALLS.has(own)) {
            let line = tokens.get(..at).unwrap_or_default();
            let start = line.iter().rposition(|t| matches!(t, Token::Symbol(';') | Token::Line));
            let line = line.get(start.map_or(0, |start| start + 1)..).unwrap_or_default();
            let assigned = line.iter().position(|t| is(Some(t), '='));
            let other = assigned.and_then(|equals| name(line.get(equals.checked_sub(1)?)));
            others.extend(other.map(|other| (other.to_owned(), own.to_owned())));
        }
    }
    for token in tokens {
        if let Token::Name(word) = token
            && let Some((_, own)) = others.iter().find(|(other, _)| other == word)
        {
            word.clone_from(own);
        }
    }
}

/// The calls of libraries at the indexes that are left, as the commands that do the same.
pub(crate) fn calls(tokens: &[Token], language: Language, is_left: &dyn Fn(usize) -> bool) -> Vec<Call> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|at| is_left(*at)) {
        found.extend(named_by_text(tokens, at));
        found.extend(opened(tokens, at, language));
        found.extend(container(tokens, at));
        found.extend(unit_or_pod(tokens, at));
        found.extend(request(tokens, at));
    }
    found
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Call {
    Call::Words(words.into_iter().map(known).collect())
}

fn known(text: &str) -> Vec<Part> {
    vec![Part::Known(text.to_owned())]
}

/// The literal texts between the brackets that open at `from`.
fn literals(tokens: &[Token], from: usize) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut texts = Vec::new();
    for token in tokens.get(from..).unwrap_or_default().iter().take(64) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            token => texts.extend(text(Some(token))),
        }
    }
    texts
}

/// `getattr(os, "system")("…")`, `o["exec"]("…")`, `call_user_func("system", "…")`, `send(:system, "…")`.
fn named_by_text(tokens: &[Token], at: usize) -> Option<Call> {
    let is_call = |word: &str| starts::CALLS.has(word);
    let closes = |offset: usize| is(tokens.get(at + offset), ')') || is(tokens.get(at + offset), ']');
    if text(tokens.get(at)).is_some_and(is_call) && closes(1) && is(tokens.get(at + 2), '(') {
        return script(literals(tokens, at + 2));
    }
    if name(tokens.get(at)).is_some_and(|own| starts::BY_NAME.has(own)) {
        let mut given = literals(tokens, at + 1);
        let symbol = is(tokens.get(at + 2), ':') && name(tokens.get(at + 3)).is_some_and(is_call);
        if !symbol && given.first().is_some_and(|first| is_call(first)) {
            given.remove(0);
            return script(given);
        }
        if symbol && given.is_empty() {
            // `method(:system).call("…")`.
            given =
                tokens.get(at..).unwrap_or_default().iter().take(16).filter_map(|t| text(Some(t))).collect();
        }
        return if symbol { script(given) } else { None };
    }
    None
}

fn script(texts: Vec<&str>) -> Option<Call> {
    match texts.as_slice() {
        [] => None,
        [one] => Some(Call::Script(known(one))),
        _ => Some(words(texts)),
    }
}

/// `open(F, "command|")`, `open(F, "-|", "command", …)` and `open("|command")` of Perl and Ruby.
fn opened(tokens: &[Token], at: usize, language: Language) -> Option<Call> {
    if !matches!(language, Language::Perl | Language::Ruby) || name(tokens.get(at)) != Some("open") {
        return None;
    }
    let end = tokens.iter().skip(at).position(|t| matches!(t, Token::Symbol(';') | Token::Line));
    let line = tokens.get(at..end.map_or(tokens.len(), |end| at + end)).unwrap_or_default();
    let texts: Vec<&str> = line.iter().filter_map(|token| text(Some(token))).collect();
    if let Some(mode) = texts.iter().position(|text| matches!(text.trim(), "-|" | "|-")) {
        return script(texts.get(mode + 1..)?.to_vec());
    }
    let piped = |text: &&str| text.trim().starts_with('|') || text.trim().ends_with('|');
    let command = texts.into_iter().find(piped)?;
    Some(Call::Script(vec![Part::Known(command.trim().trim_matches('|').to_owned())]))
}

/// `containers.get("x").restart()`, `docker.getContainer("x").stop()`, `docker.restart("x")`.
fn container(tokens: &[Token], at: usize) -> Option<Call> {
    let operation = name(tokens.get(at)).filter(|own| starts::OPERATIONS.has(own))?;
    let receiver = at.checked_sub(2).filter(|_| is(tokens.get(at - 1), '.'))?;
    let mentions =
        |word: &str| ["docker", "podman"].iter().any(|one| word.to_ascii_lowercase().contains(one));
    let is_engine = tokens.iter().any(|token| match token {
        Token::Name(word) => mentions(word),
        token => text(Some(token)).is_some_and(mentions),
    });
    if !is_engine {
        return None;
    }
    let named = received(tokens, receiver).or_else(|| {
        let variable = name(tokens.get(receiver))?;
        let sets = |at: &usize| name(tokens.get(*at)) == Some(variable) && is(tokens.get(at + 1), '=');
        let assigned = (0..receiver).rev().find(sets)?;
        let end = tokens.iter().skip(assigned).position(|t| matches!(t, Token::Symbol(';') | Token::Line));
        let end = end.map_or(receiver, |end| (assigned + end).min(receiver));
        (assigned..end).rev().find_map(|at| received(tokens, at))
    });
    if let Some(name) = named {
        return Some(words(["docker", operation, name]));
    }
    let given = literals(tokens, at + 1);
    if is(tokens.get(at + 1), '(') && !given.is_empty() {
        return Some(words(["docker", operation].into_iter().chain(given)));
    }
    if tokens.iter().any(|token| name(Some(token)) == Some("list")) {
        return Some(Call::Script(vec![Part::Known(format!("docker {operation} $(docker ps -q)"))]));
    }
    let target = vec![Part::Unknown("…".to_owned())];
    Some(Call::Words(vec![known("docker"), known(operation), target]))
}

/// The name in a call such as `get("x")` that ends at `end`.
fn received(tokens: &[Token], end: usize) -> Option<&str> {
    let start = tokens.get(..end)?.iter().rposition(|token| is(Some(token), '('))?;
    let getter = name(tokens.get(start.checked_sub(1)?)).filter(|own| starts::GETTERS.has(own));
    getter.filter(|_| is(tokens.get(end), ')'))?;
    literals(tokens, start).first().copied()
}

fn unit_or_pod(tokens: &[Token], at: usize) -> Option<Call> {
    let own = name(tokens.get(at)).or_else(|| text(tokens.get(at)))?;
    let given = tokens.get(at + 1..).unwrap_or_default().iter().take(8).find_map(|token| text(Some(token)));
    if let Some(verb) = starts::UNIT_CALLS.get(own) {
        return Some(words(["systemctl"].into_iter().chain(verb.iter()).chain([given?])));
    }
    let command = starts::CLUSTER_CALLS.get_prefix(own)?;
    Some(words(["kubectl"].into_iter().chain(command.iter()).chain([given?])))
}

/// A request that changes something: to a container engine by its path, elsewhere by its method.
fn request(tokens: &[Token], at: usize) -> Option<Call> {
    let Token::Text(Text { parts, .. }) = tokens.get(at)? else { return None };
    let [Part::Known(address), ..] = parts.as_slice() else { return None };
    let whole: String = parts
        .iter()
        .map(|part| match part {
            Part::Known(text) | Part::Unknown(text) => text.as_str(),
        })
        .collect();
    let to_engine = whole.split_once("/containers/").is_some_and(|(_, path)| {
        let operation = path.split(['?', '#']).next().and_then(|path| path.split_once('/'));
        operation.is_some_and(|(_, operation)| starts::OPERATIONS.has(operation))
    });
    let is_address = address.starts_with("http://") || address.starts_with("https://");
    if !to_engine && !is_address {
        return None;
    }
    let from = at.saturating_sub(6);
    let near = tokens.get(from..(at + 16).min(tokens.len())).unwrap_or_default();
    let words = near.iter().filter_map(|token| name(Some(token)).or_else(|| text(Some(token))));
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    if !to_engine && !words.iter().any(|word| starts::SENDING.has(word)) {
        return None;
    }
    let method = if words.iter().any(|word| word == "put") { "PUT" } else { "POST" };
    let mut parts = parts.clone();
    if !is_address {
        // A path, or `http+unix://%2Frun%2Fdocker.sock/containers/…`; the host is that of the connection.
        let path = whole.find("/containers/").and_then(|start| whole.get(start..))?;
        let connects = |token: &Token| name(Some(token)).is_some_and(|own| own.ends_with("Connection"));
        let host = tokens.iter().position(connects).and_then(|at| literals(tokens, at + 1).first().copied());
        parts = vec![Part::Known(format!("http://{}{path}", host.unwrap_or("localhost")))];
    }
    Some(Call::Words(vec![known("curl"), known("-X"), known(method), parts]))
}

/// The literal texts, and the lists of texts, that code may run in a way that is not followed: those that begin with
/// the name of a program and are neither printed nor part of `calls`.
pub(crate) fn suspected(
    tokens: &[Token],
    calls: &[Call],
    is_program: &dyn Fn(&str) -> bool,
    is_left: &dyn Fn(usize) -> bool,
) -> Vec<String> {
    let parts = |call: &Call| match call {
        // A name alone is not the whole command: `spawn({file: "docker", args: […]})`.
        Call::Script(parts) if matches!(parts.as_slice(), [Part::Known(text)] if is_program(text)) => vec![],
        Call::Script(parts) => parts.clone(),
        Call::Words(words) => words.concat(),
        Call::Unclear => vec![],
    };
    let read: Vec<Part> = calls.iter().flat_map(parts).collect();
    let mut callers: Vec<&str> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    let mut calls_something = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        match token {
            Token::Symbol('(') => {
                let caller = name(before).unwrap_or_default();
                calls_something |= !caller.is_empty() && !starts::HARMLESS.has(caller);
                callers.push(caller);
            }
            Token::Symbol(')') => drop(callers.pop()),
            // `sh.docker("restart", …)`.
            Token::Name(word) if is_program(word) && is(tokens.get(at + 1), '(') && is_left(at) => {
                let given = literals(tokens, at + 1);
                if !given.is_empty() {
                    found.push(std::iter::once(word.as_str()).chain(given).collect::<Vec<_>>().join(" "));
                    calls_something = true;
                }
            }
            Token::Name(word) if matches!(word.as_str(), "import" | "require" | "use") => {
                calls_something = true;
            }
            Token::Text(Text { parts, .. })
                if is_left(at) && !parts.iter().all(|part| read.contains(part)) =>
            {
                // `print "…"` without brackets, `x == "…"`.
                let caller = name(before).or(callers.last().copied().filter(|caller| !caller.is_empty()));
                let compared =
                    is(before, '=') && at > 1 && matches!(tokens.get(at - 2), Some(Token::Symbol('=' | '!')));
                let first = text(Some(token)).unwrap_or_default();
                let starts = is_program(first.split_whitespace().next().unwrap_or_default());
                if starts && !compared && !caller.is_some_and(|caller| starts::HARMLESS.has(caller)) {
                    let mut command = first.to_owned();
                    if is_program(first) {
                        // `Command("docker", {args: ["restart", …]})`.
                        let later = tokens.get(at + 1..).unwrap_or_default().iter().take(MOST_LATER);
                        let later = later
                            .take_while(|token| !is(Some(token), ';'))
                            .filter_map(|token| text(Some(token)));
                        found.push(std::iter::once(first).chain(later).collect::<Vec<_>>().join(" "));
                    }
                    while is(tokens.get(at + 1), ',')
                        && let Some(next) = text(tokens.get(at + 2))
                    {
                        command.push(' ');
                        command.push_str(next);
                        at += 2;
                    }
                    found.push(command);
                }
            }
            _ => {}
        }
        at += 1;
    }
    if calls_something { found } else { Vec::new() }
}
