//! Escapes of `$'…'`, which `echo -e` and `printf` share.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::shell::marks::without_marks;

/// The text of the `$'…'` at the start of `rest`, and its length in bytes as written.
pub(crate) fn ansi_c(rest: &str) -> (String, usize) {
    let mut text = Text::default();
    let mut chars = rest.char_indices().peekable();
    chars.next();
    chars.next();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return (text.finish(), at + 1),
            '\\' => escape(&mut chars, &mut text),
            _ => text.push(c),
        }
    }
    (text.finish(), rest.len())
}

/// What has been decoded. Bytes in a row may be one character.
#[derive(Default)]
struct Text {
    text: String,
    bytes: Vec<u8>,
}

impl Text {
    fn push(&mut self, c: char) {
        self.end_bytes();
        self.text.push(c);
    }

    /// A character that an escape names, which is never a mark.
    fn push_decoded(&mut self, c: char) {
        self.end_bytes();
        self.text.push_str(&without_marks(c.encode_utf8(&mut [0; 4])));
        if c == '\0' {
            self.text.push(c);
        }
    }

    /// What is not UTF-8 differs from all other text.
    fn end_bytes(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.push_decoded(c));
            self.text.extend(chunk.invalid().iter().flat_map(|byte| ['\u{FFFD}', char::from(*byte)]));
        }
    }

    fn finish(mut self) -> String {
        self.end_bytes();
        self.text
    }
}

/// Decodes what stands behind a backslash.
fn escape(chars: &mut Peekable<CharIndices<'_>>, text: &mut Text) {
    let Some((_, escape)) = chars.next() else { return };
    let plain = match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => escape,
        'c' => {
            let control = chars.next().map(|(_, c)| if c == '?' { 0x7f } else { u32::from(c) & 0x1f });
            // A backslash is written twice.
            if control == Some(0x1c) {
                chars.next_if(|(_, c)| *c == '\\');
            }
            return control.and_then(char::from_u32).into_iter().for_each(|c| text.push_decoded(c));
        }
        '0'..='7' => {
            let value = digits(chars, 8, 2).unwrap_or((0, 0));
            let first = escape.to_digit(8).unwrap_or(0) << (3 * value.1);
            return text.bytes.push(byte(first | value.0));
        }
        'x' => {
            let is_braced = chars.next_if(|(_, c)| *c == '{').is_some();
            let value = digits(chars, 16, if is_braced { usize::MAX } else { 2 });
            if is_braced {
                chars.next_if(|(_, c)| *c == '}');
            }
            if let Some((value, _)) = value {
                return text.bytes.push(byte(value));
            }
            return "\\x".chars().for_each(|c| text.push(c));
        }
        'u' | 'U' => {
            if let Some((value, _)) = digits(chars, 16, if escape == 'u' { 4 } else { 8 }) {
                return text.push_decoded(char::from_u32(value).unwrap_or('\u{FFFD}'));
            }
            return ['\\', escape].into_iter().for_each(|c| text.push(c));
        }
        _ => return ['\\', escape].into_iter().for_each(|c| text.push(c)),
    };
    text.push(plain);
}

/// The lowest byte of a number, which is what a shell takes of it.
fn byte(value: u32) -> u8 {
    value.to_le_bytes().first().copied().unwrap_or_default()
}

/// A number and how many digits it has, at most `most`; `None` without a digit.
fn digits(chars: &mut Peekable<CharIndices<'_>>, radix: u32, most: usize) -> Option<(u32, usize)> {
    let (mut value, mut count) = (0_u32, 0);
    while count < most
        && let Some((_, c)) = chars.next_if(|(_, c)| c.is_digit(radix))
    {
        value = value.wrapping_mul(radix) | c.to_digit(radix).unwrap_or(0);
        count += 1;
    }
    (count > 0).then_some((value, count))
}
