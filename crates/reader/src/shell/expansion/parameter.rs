//! Expands `$NAME` and `${NAME…}`.

use super::arithmetic::evaluate;
use super::operators::{Reference, Referenced, apply, is_operator, one_of};
use super::splitter::Expansion;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::on_disk::GLOB;
use crate::shell::state::{Attribute, Shell, Value, Variable};
use crate::shell::text::{Field, Origin, Unknowns, is_known};

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

/// Expands what is between the braces. What is not followed with certainty runs, too.
pub(crate) fn expand(evaluator: &mut Evaluator, shell: &mut Shell, body: &str) -> Expansion {
    let before = evaluator.substitutions;
    let expansion = followed(evaluator, shell, body);
    // Whether the word of these is expanded is known.
    let is_word = |operator: &str| operator.trim_start_matches(':').starts_with(['-', '=', '?', '+']);
    if !reference(body).is_some_and(|reference| is_word(reference.operator)) {
        evaluator.run_rest(shell, body, before);
        // `${x^$((y=1))}`
        let operand = body.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        evaluator.is_involved |= operand.contains('$') && operand.contains(['=', '+', '-']);
    }
    expansion
}

/// Whether an operator cuts the value of a variable of the environment: `${PATH:0:1}` is a slash.
fn cuts_environment(reference: &Reference<'_>) -> bool {
    let rest = reference.operator.strip_prefix(':').unwrap_or(reference.operator);
    let is_slice = rest.len() < reference.operator.len();
    let is_default = rest.starts_with(['-', '=', '?', '+']);
    let is_own = reference.name.starts_with(|c: char| c.is_ascii_digit() || "@*".contains(c));
    // A replacement may be all of the result: `${HOSTNAME/*/-exec}`.
    !is_default
        && !is_own
        && (is_slice
            || rest.starts_with(['/', '^', ','])
            || !names::NAMING.has(reference.name) && rest.starts_with(['#', '%']))
}

/// A text that is computed from others, which may be any.
fn computed(evaluator: &mut Evaluator, body: &str, list: bool) -> Expansion {
    let source = evaluator.unknowns.show(&format!("$(computed ${{{body}}})"));
    Expansion { list, ..Expansion::text(evaluator.unknowns.foreign(source), Origin::Computed) }
}

/// Whether a variable of bash's own holds what a script, or a shell that has no such variable, was given: then it is like any other.
fn is_given(shell: &Shell, name: &str) -> bool {
    let is_own = names::OWN.has(name) || names::NUMBERS.has(name);
    let is_number = |variable: &Variable| matches!(&variable.value, Value::Scalar(text) if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()));
    // `echo` reads escapes in `sh`.
    is_own && (shell.echoes_escapes || shell.get(name).is_some_and(|variable| !is_number(variable)))
}

/// The texts that an element, or a parameter, of unknown place may be.
fn candidates(shell: &Shell, reference: &Reference<'_>, index: Option<&str>) -> Vec<String> {
    if !reference.operator.is_empty()
        || matches!(index, Some("@" | "*"))
        || matches!(reference.name, "@" | "*" | "#")
    {
        return vec![];
    }
    if reference.name.starts_with(|c: char| c.is_ascii_digit()) {
        shell.args.iter().map(|field| field.text.clone()).collect()
    } else {
        match shell.get(reference.name).map(|variable| &variable.value) {
            None if reference.name == "PWD" => shell.places().unwrap_or_default(),
            Some(Value::Array(items)) => items.iter().map(|(_, text)| text.clone()).collect(),
            Some(Value::Scalar(text)) => vec![text.clone()],
            _ => vec![],
        }
    }
}

fn followed(evaluator: &mut Evaluator, shell: &mut Shell, body: &str) -> Expansion {
    let is_given = reference(body.trim_start_matches(['#', '!']))
        .is_some_and(|reference| is_given(shell, reference.name));
    let unknown = |evaluator: &mut Evaluator| {
        // `$11` is `${1}1`.
        let is_digits = body.len() > 1 && body.starts_with(|c: char| c.is_ascii_digit());
        let is_plain = |r: Reference<'_>| r.operator.is_empty() && r.index.is_none() && !is_digits;
        let source =
            if reference(body).is_some_and(is_plain) { format!("${body}") } else { format!("${{{body}}}") };
        let source = evaluator.unknowns.show(&source);
        let is_number = body.starts_with('#') || body == "?" || names::NUMBERS.has(body);
        let mark = if is_given {
            evaluator.unknowns.foreign(format!("$(computed {source})"))
        } else if is_number {
            evaluator.unknowns.number(source)
        } else {
            evaluator.unknowns.many(source)
        };
        // `"$@"` is any number of words.
        let list = reference(body).is_some_and(|r| r.name == "@" || r.index == Some("@"));
        Expansion { list, ..Expansion::text(mark, Origin::Assigned) }
    };
    if let Some(of) = body.strip_prefix('#')
        && !of.is_empty()
        && let Some(length) = reference(of).filter(|r| r.operator.is_empty())
    {
        let before = before_subscript(evaluator, shell, length.name, length.index);
        return match find(before.as_ref().unwrap_or(shell), length.name, length.index) {
            Referenced::Texts(found) if found.list || length.name == "*" || length.index == Some("*") => {
                // A pattern matches any number of files.
                let is_open = |text: &String| evaluator.unknowns.may_be_several(text) || text.contains(GLOB);
                if found.texts.iter().any(is_open) {
                    return unknown(evaluator);
                }
                Expansion::text(found.texts.len().to_string(), Origin::Computed)
            }
            // What a character is, the locale says.
            Referenced::Texts(found) if found.texts.iter().all(|text| is_known(text) && text.is_ascii()) => {
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
        // A bad substitution, or one that the manual does not mention: `${x~~}`.
        evaluator.may_fail(shell);
        return computed(evaluator, body, false);
    };
    if reference.name == "DIRSTACK" && !shell.stack.is_empty() {
        let folders = shell.stack.iter().chain([&shell.cwd]).flatten().cloned().collect();
        return one_of(evaluator, body, folders);
    }
    let index = reference.index.map(|index| {
        if index.contains(['$', '`']) { evaluator.text(shell, index) } else { index.to_owned() }
    });
    if let Some(index) = index.as_deref() {
        evaluator.run_subscripts(shell, &format!("[{index}]"));
    }
    let before = before_subscript(evaluator, shell, reference.name, index.as_deref());
    let state = before.as_ref().unwrap_or(shell);
    let mut found = find_certain(&evaluator.unknowns, state, &reference, index.as_deref());
    if matches!(found, Referenced::Missing) {
        let texts = candidates(state, &reference, index.as_deref());
        if !texts.is_empty() {
            found =
                Referenced::Texts(Expansion { origin: Origin::Computed, ..one_of(evaluator, body, texts) });
        }
    }
    let given = match &found {
        _ if reference.name == "BASH_ALIASES" => {
            shell.aliases.defined.values().map(String::as_str).collect::<Vec<_>>().join("\n")
        }
        Referenced::Texts(found) if !reference.operator.is_empty() => found.texts.join("\n"),
        _ => String::new(),
    };
    // What an operator that is not followed makes of a text of the script, or the shell of one, may be any text.
    let replacement = reference.operator.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    let is_computed = !given.is_empty() && is_known(&given)
        || replacement
            .is_some_and(|(_, with)| with.starts_with('-') || with.contains([';', '|', '&', ' ', '`']))
        || names::SET_BY_SHELL.has(reference.name)
        || matches!(found, Referenced::Missing) && cuts_environment(&reference);
    // `${x#a}` is a part of what `x` was given: `$SECRET`.
    let shown = evaluator.unknowns.show(&given);
    let holds_variable = !is_known(&given) && shown.contains('$') && !shown.contains("$(");
    apply(evaluator, shell, &reference, found).unwrap_or_else(|| {
        let Expansion { texts, list, origin } = if holds_variable && !is_computed {
            Expansion::text(evaluator.unknowns.many(shown), Origin::Assigned)
        } else if is_computed {
            computed(evaluator, body, reference.index == Some("@"))
        } else {
            unknown(evaluator)
        };
        let texts = texts.into_iter().map(|mark| evaluator.unknowns.made_from(mark, &given)).collect();
        Expansion { texts, list, origin }
    })
}

/// Carries out what a subscript assigns, and returns the state before that.
fn before_subscript(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    name: &str,
    index: Option<&str>,
) -> Option<Shell> {
    let index = index.filter(|_| !shell.associative.contains(shell.referred(name)))?;
    let before = evaluator.assigns_in_subscript(shell, index).then(|| shell.clone());
    evaluator.assign_in_subscript(shell, index);
    before
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
    // What may be no word leaves its place to the next one: a pattern does with `nullglob`.
    let is_parameter = reference.name.starts_with(|c: char| c.is_ascii_digit());
    let taken = before + usize::from(is_parameter && shell.args.len() > 1);
    if shell.args.iter().take(taken).any(|field| is_uncertain(&field.text)) {
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
    let is_one = items.len() > 1 && !matches!(index, Some("@" | "*"));
    if !items.iter().take(place.max(usize::from(is_one))).any(|(_, text)| is_uncertain(text)) {
        return find(shell, reference.name, index);
    }
    // An element of the lines of a file or of a program is its text.
    let is_file = |text: &str| {
        unknowns.only_mark(text).is_some_and(|lines| {
            lines.on_disk.is_some()
                || lines.contents.is_some()
                || lines.made_from.is_some()
                || lines.is_foreign
                || lines.found.is_some()
                || lines.source.contains(GLOB)
        })
    };
    match items {
        [(_, lines)] if is_file(lines) => Referenced::Texts(Expansion::text(lines.clone(), Origin::Computed)),
        _ => Referenced::Missing,
    }
}

fn indirect(evaluator: &mut Evaluator, shell: &mut Shell, of: &str) -> Option<Expansion> {
    let target = reference(of)?;
    let index = target.index.map(|index| {
        if index.contains(['$', '`']) { evaluator.text(shell, index) } else { index.to_owned() }
    });
    if let Some(index) = index.as_deref() {
        evaluator.run_subscripts(shell, &format!("[{index}]"));
    }
    let before = before_subscript(evaluator, shell, target.name, index.as_deref());
    let state = before.as_ref().unwrap_or(shell);
    if let Some("@" | "*") = target.index {
        let Value::Array(items) = &state.get(target.name)?.value else { return None };
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
    let Referenced::Texts(named) = find(state, target.name, target.index) else { return None };
    let name = named.texts.first().filter(|name| is_known(name))?;
    // One level only: a name that refers to itself would recurse for ever.
    let element = reference(name).filter(|named| named.operator.is_empty())?;
    if let Some(index) = element.index {
        evaluator.is_computed = true;
        evaluator.run_subscripts(shell, &format!("[{index}]"));
    }
    let before = before_subscript(evaluator, shell, element.name, element.index);
    let found = find(before.as_ref().unwrap_or(shell), element.name, element.index);
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
        "PWD" | "OLDPWD" if shell.get(name).is_none() && !shell.missed.is_empty() => {
            return Referenced::Missing;
        }
        "PWD" if shell.get(name).is_none() => {
            return shell.cwd.clone().map_or(Referenced::Missing, one);
        }
        "OLDPWD" if shell.get(name).is_none() => {
            return shell.old_cwd.clone().map_or(Referenced::Missing, one);
        }
        // Each shell sets it at its start, and ignores the environment.
        "IFS" if shell.get(name).is_none() => return one(" \t\n".to_owned()),
        "?" | "-" | "$" | "!" => return Referenced::Missing,
        name if names::OWN.has(name) || names::NUMBERS.has(name) => return Referenced::Missing,
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
