//! Texts in code: their end, their escapes and the values that they interpolate.

use super::names::Names;

/// What makes a text or a pattern of Perl run code.
const CODE: Names = Names(&["@{", "${", "(?{", "(??", "(*", "$$", "@$", "->"]);
/// Verbs of a pattern of Perl, which steer the search and run nothing.
const VERBS: Names = Names(&["(*SKIP)", "(*F)", "(*FAIL)", "(*ACCEPT)", "(*PRUNE)", "(*COMMIT)", "(*THEN)"]);

/// A piece of a text in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Known(String),
    /// An expression, as written.
    Unknown(String),
}

impl Part {
    /// The literal text, if it is one.
    pub fn known(&self) -> Option<&str> {
        if let Self::Known(text) = self { Some(text) } else { None }
    }

    /// The text, literal or as written.
    pub fn source(&self) -> &str {
        let (Self::Known(text) | Self::Unknown(text)) = self;
        text
    }
}

/// A text in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As written between the quotes; `\x` and `\u`, which could hide a name, are control characters.
    pub raw: String,
    /// With its escapes resolved, in known and unknown pieces.
    pub parts: Vec<Part>,
}

impl Text {
    /// A text whose value is what is written.
    pub fn plain(raw: &str, interpolation: Interpolation) -> Self {
        Self { raw: raw.to_owned(), parts: interpolation.parts(raw) }
    }

    /// A text with escapes.
    pub fn escaped(raw: &str, interpolation: Interpolation) -> Self {
        let hidden = raw.replace("\\x", "\u{1}").replace("\\u", "\u{1}");
        Self { raw: hidden, parts: interpolation.parts(&unescaped(raw)) }
    }

    /// The text, if all of it is literal.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Known(text)] => Some(text),
            _ => None,
        }
    }
}

/// How a text interpolates values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// Not at all.
    Nothing,
    /// `%s` and `{}`, for a formatter.
    Formats,
    /// `{name}`.
    Braces,
    /// `#{name}`, and `$name` and `${name}` in Perl and PHP.
    Hash,
    /// `${name}`.
    Dollar,
}

impl Interpolation {
    /// The known and unknown pieces of a text.
    pub fn parts(self, text: &str) -> Vec<Part> {
        let opens: &[&str] = match self {
            Self::Nothing => &[],
            Self::Formats => &["%s", "%d", "{}"],
            Self::Braces => &["{"],
            Self::Hash => &["#{", "$"],
            Self::Dollar => &["${"],
        };
        let mut parts = Vec::new();
        let mut rest = text;
        // One search for all of them: separate searches would take quadratic time.
        let first = |rest: &str| {
            rest.char_indices().filter(|(_, c)| matches!(c, '%' | '{' | '#' | '$')).find_map(|(at, _)| {
                let here = rest.get(at..).unwrap_or_default();
                opens.iter().find(|open| here.starts_with(**open)).map(|open| (at, *open))
            })
        };
        while let Some((at, open)) = first(rest) {
            // `{{` of Python is a brace.
            if self == Self::Braces && rest.get(at..).is_some_and(|inside| inside.starts_with("{{")) {
                let (before, after) = rest.split_at(at + 1);
                parts.push(Part::Known(before.to_owned()));
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            if at > 0 {
                parts.push(Part::Known(rest.get(..at).unwrap_or_default().to_owned()));
            }
            let inside = rest.get(at..).unwrap_or_default();
            let len = if open == "{}" {
                2
            } else if open.ends_with('{') {
                inside.find('}').map_or(inside.len(), |end| end + 1)
            } else if open == "$" {
                after_variable(inside)
            } else {
                open.len()
            };
            parts.push(Part::Unknown(inside.get(..len).unwrap_or_default().to_owned()));
            rest = inside.get(len..).unwrap_or_default();
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Known(rest.to_owned()));
        }
        parts
    }
}

/// The length of the variable that a text begins with: `$name`, `${name}`.
fn after_variable(text: &str) -> usize {
    let name = |from: usize| {
        let name = text.get(from..).unwrap_or_default();
        from + name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len())
    };
    let end = name(2);
    let is_in_braces =
        text.starts_with("${") && end > 2 && text.get(end..).is_some_and(|rest| rest.starts_with('}'));
    if is_in_braces { end + 1 } else { name(1) }
}

/// The text with its escapes resolved; a line break after a backslash is left out.
fn unescaped(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) if other != '\n' => value.push(other),
                _ => {}
            },
            _ => value.push(c),
        }
    }
    value
}

/// What precedes the first `end` without a backslash before it, and what follows it.
pub fn split_at_end<'a>(text: &'a str, end: &str) -> Option<(&'a str, &'a str)> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if text.get(at..)?.starts_with(end) {
            return Some((text.get(..at)?, text.get(at + end.len()..)?));
        }
        if c == '\\' {
            chars.next();
        }
    }
    None
}

/// The delimiter that closes a text which this one opens: `)` for `(`.
pub fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    }
}

/// The body of a text that begins with a freely chosen delimiter, such as those of `q(…)` and `%x{…}`, and what follows its
/// end. Delimiters that open and close differently nest.
pub fn delimited(text: &str) -> Option<(&str, &str)> {
    let open = text.chars().next()?;
    let close = closing(open);
    let body = text.get(open.len_utf8()..)?;
    let mut depth = 0_usize;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            _ if c == close && depth == 0 => return Some((body.get(..at)?, body.get(at + c.len_utf8()..)?)),
            _ if c == close => depth -= 1,
            _ if c == open => depth += 1,
            _ => {}
        }
    }
    None
}

/// The length of what a text takes of a variable of Perl or PHP before it: `{name}`, `[0]`, `->{name}`, `->name`.
pub fn subscripts(text: &str, is_php: bool) -> usize {
    let opens: &[char] = if is_php { &['['] } else { &['[', '{'] };
    let mut rest = text;
    loop {
        let arrow = rest.strip_prefix("->");
        let named = arrow.map(|field| field.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
        let after = match arrow.unwrap_or(rest) {
            element if element.starts_with(opens) => delimited(element).map(|(_, after)| after),
            _ => named.filter(|after| is_php && Some(*after) != arrow),
        };
        match after {
            Some(after) => rest = after,
            None => return text.len() - rest.len(),
        }
    }
}

/// Whether a text or a pattern of Perl runs code.
pub fn has_code(text: &str) -> bool {
    if !text.contains("(*") {
        return CODE.are_in(text);
    }
    let left = VERBS.iter().fold(text.to_owned(), |text, verb| text.replace(verb, ""));
    CODE.are_in(&left)
}

/// What follows a number. Letters that do not belong to it are a name: `1system(…)` of awk calls a function.
pub fn after_number(text: &str) -> &str {
    let digits = |text: &'_ str| -> usize {
        text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len()
    };
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hex.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '_');
    }
    let mut rest = text.get(digits(text)..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.').filter(|fraction| digits(fraction) > 0) {
        rest = fraction.get(digits(fraction)..).unwrap_or_default();
    }
    let exponent = rest.strip_prefix(['e', 'E']).map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    match exponent.filter(|exponent| exponent.starts_with(|c: char| c.is_ascii_digit())) {
        Some(exponent) => exponent.get(digits(exponent)..).unwrap_or_default(),
        None => rest,
    }
}
