//! Escapes of texts in code.

use crate::catalogue::program::Language;

/// The escapes that a text knows.
#[derive(Debug, Clone, Copy)]
pub enum Escapes {
    /// None: a backslash is a character.
    None,
    /// A backslash before a backslash or before one of these delimiters.
    Delimiters(char, char),
    /// Those of a text of a language between these quotes.
    Of(Language, char),
}

/// What a backslash and the character behind it mean.
#[derive(Debug, PartialEq, Eq)]
pub enum Escape {
    /// A character.
    Char(char),
    /// Nothing.
    Nothing,
    /// The backslash and the character.
    Both,
    /// Another text.
    Unclear,
}

impl Escapes {
    /// The meaning of a backslash before a character; `None` where it has none.
    pub fn resolve(self, next: Option<char>) -> Option<Escape> {
        use Language::{Awk, Deno, Lua, Node, Perl, Php, Python, Ruby};
        let language = match self {
            Self::None => return None,
            Self::Delimiters(open, close) => {
                let next = next.filter(|next| [open, close, '\\'].contains(next));
                return next.map(Escape::Char);
            }
            Self::Of(language, _) => language,
        };
        let Some(next) = next else { return Some(Escape::Unclear) };
        let is_quote = matches!(self, Self::Of(_, quote) if quote == next);
        Some(match (next, language) {
            ('n', _) => Escape::Char('\n'),
            ('t', _) => Escape::Char('\t'),
            ('\\', _) => Escape::Char('\\'),
            ('\n', Python | Node | Deno | Ruby | Awk) => Escape::Nothing,
            ('\'' | '"', Python) | ('$', Php) | ('"' | '/', Awk) => Escape::Char(next),
            (_, Python) if !"abfrvxuUN01234567".contains(next) => Escape::Both,
            (_, Php) if is_quote => Escape::Char(next),
            (_, Php) if !"rvefxu01234567".contains(next) => Escape::Both,
            (_, Node | Deno) if !"bfvrxu0123456789\r\u{2028}\u{2029}".contains(next) => Escape::Char(next),
            (_, Perl | Ruby | Lua) if !next.is_alphanumeric() && next != '\r' => Escape::Char(next),
            _ => Escape::Unclear,
        })
    }
}
