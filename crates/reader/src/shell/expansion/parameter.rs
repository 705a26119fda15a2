//! Expands `$NAME` and `${NAME…}`.

use super::arithmetic::{Outcome, evaluate};
use super::pattern;
use super::splitter::Expansion;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::grammar::word::ansi_c;
use crate::shell::state::{Attribute, Shell, Value};
use crate::shell::text::{Field, Origin, Stretch, Unknown, Unknowns, is_known, is_name, stretches};

/// Maximum length in bytes of values and patterns for `#`, `%` and `/`, which take quadratic time.
const LONGEST_TRIMMED: usize = 4096;

/// What is between the braces: a variable, an element of it, and the operator with its operands.
struct Reference<'a> {
    name: &'a str,
    index: Option<&'a str>,
    operator: &'a str,
}

fn reference(body: &str) -> Option<Reference<'_>> {
    let first = body.chars().next()?;
    let len = if first.is_ascii_alphabetic() || first == '_' {
        body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(body.len())
    } else if first.is_ascii_digit() {
        body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len())
    } else if "@*#?-$!".contains(first) {
        1
    } else {
        return None;
    };
    let (name, rest) = body.split_at(len);
    if let Some(inside) = rest.strip_prefix('[')
        && let Some(end) = inside.find(']')
    {
        return Some(Reference { name, index: inside.get(..end), operator: inside.get(end + 1..)? });
    }
    Some(Reference { name, index: None, operator: rest })
}

/// Whether bash knows an operator behind a name.
fn is_operator(operator: &str) -> bool {
    match operator.strip_prefix('@') {
        Some(change) => matches!(change, "U" | "u" | "L" | "Q" | "E" | "P" | "A" | "K" | "k" | "a"),
        None => {
            operator.is_empty() || operator.starts_with([':', '-', '=', '?', '+', '#', '%', '/', '^', ','])
        }
    }
}

/// The value of a reference before an operator is applied.
enum Referenced {
    /// The script does not set it; the environment may.
    Missing,
    Unset,
    Texts(Expansion),
}

pub(crate) fn expand(evaluator: &mut Evaluator, shell: &mut Shell, body: &str) -> Expansion {
    let unknown = |evaluator: &mut Evaluator| {
        let source = if reference(body).is_some_and(|r| r.operator.is_empty() && r.index.is_none()) {
            format!("${body}")
        } else {
            format!("${{{body}}}")
        };
        let source = evaluator.unknowns.show(&source);
        let is_number = body.starts_with('#') || body == "?" || names::NUMBERS.has(body);
        let mark =
            if is_number { evaluator.unknowns.number(source) } else { evaluator.unknowns.many(source) };
        // `"$@"` is any number of words.
        let list = reference(body).is_some_and(|r| r.name == "@" || r.index == Some("@"));
        Expansion { list, ..Expansion::text(mark, Origin::Assigned) }
    };
    if let Some(of) = body.strip_prefix('#')
        && !of.is_empty()
        && let Some(length) = reference(of).filter(|r| r.operator.is_empty())
    {
        return match find(shell, length.name, length.index) {
            Referenced::Texts(found) if found.list => {
                if found.texts.iter().any(|text| evaluator.unknowns.may_be_several(text)) {
                    return unknown(evaluator);
                }
                Expansion::text(found.texts.len().to_string(), Origin::Computed)
            }
            Referenced::Texts(found) if found.texts.iter().all(|text| is_known(text)) => {
                let len: usize = found.texts.iter().map(|text| text.chars().count()).sum();
                Expansion::text(len.to_string(), found.origin.max(Origin::Assigned))
            }
            _ => unknown(evaluator),
        };
    }
    if let Some(of) = body.strip_prefix('!')
        && !of.is_empty()
    {
        return indirect(evaluator, shell, of).unwrap_or_else(|| {
            evaluator.may_fail(shell);
            unknown(evaluator)
        });
    }
    let Some(reference) = reference(body).filter(|reference| is_operator(reference.operator)) else {
        // A bad substitution.
        evaluator.may_fail(shell);
        return unknown(evaluator);
    };
    let index = reference
        .index
        .map(|index| if index.contains('$') { evaluator.text(shell, index) } else { index.to_owned() });
    let found = find_certain(&evaluator.unknowns, shell, &reference, index.as_deref());
    apply(evaluator, shell, &reference, found).unwrap_or_else(|| unknown(evaluator))
}

/// What a reference finds, unless a word before it may be several words, or none: then any parameter may have any number, and
/// any element any index.
fn find_certain(
    unknowns: &Unknowns,
    shell: &Shell,
    reference: &Reference<'_>,
    index: Option<&str>,
) -> Referenced {
    let may_be_none = |text: &str| unknowns.only_mark(text).is_some() && !unknowns.is_one_word(text);
    let is_uncertain = |text: &str| unknowns.may_be_several(text) || may_be_none(text);
    let before = match reference.name {
        "#" => shell.args.len(),
        name => name.parse::<usize>().map_or(0, |position| position.saturating_sub(1)),
    };
    if shell.args.iter().take(before).any(|field| is_uncertain(&field.text)) {
        return Referenced::Missing;
    }
    let items = match shell.get(reference.name).map(|variable| &variable.value) {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    let is_key = |index: &str| items.iter().any(|(key, _)| key == index);
    let place = match index {
        None | Some("@" | "*") => 0,
        // A name that is a key does not move.
        Some(index) => {
            index.parse().map_or(if is_key(index) { 0 } else { items.len() }, |place: usize| place + 1)
        }
    };
    if !items.iter().take(place).any(|(_, text)| is_uncertain(text)) {
        return find(shell, reference.name, index);
    }
    // An element of the lines of a file is text of this file.
    let is_file = |text: &str| {
        unknowns.only_mark(text).is_some_and(|lines| lines.on_disk.is_some() || lines.contents.is_some())
    };
    match items {
        [(_, lines)] if is_file(lines) => Referenced::Texts(Expansion::text(lines.clone(), Origin::Computed)),
        _ => Referenced::Missing,
    }
}

fn indirect(evaluator: &mut Evaluator, shell: &mut Shell, of: &str) -> Option<Expansion> {
    let target = reference(of)?;
    if let Some("@" | "*") = target.index {
        let Value::Array(items) = &shell.get(target.name)?.value else { return None };
        if items.iter().any(|(_, text)| evaluator.unknowns.may_be_several(text)) {
            return None;
        }
        let texts = items.iter().map(|(key, _)| key.clone()).collect();
        return Some(Expansion { texts, list: true, origin: Origin::Assigned });
    }
    if target.operator == "*" || target.operator == "@" {
        // The environment has others, and what may be unset is none.
        let texts = vec![evaluator.unknowns.many(format!("${{!{of}}}"))];
        return Some(Expansion { texts, list: true, origin: Origin::Computed });
    }
    let Referenced::Texts(named) = find(shell, target.name, target.index) else { return None };
    let name = named.texts.first().filter(|name| is_known(name))?;
    // One level only: a name that refers to itself would recurse for ever.
    let element = reference(name).filter(|named| named.operator.is_empty())?;
    if let Some(index) = element.index {
        evaluator.is_computed = true;
        evaluator.run_subscripts(shell, &format!("[{index}]"));
    }
    let found = find(shell, element.name, element.index);
    let direct = Reference { operator: target.operator, ..element };
    apply(evaluator, shell, &direct, found)
}

fn find(shell: &Shell, name: &str, index: Option<&str>) -> Referenced {
    let text = |text: &str, origin| Referenced::Texts(Expansion::text(text.to_owned(), origin));
    let one = |own: String| Referenced::Texts(Expansion::text(own, Origin::Assigned));
    let several = |texts, sign, origin| Referenced::Texts(Expansion { texts, list: sign == "@", origin });
    match name {
        "@" | "*" | "#" if shell.args_unknown && shell.args.is_empty() => return Referenced::Missing,
        "@" | "*" => {
            let texts = shell.args.iter().map(|field| field.text.clone()).collect();
            let origin = shell.args.iter().map(|field| field.origin).max();
            return several(texts, name, origin.unwrap_or_default());
        }
        "#" => {
            // A word may be a pattern that matches several files, or none.
            let is_certain =
                |field: &Field| field.origin != Origin::Computed && !field.text.contains(['*', '?', '[']);
            let origin = if shell.args.iter().all(is_certain) { Origin::Assigned } else { Origin::Computed };
            return text(&shell.args.len().to_string(), origin);
        }
        "0" => return shell.name.as_deref().map_or(Referenced::Missing, |name| one(name.to_owned())),
        "PWD" if shell.get(name).is_none() => {
            return shell.cwd.clone().map_or(Referenced::Missing, one);
        }
        "OLDPWD" if shell.get(name).is_none() => {
            return shell.old_cwd.clone().map_or(Referenced::Missing, one);
        }
        // Each shell sets it at its start, and ignores the environment.
        "IFS" if shell.get(name).is_none() => return one(" \t\n".to_owned()),
        "?" | "-" | "$" | "!" => return Referenced::Missing,
        _ => {}
    }
    if let Ok(position) = name.parse::<usize>() {
        return match shell.args.get(position.wrapping_sub(1)) {
            Some(field) => text(&field.text, field.origin),
            None if shell.args_unknown && shell.args.is_empty() => Referenced::Missing,
            None => Referenced::Unset,
        };
    }
    let is_doubtful = shell.attributes.get(name) == Some(&Attribute::Doubtful);
    let Some(variable) = shell.get(name).filter(|_| !is_doubtful) else { return Referenced::Missing };
    let origin = variable.origin;
    match (&variable.value, index) {
        (Value::Scalar(own), None | Some("@" | "*" | "0")) => {
            several(vec![own.clone()], index.unwrap_or_default(), origin)
        }
        // It may be an array.
        (Value::Scalar(own), Some(_)) if !is_known(own) => Referenced::Missing,
        (Value::Unset, _) | (Value::Scalar(_), Some(_)) => Referenced::Unset,
        (Value::Array(items), Some(sign @ ("@" | "*"))) => {
            let mut items: Vec<&(String, String)> = items.iter().collect();
            // Elements may be set in any order; names of keys keep theirs.
            items.sort_by_key(|(key, _)| key.parse::<i64>().ok());
            several(items.into_iter().map(|(_, text)| text.clone()).collect(), sign, origin)
        }
        (Value::Array(items), index) => {
            let wanted = index.unwrap_or("0");
            let key = evaluate(wanted, shell).map_or_else(
                || wanted.to_owned(),
                |n| {
                    // Negative indexes count from the end.
                    let last = items.iter().filter_map(|(key, _)| key.parse::<i64>().ok()).max();
                    let len = last.map_or(0, |last| last + 1);
                    if n < 0 { (len + n).to_string() } else { n.to_string() }
                },
            );
            match items.iter().find(|(k, _)| *k == key || k == wanted) {
                Some((_, own)) => {
                    let is_plain = wanted.chars().all(|c| c.is_ascii_digit());
                    text(own, if is_plain { origin } else { Origin::Computed })
                }
                None if is_known(wanted) && items.iter().all(|(k, _)| is_known(k)) && key != wanted => {
                    Referenced::Unset
                }
                None => Referenced::Missing,
            }
        }
    }
}

/// Whether what a reference finds counts as unset; with `colon`, the empty text does. `None` where that is not certain.
fn is_unset(found: &Referenced, colon: bool) -> Option<bool> {
    match found {
        Referenced::Unset => Some(true),
        Referenced::Texts(Expansion { texts, .. }) if texts.is_empty() => Some(true),
        Referenced::Texts(_) if !colon => Some(false),
        // The environment may set it, and what is computed may be another text.
        Referenced::Missing | Referenced::Texts(Expansion { origin: Origin::Computed, .. }) => None,
        Referenced::Texts(Expansion { texts, .. }) => {
            let has_known =
                texts.iter().flat_map(|text| stretches(text)).any(|s| matches!(s, Stretch::Known(_)));
            if texts.iter().all(String::is_empty) { Some(true) } else { has_known.then_some(false) }
        }
    }
}

/// An expansion that is one of these texts.
fn one_of(evaluator: &mut Evaluator, body: &str, texts: Vec<String>) -> Expansion {
    let source = evaluator.unknowns.show(&format!("${{{body}}}"));
    Expansion::text(evaluator.one_of(texts, &source), Origin::Assigned)
}

/// Applies the operator of a reference; `None` when the result is unknown.
fn apply(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    reference: &Reference<'_>,
    found: Referenced,
) -> Option<Expansion> {
    let operator = reference.operator;
    let body = &format!("{}{operator}", reference.name);
    if operator.is_empty() {
        return match found {
            Referenced::Missing => None,
            Referenced::Unset if reference.index == Some("@") => {
                Some(Expansion { texts: vec![], list: true, origin: Origin::Assigned })
            }
            Referenced::Unset => Some(Expansion::text(String::new(), Origin::Assigned)),
            Referenced::Texts(found) => Some(found),
        };
    }
    let (colon, rest) = operator.strip_prefix(':').map_or((false, operator), |rest| (true, rest));
    let kind = rest.chars().next();
    if let Some(kind @ ('-' | '=' | '?' | '+')) = kind {
        let word = rest.get(1..).unwrap_or_default();
        let unset = is_unset(&found, colon);
        if kind == '+' && unset == Some(true) {
            return Some(Expansion::text(String::new(), Origin::Assigned));
        }
        if kind != '+' && unset == Some(false) {
            return if let Referenced::Texts(found) = found { Some(found) } else { None };
        }
        let mut text = evaluator.text(shell, word);
        // Quotes in the word make a word of what is empty, and keep blanks together.
        if word.contains(['"', '\'']) && (text.is_empty() || text.contains(' ')) {
            text = evaluator.unknowns.many(word);
        }
        if kind == '?' {
            return None;
        }
        let other = match found {
            _ if unset.is_some() => None,
            _ if kind == '+' => Some(String::new()),
            Referenced::Texts(found) => Some(found.joined(None, &evaluator.unknowns)),
            _ => {
                let source = format!("${}", reference.name);
                let own = Unknown { source, many: true, is_inherited: true, ..Unknown::default() };
                Some(evaluator.unknowns.mark(own))
            }
        };
        let expansion = match other {
            Some(other) => one_of(evaluator, body, vec![text, other]),
            None => Expansion::text(text, Origin::Assigned),
        };
        if kind == '=' && !is_name(reference.name) {
            evaluator.may_fail(shell);
        } else if kind == '=' {
            let value = expansion.texts.first().cloned().unwrap_or_default();
            evaluator.set_text(shell, reference.name, value);
        }
        return Some(expansion);
    }
    let Referenced::Texts(found) = found else {
        // An offset is evaluated also where there is nothing to cut.
        if colon {
            cut(evaluator, shell, rest);
        }
        return None;
    };
    // Plain patterns and numbers are followed with certainty.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "#%/^,:*._-@ ".contains(c);
    let is_certain = operator.chars().all(is_plain)
        && !operator.starts_with('@')
        && !found.list
        && found.texts.len() == 1
        && !shell.matches_loosely;
    evaluator.is_computed |= !is_certain;
    if colon {
        let first = i64::from(matches!(reference.name, "@" | "*"));
        let is_list = found.list || reference.name == "*" || reference.index == Some("*");
        return slice(evaluator, shell, (reference.name, rest, is_list), (found, first));
    }
    let Expansion { texts, list, origin } = found;
    let mut changed = Vec::with_capacity(texts.len());
    for text in texts {
        if !is_known(&text) || text.len() > LONGEST_TRIMMED {
            return None;
        }
        changed.push(change(evaluator, shell, operator, &text)?);
    }
    Some(Expansion { texts: changed, list, origin })
}

fn change(evaluator: &mut Evaluator, shell: &mut Shell, operator: &str, text: &str) -> Option<String> {
    let mut argument = |from: usize| {
        let raw = operator.get(from..).unwrap_or_default();
        let expanded = evaluator.text(shell, raw);
        (is_known(&expanded) && expanded.len() <= LONGEST_TRIMMED)
            .then(|| expanded.chars().collect::<Vec<char>>())
    };
    let trims = ["##", "%%", "#", "%"].into_iter().find(|sign| operator.starts_with(*sign));
    if let Some(sign) = trims {
        let pattern = argument(sign.len())?;
        if pattern.windows(2).any(|pair| matches!(pair, ['?' | '*' | '+' | '@' | '!', '('])) {
            return None;
        }
        let chars: Vec<char> = text.chars().collect();
        let is_front = sign.starts_with('#');
        let fits = |at: &usize| {
            let (front, end) = chars.split_at(*at);
            pattern::matches(&pattern, if is_front { front } else { end })
        };
        let mut places = 0..=chars.len();
        // `##` and `%` begin at the end of the text.
        let cut = if matches!(sign, "##" | "%") { places.rfind(fits) } else { places.find(fits) };
        let rest =
            cut.map_or(
                chars.as_slice(),
                |at| if is_front { chars.split_at(at).1 } else { chars.split_at(at).0 },
            );
        return Some(rest.iter().collect());
    }
    match operator {
        "^^" | "@U" => return Some(text.to_uppercase()),
        ",," | "@L" => return Some(text.to_lowercase()),
        "^" | "@u" => return Some(first_letter(text, char::to_ascii_uppercase)),
        "," => return Some(first_letter(text, char::to_ascii_lowercase)),
        "@Q" | "@K" | "@k" => return Some(format!("'{}'", text.replace('\'', "'\\''"))),
        "@E" => return Some(ansi_c(&format!("$'{}'", text.replace('\'', "\\'"))).0),
        // A prompt: its substitutions run.
        "@P" => return Some(evaluator.here_document(shell, text)),
        // An assignment, with attributes that the environment may have given.
        "@A" => return None,
        _ => {}
    }
    let replace = operator.strip_prefix('/').filter(|_| !shell.matches_loosely)?;
    let all = replace.starts_with('/');
    let body = replace.trim_start_matches('/');
    let (pattern, replacement) = body.split_once('/').unwrap_or((body, ""));
    let pattern = evaluator.text(shell, pattern);
    let replacement = evaluator.text(shell, replacement);
    // `&` in a replacement is what matched.
    if pattern.contains(['*', '?', '[', '\\', '('])
        || pattern.is_empty()
        || !is_known(&pattern)
        || replacement.contains(['&', '\\'])
    {
        return None;
    }
    if let Some(start) = pattern.strip_prefix('#').filter(|_| !all) {
        return Some(
            text.strip_prefix(start).map_or_else(|| text.to_owned(), |rest| format!("{replacement}{rest}")),
        );
    }
    if let Some(end) = pattern.strip_prefix('%').filter(|_| !all) {
        return Some(
            text.strip_suffix(end).map_or_else(|| text.to_owned(), |rest| format!("{rest}{replacement}")),
        );
    }
    Some(if all { text.replace(&pattern, &replacement) } else { text.replacen(&pattern, &replacement, 1) })
}

fn first_letter(text: &str, change: impl Fn(&char) -> char) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| change(&c)).into_iter().chain(chars).collect()
}

/// The offset of `${NAME:offset:length}`, and its length if there is one; `None` where they are not known.
fn cut(evaluator: &mut Evaluator, shell: &mut Shell, numbers: &str) -> Option<(i64, Option<usize>)> {
    let numbers = evaluator.text(shell, numbers);
    evaluator.run_subscripts(shell, &numbers);
    let before = shell.clone();
    let mut found = numbers.splitn(2, ':').map(|number| evaluator.calculate(shell, number));
    let (offset, length) = (found.next()?, found.next());
    // A length below 0 counts from the end, which may be before the offset.
    let is_short = |length: Outcome| length.may_fail || length.value.is_none_or(|length| length < 0);
    if offset.may_fail || length.is_some_and(is_short) {
        evaluator.may_fail(&before);
    }
    let length = match length {
        Some(length) => Some(usize::try_from(length.value?).ok()?),
        None => None,
    };
    Some((offset.value?, length))
}

/// The result of `${NAME:offset:length}`; `None` when it is unknown. `first` is the index of the first element, 0 or 1.
fn slice(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    (name, rest, is_list): (&str, &str, bool),
    (Expansion { texts, list, origin }, first): (Expansion, i64),
) -> Option<Expansion> {
    let (offset, length) = cut(evaluator, shell, rest)?;
    let start = |len: usize| {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        // An offset before the beginning gives nothing.
        usize::try_from(if offset < 0 { len + offset } else { (offset - first).max(0) }).unwrap_or(usize::MAX)
    };
    if is_list {
        // Offsets are keys, which may have gaps.
        let has_gaps = shell.get(name).is_some_and(|variable| match &variable.value {
            Value::Array(items) => items.iter().enumerate().any(|(at, (key, _))| *key != at.to_string()),
            _ => false,
        });
        // Nor is it known where the elements stand behind one that may be none or several.
        if has_gaps || texts.iter().any(|text| evaluator.unknowns.may_be_several(text)) {
            return None;
        }
        let start = start(texts.len());
        let texts = texts.into_iter().skip(start).take(length.unwrap_or(usize::MAX)).collect();
        return Some(Expansion { texts, list, origin });
    }
    let text = texts.first().filter(|text| is_known(text))?;
    let start = start(text.chars().count());
    let text = text.chars().skip(start).take(length.unwrap_or(usize::MAX)).collect();
    Some(Expansion::text(text, origin))
}
