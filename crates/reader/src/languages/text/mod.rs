//! Texts in code: their end, their escapes and the values that they interpolate.

mod delimiters;
mod escapes;
mod interpolation;
mod part;
mod perl;

pub use delimiters::{closing, delimited, split_at_end};
pub use escapes::Escapes;
pub use interpolation::Interpolation;
use interpolation::Scanned;
pub use part::Part;
pub use perl::{Kind, code_in};

/// A text in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As written between the quotes; `\x` and `\u`, which could hide a name, are control characters.
    pub raw: String,
    /// With its escapes resolved, in known and unknown pieces.
    pub parts: Vec<Part>,
    /// Whether all escapes are known.
    pub is_exact: bool,
}

impl Text {
    /// A text in which escapes are resolved and values are interpolated.
    pub fn of(raw: &str, interpolation: Interpolation, escapes: Escapes) -> Self {
        let hides = !matches!(escapes, Escapes::None);
        let shown = if hides { raw.replace("\\x", "\u{1}").replace("\\u", "\u{1}") } else { raw.to_owned() };
        let Scanned { parts, is_exact } = interpolation.scan(raw, escapes);
        Self { raw: shown, parts, is_exact }
    }

    /// The text, if all of it is literal.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Known(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether the text is literal and all escapes in it are known.
    pub fn is_constant(&self) -> bool {
        self.is_exact && self.literal().is_some()
    }
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
