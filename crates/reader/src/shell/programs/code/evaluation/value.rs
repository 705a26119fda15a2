//! Values of code, as far as they are constant.

use std::rc::Rc;

use crate::catalogue::program::Language;
use crate::languages::lexer::{Token, located_tokens};
use crate::languages::text::Part;

/// The maximum number of values that one name may have.
const MOST_VALUES: usize = 4;

/// The maximum size of a value; a larger one is unknown.
const LARGEST: usize = 64 * 1024;

/// A range of tokens.
pub(crate) type Range = (usize, usize);

/// The tokens of one piece of code.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub code: String,
    pub tokens: Vec<Token>,
    pub starts: Vec<usize>,
}

impl Unit {
    pub fn new(code: &str, language: Language) -> Self {
        let (tokens, starts) = located_tokens(code, language);
        Self { code: code.to_owned(), tokens, starts }
    }
}

/// What a call starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// A shell script.
    Script(Vec<Part>),
    /// A program and its arguments.
    Words(Vec<Vec<Part>>),
    /// A command that is built elsewhere in the code.
    Unclear,
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A text, in known and unknown pieces.
    Text(Vec<Part>),
    Number(i64),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
    Function(Rc<Function>),
    /// A name that the code does not define, with its module or object: `subprocess.run`.
    Path(String),
    /// The result of a call that is not followed: its function, and its arguments.
    Result(Rc<(String, Vec<Self>)>),
    /// One of several.
    Several(Vec<Self>),
    Unknown(String),
}

/// A function that the code defines.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// Its body is one expression.
    pub is_expression: bool,
    pub unit: Rc<Unit>,
    pub body: Range,
    /// The arguments of `functools.partial`, which precede the others.
    pub given: Vec<Value>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.unit, &other.unit) && self.body == other.body && self.given == other.given
    }
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// The names of its parts: one, unless it takes a list or a table apart.
    pub names: Vec<String>,
    pub takes: Takes,
    pub default: Option<Range>,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    One,
    /// The rest of the arguments.
    Rest,
    /// Arguments with names.
    Named,
    /// A list of as many elements as it has names.
    Elements,
    /// A table with these keys.
    Fields,
}

impl Default for Value {
    fn default() -> Self {
        Self::unknown()
    }
}

impl Value {
    /// The numbers from one to another one.
    pub fn range(from: Option<i64>, to: Option<i64>) -> Option<Self> {
        let (from, to) = (from?, to?);
        let length = to.checked_sub(from)?;
        (length < 10_000).then(|| Self::List((from..=to).map(Self::Number).collect()))
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(vec![Part::Known(text.into())])
    }

    /// The result of a call that is not followed.
    pub fn result(function: impl Into<String>, arguments: Vec<Self>) -> Self {
        Self::Result(Rc::new((function.into(), arguments)))
    }

    pub fn unknown() -> Self {
        Self::Unknown("…".to_owned())
    }

    /// The text, if all of it is known.
    pub fn known(&self) -> Option<String> {
        if let Self::Number(number) = self {
            return Some(number.to_string());
        }
        let Self::Text(parts) = self else { return None };
        parts.iter().map(Part::known).collect()
    }

    pub fn number(&self) -> Option<i64> {
        self.known()?.parse().ok()
    }

    /// The number with another one added to it.
    pub fn plus(&self, step: i64) -> Self {
        self.number().map(|number| Self::Number(number.saturating_add(step))).unwrap_or_default()
    }

    /// The index that a number means in a list of this length; negative ones count from its end.
    pub fn index(&self, length: usize) -> Option<usize> {
        let at = self.number()?;
        usize::try_from(if at < 0 { at + i64::try_from(length).ok()? } else { at }).ok()
    }

    /// The pieces of a text, or of any other value as an unknown text.
    pub fn parts(&self) -> Vec<Part> {
        match self {
            Self::Text(parts) => parts.clone(),
            Self::Number(number) => vec![Part::Known(number.to_string())],
            Self::Path(source) | Self::Unknown(source) => vec![Part::Unknown(source.clone())],
            _ => vec![Part::Unknown("…".to_owned())],
        }
    }

    /// The sum of two numbers; otherwise, two texts or lists, one after the other.
    pub fn sum(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => Self::Number(one.saturating_add(*two)),
            _ => self.joined(other),
        }
    }

    /// The value, or an unknown one if it is too large to be followed.
    pub fn bounded(self) -> Self {
        if self.exceeds(&mut { LARGEST }) { Self::unknown() } else { self }
    }

    /// Whether the bytes of its texts, with one for each value, are more than what is left.
    fn exceeds(&self, left: &mut usize) -> bool {
        let own = match self {
            Self::Text(parts) => parts.iter().map(|part| part.source().len() + 1).sum(),
            _ => 1,
        };
        let Some(rest) = left.checked_sub(own) else { return true };
        *left = rest;
        match self {
            Self::List(items) | Self::Several(items) => items.iter().any(|item| item.exceeds(left)),
            Self::Table(fields) => fields.iter().any(|(_, value)| value.exceeds(left)),
            Self::Result(call) => call.1.iter().any(|value| value.exceeds(left)),
            _ => false,
        }
    }

    /// Two texts or lists, one after the other.
    pub fn joined(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::List(one), Self::List(two)) => Self::List(one.iter().chain(two).cloned().collect()),
            (Self::Several(each), other) => Self::several(each.iter().map(|one| one.joined(other))),
            (one, Self::Several(each)) => Self::several(each.iter().map(|other| one.joined(other))),
            (Self::Text(_), _) | (_, Self::Text(_)) => {
                Self::Text(merged(self.parts().into_iter().chain(other.parts())))
            }
            _ => Self::unknown(),
        }
    }

    /// One of these values.
    pub fn several(values: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for value in values {
            let each = if let Self::Several(each) = value { each } else { vec![value] };
            for one in each {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        match all.len() {
            1 => all.pop().unwrap_or_default(),
            2..=MOST_VALUES => Self::Several(all),
            _ => Self::unknown(),
        }
    }

    /// The first where a condition holds, the second where it does not, and either where that is not certain.
    pub fn chosen(truth: Option<bool>, one: Self, other: Self) -> Self {
        match truth {
            Some(true) => one,
            Some(false) => other,
            None => Self::several([one, other]),
        }
    }

    /// A truth as a value.
    pub fn of_truth(truth: Option<bool>) -> Self {
        truth.map(|truth| Self::Path(if truth { "True" } else { "False" }.to_owned())).unwrap_or_default()
    }

    /// Each of its values.
    pub fn each(&self) -> Vec<Self> {
        if let Self::Several(each) = self { each.clone() } else { vec![self.clone()] }
    }

    /// Whether a condition on this value holds, if that is certain.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Text(_) | Self::Number(_) => self.known().map(|text| !matches!(text.as_str(), "" | "0")),
            Self::List(items) => Some(!items.is_empty()),
            Self::Path(path) => match path.as_str() {
                "True" | "true" => Some(true),
                "False" | "false" | "None" | "null" | "undefined" | "nil" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// The elements of a list, or of a range as numbers.
    pub fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items.clone()),
            Self::Table(rows) => Some(rows.iter().map(|(key, _)| Self::text(key.clone())).collect()),
            _ => None,
        }
    }

    /// The element at an index or a key.
    pub fn at(&self, key: &Self) -> Option<Self> {
        match self {
            Self::List(items) => items.get(key.index(items.len())?).cloned(),
            Self::Table(rows) => {
                let key = key.known()?;
                rows.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// The first field of a table that has one of these names.
    pub fn field(&self, names: &[&str]) -> Option<Self> {
        let Self::Table(rows) = self else { return None };
        rows.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.clone())
    }

    /// Whether it contains a function, or a name that may be one.
    pub fn is_callable(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Path(_))
    }
}

/// The arguments of a call.
#[derive(Default, Clone)]
pub(crate) struct Arguments {
    pub values: Vec<Value>,
    pub named: Vec<(String, Value)>,
}

impl Arguments {
    /// Arguments without names.
    pub fn of(values: Vec<Value>) -> Self {
        Self { values, named: vec![] }
    }

    /// The arguments after the first one, without those with names.
    pub fn rest(&self) -> Vec<Value> {
        self.values.iter().skip(1).cloned().collect()
    }

    /// All arguments.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().chain(self.named.iter().map(|(_, value)| value))
    }

    pub fn first(&self) -> Value {
        self.values.first().cloned().unwrap_or_default()
    }

    /// The value of an argument with a name, or of a field of an object with options.
    pub fn option(&self, name: &str) -> Option<Value> {
        let key = Value::text(name);
        let mut tables = self.values.iter().rev().filter(|value| matches!(value, Value::Table(_)));
        self.named(name).or_else(|| tables.find_map(|table| table.at(&key)))
    }

    /// The value of an argument with a name.
    pub fn named(&self, name: &str) -> Option<Value> {
        self.named.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
    }
}

/// A key with its value.
pub(crate) fn pair((key, value): &(String, Value)) -> Value {
    Value::List(vec![Value::text(key.clone()), value.clone()])
}

/// Values, each with its index.
pub(crate) fn numbered(items: &[Value]) -> Value {
    let rows = items.iter().enumerate();
    Value::List(rows.map(|(at, item)| pair(&(at.to_string(), item.clone()))).collect())
}

/// Adjacent known pieces as one.
pub(crate) fn merged(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        match (merged.last_mut(), part) {
            (Some(Part::Known(before)), Part::Known(text)) => before.push_str(&text),
            (_, part) => merged.push(part),
        }
    }
    if merged.is_empty() {
        merged.push(Part::Known(String::new()));
    }
    merged
}
