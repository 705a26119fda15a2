//! Methods of values that compute, and that call a function for each element.

use super::value::{Arguments, Value, numbered, pair};
use super::{Evaluator, MOST_ROUNDS};
use crate::languages::names::evaluation as words;
use crate::languages::text::{Interpolation, Part};

impl Evaluator<'_> {
    /// Calls a method.
    #[expect(clippy::needless_pass_by_value, reason = "the value is built for this call")]
    pub(super) fn method(&mut self, value: Value, name: &str, arguments: Arguments, at: usize) -> Value {
        if let Value::Several(each) = &value {
            let results: Vec<Value> =
                each.iter().map(|one| self.method(one.clone(), name, arguments.clone(), at)).collect();
            return Value::several(results);
        }
        if let Value::Path(path) = &value {
            let whole = format!("{path}.{name}");
            if let Some(known) = self.lookup(&whole).cloned().filter(Value::is_callable) {
                return self.call(&known, arguments, at);
            }
            return self.call_path(&whole, arguments, at);
        }
        if let Some(result) = self.computed(&value, name, &arguments) {
            self.handle(at);
            return result;
        }
        match &value {
            Value::Function(_) if matches!(name, "call" | "apply" | "()" | "yield") => {
                let skipped = usize::from(self.is_script());
                let values = arguments.values.into_iter().skip(skipped).collect();
                self.call(&value, Arguments { values, named: arguments.named }, at)
            }
            _ => match value.at(&Value::text(name)).filter(|_| matches!(value, Value::Table(_))) {
                Some(function) => self.call(&function, arguments, at),
                None => self.library(&value, name, arguments, at),
            },
        }
    }

    /// The result of a method that only computes, or that calls a function for each element.
    pub(super) fn computed(&mut self, value: &Value, name: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        if let Value::Number(number) = value {
            return Some(match name {
                "times" => {
                    let list = Value::range(Some(0), Some(number - 1))?;
                    self.for_each(&first, &list);
                    Value::unknown()
                }
                "toString" | "to_s" => Value::text(number.to_string()),
                _ => return None,
            });
        }
        match value {
            Value::Text(parts) => {
                // Texts of Ruby change.
                if self.is_ruby() && (words::CHANGING_TEXTS.has(name) || self.is(0, '!')) {
                    self.forget_text(value);
                    return Some(Value::unknown());
                }
                let known = value.known();
                let is_bare = arguments.values.is_empty();
                Some(match (name, known) {
                    ("join", _) => joined_list(&first, value),
                    ("format", Some(text)) => format(&text, arguments),
                    ("split", Some(text)) => split(&text, first.known().as_deref()),
                    ("strip" | "trim" | "chomp", Some(text)) if is_bare => Value::text(text.trim()),
                    (name, _) if is_bare && words::SAME_TEXTS.has(name) => value.clone(),
                    ("concat", _) => {
                        arguments.values.iter().fold(value.clone(), |text, part| text.joined(part))
                    }
                    _ if parts.is_empty() || arguments.values.iter().any(Value::is_callable) => return None,
                    _ => Value::unknown(),
                })
            }
            Value::List(items) => self.computed_of_list(value, items, name, arguments),
            Value::Table(rows) => Some(match name {
                "get" | "fetch" | "dig" => {
                    value.at(&first).unwrap_or_else(|| arguments.values.get(1).cloned().unwrap_or_default())
                }
                "items" | "entries" | "each" | "each_pair" | "forEach" | "map" => {
                    let pairs = Value::List(rows.iter().map(pair).collect());
                    if first.is_callable() {
                        self.for_each(&first, &pairs);
                        return Some(Value::unknown());
                    }
                    pairs
                }
                "values" => Value::List(rows.iter().map(|(_, value)| value.clone()).collect()),
                "keys" => Value::List(value.items()?),
                "copy" => value.clone(),
                _ => {
                    value.at(&Value::text(name)).is_none().then_some(())?;
                    self.forget(value);
                    Value::unknown()
                }
            }),
            _ => None,
        }
    }

    pub(super) fn computed_of_list(
        &mut self,
        value: &Value,
        items: &[Value],
        name: &str,
        arguments: &Arguments,
    ) -> Option<Value> {
        let first = arguments.first();
        let with = |more: Vec<Value>| Value::List(items.iter().cloned().chain(more).collect());
        Some(match name {
            "append" | "push" | "add" | "<<" | "extend" | "concat" => {
                let more =
                    || arguments.values.iter().map(|one| one.items().unwrap_or_else(|| vec![one.clone()]));
                let new = match name {
                    "extend" => first.items().map_or_else(Value::unknown, with),
                    "concat" => with(more().flatten().collect()),
                    _ => with(arguments.values.clone()),
                };
                if name != "concat" || self.is_ruby() {
                    self.replace(value, &new);
                }
                new
            }
            "join" => joined_list(
                value,
                &if arguments.values.is_empty() {
                    Value::text(if self.is_ruby() { "" } else { "," })
                } else {
                    first
                },
            ),
            name if arguments.values.is_empty() && words::COPIES.has(name) => value.clone(),
            "drop" => {
                Value::List(items.iter().skip(usize::try_from(first.number()?).ok()?).cloned().collect())
            }
            "first" if arguments.values.is_empty() => items.first().cloned().unwrap_or_default(),
            "last" if arguments.values.is_empty() => items.last().cloned().unwrap_or_default(),
            _ if words::MEASURES.has(name) && !first.is_callable() => Value::unknown(),
            name if words::EACH.has(name) && !arguments.values.is_empty() => {
                let function = arguments.values.iter().rev().find(|one| one.is_callable())?.clone();
                Value::List(self.for_each(&function, value))
            }
            "entries" => numbered(items),
            _ => {
                // It may change the list.
                self.forget(value);
                for argument in arguments.values.iter().filter(|one| matches!(one, Value::Function(_))) {
                    self.any_times(|this| this.call_unknown(argument));
                }
                Value::unknown()
            }
        })
    }

    /// Calls a function for each element of a list, with as many elements as it has parameters.
    pub(super) fn for_each(&mut self, function: &Value, list: &Value) -> Vec<Value> {
        let Some(items) = list.items().filter(|items| items.len() <= MOST_ROUNDS) else {
            self.any_times(|this| this.call_unknown(function));
            return vec![];
        };
        let mut results = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let count = if let Value::Function(function) = function { function.parameters.len() } else { 1 };
            let is_ruby = self.is_ruby();
            let values = match item {
                Value::List(parts) if is_ruby && count > 1 && parts.len() == count => parts,
                item if count > 1 => vec![item, Value::text(at.to_string())],
                item => vec![item],
            };
            results.push(self.call(function, Arguments::of(values), usize::MAX));
        }
        results
    }
}

/// `'%s' % value`.
pub(super) fn formatted(format: &Value, given: &Value) -> Value {
    let Some(format) = format.known() else { return Value::unknown() };
    let mut given = match given {
        Value::List(items) => items.clone(),
        value => vec![value.clone()],
    }
    .into_iter();
    let parts = Interpolation::Formats.parts(&format);
    if parts.iter().any(|part| matches!(part, Part::Known(text) if text.contains('%'))) {
        return Value::unknown();
    }
    filled(parts, |_| given.next())
}

/// `'{} {name}'.format(value, name=value)`.
fn format(format: &str, arguments: &Arguments) -> Value {
    let mut next = 0;
    filled(Interpolation::Braces.parts(format), |source| {
        let name = source.trim_matches(['{', '}']);
        let at = if name.is_empty() { Some(next) } else { name.parse().ok() };
        next += usize::from(name.is_empty());
        at.map_or_else(|| arguments.option(name), |at: usize| arguments.values.get(at).cloned())
    })
}

/// A text whose unknown parts are replaced by values, as far as there are any.
fn filled(parts: Vec<Part>, mut value: impl FnMut(&str) -> Option<Value>) -> Value {
    parts.into_iter().fold(Value::text(""), |text, part| match part {
        Part::Known(known) => text.joined(&Value::text(known)),
        Part::Unknown(source) => {
            let value = value(&source);
            text.joined(&as_text(&value.unwrap_or(Value::Unknown(source))))
        }
    })
}

/// Numbers and texts as a text; other values are unknown.
fn as_text(value: &Value) -> Value {
    if matches!(value, Value::Text(_) | Value::Several(_) | Value::Number(_)) {
        value.clone()
    } else {
        Value::Text(value.parts())
    }
}

/// The elements of a list with a text between them.
pub(super) fn joined_list(list: &Value, between: &Value) -> Value {
    let Some(items) = list.items() else { return Value::unknown() };
    let mut text = Value::text("");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text = text.joined(between);
        }
        text = text.joined(&as_text(item));
    }
    text
}

/// The parts of a text between separators, or between blanks.
pub(super) fn split(text: &str, separator: Option<&str>) -> Value {
    let parts: Vec<&str> = match separator {
        None | Some("…" | "") => text.split_whitespace().collect(),
        Some(separator) => text.split(separator).collect(),
    };
    Value::List(parts.into_iter().map(Value::text).collect())
}
