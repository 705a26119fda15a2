//! Code of Python that prints only values with harmless names of the JSON on its standard input.
//!
//! The code is closed: it assigns, repeats, compares and prints parts of what `json.load(sys.stdin)` returns, and each part that
//! it prints is a path such as `.items[].metadata.name`. A variable is assigned once.

use super::values::picks_harmless;
use std::collections::BTreeMap;

/// Functions whose result has nothing in it but what they are given.
const CALLS: [&str; 13] =
    ["all", "any", "int", "list", "max", "min", "reversed", "round", "set", "sorted", "str", "sum", "tuple"];

/// Methods of texts that take nothing.
const METHODS: [&str; 5] = ["lower", "rstrip", "strip", "title", "upper"];

/// Words of a condition, beside variables.
const COMPARING: [&str; 8] = ["and", "or", "not", "in", "is", "None", "True", "False"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Number,
    Text(&'t str),
    /// A text with values in braces.
    Format(&'t str),
    Mark(char),
}

use Token::{Format, Mark, Name, Number, Text};

/// Whether code prints only values whose names are no secrets'.
pub fn prints_harmless(code: &str) -> bool {
    let Some(tokens) = tokens(code) else { return false };
    let mut printer = Printer { rest: &[], paths: BTreeMap::new(), scoped: vec![], prints: false };
    statements(&tokens).into_iter().all(|statement| printer.statement(statement).is_some()) && printer.prints
}

fn tokens(code: &str) -> Option<Vec<Token<'_>>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens = vec![];
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        if matches!(word, "" | "f") && after.starts_with(['\'', '"']) {
            let quote = after.chars().next()?;
            let (text, after) = after.strip_prefix(quote)?.split_once(quote)?;
            // Of escapes, only those of a tab and a line are read.
            let is_plain = !text.replace("\\t", "").replace("\\n", "").contains(['\\', '\n']);
            (is_plain && !after.starts_with(quote)).then_some(())?;
            tokens.push(if word == "f" { Format(text) } else { Text(text) });
            rest = after;
        } else if word.is_empty() {
            if !matches!(c, ' ' | '\t') {
                tokens.push(Mark(c));
            }
            rest = rest.get(c.len_utf8()..)?;
        } else {
            // `1e9`; what is no number of Python is an error.
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            tokens.push(if is_number { Number } else { Name(word) });
            rest = after;
        }
    }
    Some(tokens)
}

/// The statements that `;` and the ends of lines divide outside of brackets.
fn statements<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let mut depth = 0_i32;
    let divided = tokens.split(|token| {
        depth += i32::from(matches!(token, Mark('(' | '['))) - i32::from(matches!(token, Mark(')' | ']')));
        matches!(token, Mark(';' | '\n')) && depth == 0
    });
    divided.filter(|statement| !statement.is_empty()).collect()
}

struct Printer<'a, 't> {
    rest: &'a [Token<'t>],
    /// The parts that variables hold, as paths.
    paths: BTreeMap<&'t str, String>,
    /// The variables of the comprehension in progress, which stand for others of the same name.
    scoped: Vec<&'t str>,
    prints: bool,
}

impl<'a, 't> Printer<'a, 't> {
    fn statement(&mut self, statement: &'a [Token<'t>]) -> Option<()> {
        match statement {
            [] => Some(()),
            [Name("import"), modules @ ..] => {
                modules.iter().all(|one| matches!(one, Name("json" | "sys") | Mark(','))).then_some(())
            }
            [Name(name), Mark('='), value @ ..] if value.first() != Some(&Mark('=')) => {
                self.rest = value;
                let path = self.path()?;
                self.rest.is_empty().then_some(())?;
                self.assign(name, path)
            }
            [Name("for"), header @ ..] => {
                let end = header.iter().position(|token| *token == Mark(':'))?;
                let (each, body) = (header.get(..end)?, header.get(end + 1..)?);
                self.each(each)?;
                self.statement(body)
            }
            [Name("else"), Mark(':'), body @ ..] => self.statement(body),
            [Name("if" | "elif"), header @ ..] => {
                let end = header.iter().position(|token| *token == Mark(':'))?;
                self.condition(header.get(..end)?)?;
                self.statement(header.get(end + 1..)?)
            }
            // A list of calls: `[print(i["name"]) for i in d["items"] if …]`.
            [Mark('['), all @ .., Mark(']')] => {
                let (call, mut inner) = self.comprehension(all)?;
                inner.statement(call)?;
                self.prints |= inner.prints;
                Some(())
            }
            [Name("print"), Mark('('), printed @ .., Mark(')')] => {
                self.prints = true;
                self.rest = printed;
                self.printed()
            }
            _ => None,
        }
    }

    /// `NAME in PATH`: the variable holds each part of this one.
    fn each(&mut self, header: &'a [Token<'t>]) -> Option<()> {
        let [Name(name), Name("in"), value @ ..] = header else { return None };
        self.rest = value;
        let path = self.path()?;
        self.rest.is_empty().then_some(())?;
        self.assign(name, path + "[]")
    }

    fn assign(&mut self, name: &'t str, path: String) -> Option<()> {
        let is_free = !["json", "sys", "print", "len"].contains(&name) && !CALLS.contains(&name);
        let is_scoped = self.scoped.contains(&name);
        let other = self.paths.insert(name, path);
        (is_free && (is_scoped || other.is_none())).then_some(())
    }

    /// The first part of a comprehension, and a printer with its variable: `VALUE for NAME in PATH if CONDITION`.
    fn comprehension(&self, all: &'a [Token<'t>]) -> Option<(&'a [Token<'t>], Self)> {
        let outside = |name: &str| {
            let mut depth = 0_i32;
            all.iter().position(|token| {
                depth +=
                    i32::from(matches!(token, Mark('(' | '['))) - i32::from(matches!(token, Mark(')' | ']')));
                depth == 0 && *token == Name(name)
            })
        };
        let (value, each) = all.split_at(outside("for")?);
        let end = outside("if").map_or(each.len(), |at| at.saturating_sub(value.len()));
        let each = each.get(1..)?;
        let (header, condition) = each.split_at_checked(end.checked_sub(1)?)?;
        let Some(Name(name)) = header.first() else { return None };
        let mut inner = Self { scoped: vec![name], ..self.copy() };
        inner.each(header)?;
        inner.condition(condition.get(1..).unwrap_or_default())?;
        Some((value, inner))
    }

    /// What stands between brackets, of which the first is behind.
    fn bracketed(&mut self) -> Option<&'a [Token<'t>]> {
        let mut depth = 1_i32;
        let end = self.rest.iter().position(|token| {
            depth +=
                i32::from(matches!(token, Mark('(' | '['))) - i32::from(matches!(token, Mark(')' | ']')));
            depth == 0
        })?;
        let inside = self.rest.get(..end)?;
        self.rest = self.rest.get(end + 1..)?;
        Some(inside)
    }

    fn copy(&self) -> Self {
        Self { paths: self.paths.clone(), scoped: self.scoped.clone(), ..*self }
    }

    /// Values between brackets, or a comprehension of them.
    fn group(&self, inside: &'a [Token<'t>]) -> Option<()> {
        let (values, mut inner) = self.comprehension(inside).unwrap_or_else(|| (inside, self.copy()));
        if values.is_empty() {
            return Some(());
        }
        inner.rest = values;
        inner.printed()
    }

    /// A condition prints nothing: it calls only `get` and `len`.
    fn condition(&self, tokens: &[Token<'t>]) -> Option<()> {
        let is_plain = |(at, token): (usize, &Token<'t>)| match token {
            Mark('(') => at
                .checked_sub(1)
                .and_then(|at| tokens.get(at))
                .is_some_and(|one| matches!(one, Name("get" | "len"))),
            Mark(mark) => "[]).,=!<>-".contains(*mark),
            Name(name) => {
                COMPARING.contains(name) || matches!(*name, "get" | "len") || self.paths.contains_key(name)
            }
            Number | Text(_) => true,
            Format(_) => false,
        };
        tokens.iter().enumerate().all(is_plain).then_some(())
    }

    /// The arguments of `print`, or of a function in it.
    fn printed(&mut self) -> Option<()> {
        loop {
            self.printed_value()?;
            match self.rest {
                [] => return Some(()),
                [Mark('/' | '*'), Mark('/' | '*'), rest @ ..]
                | [Mark(',' | '+' | '-' | '*' | '/' | '%') | Name("and" | "or"), rest @ ..] => {
                    self.rest = rest;
                }
                _ => return None,
            }
        }
    }

    fn printed_value(&mut self) -> Option<()> {
        match self.rest {
            [Text(_), Mark('.'), Name("join"), Mark('('), rest @ ..]
            | [Name("json"), Mark('.'), Name("dumps"), Mark('('), rest @ ..]
            | [Mark('[' | '('), rest @ ..] => {
                self.rest = rest;
                let inside = self.bracketed()?;
                self.group(inside)
            }
            [Name(name), Mark('('), rest @ ..] if CALLS.contains(name) => {
                self.rest = rest;
                let inside = self.bracketed()?;
                self.group(inside)
            }
            [Name("sep" | "end"), Mark('='), Text(_), rest @ ..]
            | [Name("indent"), Mark('='), Number, rest @ ..]
            | [Text(_) | Number, rest @ ..] => {
                self.rest = rest;
                Some(())
            }
            [Format(text), rest @ ..] => {
                self.formatted(text)?;
                self.rest = rest;
                Some(())
            }
            // A number says nothing of what it counts.
            [Name("len"), Mark('('), rest @ ..] => {
                self.rest = rest;
                let inside = self.bracketed()?;
                let (counted, mut inner) = match inside {
                    [Mark('['), all @ .., Mark(']')] => self.comprehension(all)?,
                    _ => (inside, self.copy()),
                };
                inner.rest = counted;
                inner.path()?;
                inner.rest.is_empty().then_some(())
            }
            _ => {
                let path = self.path()?;
                picks_harmless(&path).then_some(())
            }
        }
    }

    /// A text with values in braces: `f"{i['name']} {len(i['ports'])}"`.
    fn formatted(&self, text: &'t str) -> Option<()> {
        for part in text.split('{').skip(1) {
            let (value, _) = part.split_once('}')?;
            // How it is aligned.
            let value = value.split_once(':').map_or(value, |(value, _)| value);
            let tokens = tokens(value)?;
            let mut inner =
                Printer { rest: &tokens, paths: self.paths.clone(), scoped: vec![], prints: true };
            inner.printed()?;
        }
        Some(())
    }

    /// A part of what is read, as a path: `d["items"][0].get("name")` as `.items[].name`.
    fn path(&mut self) -> Option<String> {
        let mut path = match self.rest {
            // In another combination of the two, it ends in an error.
            [
                Name("json"),
                Mark('.'),
                Name("load" | "loads"),
                Mark('('),
                Name("sys"),
                Mark('.'),
                Name("stdin"),
                rest @ ..,
            ] => {
                let read = [Mark('.'), Name("read"), Mark('('), Mark(')')];
                self.rest = rest.strip_prefix(&read).unwrap_or(rest).strip_prefix(&[Mark(')')])?;
                ".".to_owned()
            }
            [Name(name), rest @ ..] => {
                self.rest = rest;
                self.paths.get(name)?.clone()
            }
            _ => return None,
        };
        loop {
            let (name, rest) = match self.rest {
                [Mark('['), Number, Mark(']'), rest @ ..]
                | [Mark('['), Mark('-'), Number, Mark(']'), rest @ ..] => (None, rest),
                // A part of a list or of a text.
                [Mark('['), Mark(':'), Number, Mark(']'), rest @ ..]
                | [Mark('['), Number, Mark(':'), Mark(']'), rest @ ..]
                | [Mark('['), Number, Mark(':'), Number, Mark(']'), rest @ ..] => {
                    self.rest = rest;
                    continue;
                }
                [Mark('.'), Name(method), Mark('('), Mark(')'), rest @ ..] if METHODS.contains(method) => {
                    self.rest = rest;
                    continue;
                }
                [Mark('['), Text(name), Mark(']'), rest @ ..]
                | [Mark('.'), Name("get"), Mark('('), Text(name), Mark(')'), rest @ ..]
                | [
                    Mark('.'),
                    Name("get"),
                    Mark('('),
                    Text(name),
                    Mark(','),
                    Text(_) | Number | Name("None"),
                    Mark(')'),
                    rest @ ..,
                ]
                // `get("ports", [])`, `get("labels", {})`.
                | [
                    Mark('.'),
                    Name("get"),
                    Mark('('),
                    Text(name),
                    Mark(','),
                    Mark('[' | '{'),
                    Mark(']' | '}'),
                    Mark(')'),
                    rest @ ..,
                ] => (Some(name), rest),
                _ => return Some(path),
            };
            self.rest = rest;
            let Some(name) = name else {
                path.push_str("[]");
                continue;
            };
            if path != "." {
                path.push('.');
            }
            path.extend(name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_prints_only_values_with_harmless_names() {
        for (harmless, code) in [
            (true, r#"import json,sys; print(json.load(sys.stdin)[0]["State"]["Status"])"#),
            (true, r#"import sys, json; d=json.load(sys.stdin); print(d["status"], len(d["nodes"]))"#),
            (
                true,
                r#"import json,sys; [print(i["metadata"]["name"], i["status"]["phase"]) for i in json.load(sys.stdin)["items"]]"#,
            ),
            (
                true,
                "import json,sys\nd = json.load(sys.stdin)\nfor i in d['items']:\n    if i['status']['phase'] != 'Running':\n        print(f\"{i['metadata']['name']:40} x\", sep='\\t')",
            ),
            (true, r#"import json,sys; print(json.load(sys.stdin)[-1].get("Image", "none"))"#),
            (
                true,
                "import json,sys; d=json.load(sys.stdin); print([i['metadata']['name'] for i in d['items']])",
            ),
            (
                true,
                "import json,sys; d=json.load(sys.stdin); print(sum(1 for i in d['items'] if i['status']['phase'] == 'Running'), len([i for i in d['items']]))",
            ),
            (
                true,
                "import json,sys; d=json.load(sys.stdin); print('\\n'.join(sorted(i['name'] for i in d)))",
            ),
            (
                true,
                "import json,sys\nfor i in json.load(sys.stdin)['items']:\n  for c in i['status'].get('containerStatuses', []):\n    print(c['name'], c['restartCount'] / 2, i['metadata']['name'][:20].strip())",
            ),
            (
                true,
                "import json,sys; d=json.loads(sys.stdin.read()); print([(i['name'], i['state'] or '-') for i in d])",
            ),
            (false, "import json,sys; d=json.load(sys.stdin); print([i for i in d['items']])"),
            (false, "import json,sys; d=json.load(sys.stdin); print([i['env'] for i in d['items']])"),
            (false, "import json,sys; d=json.load(sys.stdin); print(''.join(i['name'] for i in d), d)"),
            (false, "import json,sys; d=json.load(sys.stdin); print(sorted(d))"),
            (false, "import json,sys; d=json.load(sys.stdin); print([d for name in d['items']])"),
            (false, "import json,sys; d=json.load(sys.stdin); print([i['name'] for i in d if print(i)])"),
            (false, "import json,sys; d=json.load(sys.stdin); print(sorted(d['names'], key=print))"),
            (false, "import json,sys; print(json.dumps(json.load(sys.stdin), indent=2))"),
            (
                false,
                "import json,sys; d=json.load(sys.stdin); print([[x for x in i] for i in d['names']], d['a'] if 1 else d)",
            ),
            (false, "import json,sys; print(json.load(sys.stdin))"),
            (false, r#"import json,sys; print(json.load(sys.stdin)[0]["Config"]["Env"])"#),
            (false, r#"import json,sys; [print(e) for e in json.load(sys.stdin)[0]["Config"]["Env"]]"#),
            (false, r#"import json,sys; d=json.load(sys.stdin); x=d["name"]; x=d; print(x)"#),
            (false, r#"import json,sys; d=json.load(sys.stdin); print(d["name"], d)"#),
            (false, r#"import json,sys; d=json.load(sys.stdin); print(f"{d}")"#),
            (false, r#"import json,sys; d=json.load(sys.stdin); print(d["name"], file=open("/tmp/x"))"#),
            (
                false,
                r#"import json,sys; d=json.load(sys.stdin); [print(i["name"]) for i in d["a"] if print(i)]"#,
            ),
            (false, r#"import json,sys; d=json.load(sys.stdin); print(d["name"] or d["Env"])"#),
            (false, r#"import json,sys; d=json.load(sys.stdin); print(d["name"]); print(d["passw" "ord"])"#),
            (false, "import json,sys; json.load(sys.stdin)"),
        ] {
            assert_eq!(prints_harmless(code), harmless, "{code}");
        }
    }
}
