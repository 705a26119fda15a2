//! Splits a word as written into pieces: text, quotes, expansions.
//!
//! The scanner looks at every byte once, because a word may be 64 KiB of nested quotes.

use super::ansi_c::ansi_c;

/// A piece of a word as written. `quoted` pieces are neither split into words nor expanded as globs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text.
    Text { text: String, quoted: bool },
    /// `$NAME` or `${…}`; holds the name or what is between the braces.
    Parameter { body: &'a str, quoted: bool },
    /// `$(…)` or backquotes; holds the script, with the escapes of backquotes resolved.
    Command { body: String, quoted: bool },
    /// `$((…))` or `$[…]`.
    Arithmetic { body: &'a str, quoted: bool },
    /// `~` or `~user` at the start of a word.
    Tilde(&'a str),
}

/// Which quoting rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// A word of a command.
    Word,
    /// The body of a here-document: quotes are plain text, `$`, backquotes and some escapes are not.
    HereDocument,
}

/// Splits a word as written into pieces.
pub(crate) fn pieces(raw: &str, rules: Rules) -> Vec<Piece<'_>> {
    let mut scanner = Scanner { raw, at: 0, pieces: Vec::new(), text: String::new(), text_quoted: false };
    match rules {
        Rules::Word => {
            if raw.starts_with('~') {
                scanner.tilde();
            }
            scanner.word();
        }
        Rules::HereDocument => scanner.quoted(None),
    }
    scanner.flush();
    scanner.pieces
}

struct Scanner<'a> {
    raw: &'a str,
    at: usize,
    pieces: Vec<Piece<'a>>,
    text: String,
    text_quoted: bool,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.raw.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.pieces.push(Piece::Text { text, quoted: self.text_quoted });
        }
    }

    fn push(&mut self, text: &str, quoted: bool) {
        if self.text_quoted != quoted {
            self.flush();
            self.text_quoted = quoted;
        }
        self.text.push_str(text);
    }

    fn push_piece(&mut self, piece: Piece<'a>) {
        self.flush();
        self.pieces.push(piece);
    }

    /// Empty quotes are a word, too.
    fn push_empty_quotes(&mut self) {
        self.push_piece(Piece::Text { text: String::new(), quoted: true });
    }

    fn tilde(&mut self) {
        let name = self.rest().get(1..).unwrap_or_default();
        let end =
            name.find(|c: char| !(c.is_ascii_alphanumeric() || "._-+".contains(c))).unwrap_or(name.len());
        let ends_name = name.get(end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']));
        if ends_name {
            self.at += 1 + end;
            self.push_piece(match name.get(..end).unwrap_or_default() {
                "-" => Piece::Parameter { body: "OLDPWD", quoted: true },
                "+" => Piece::Parameter { body: "PWD", quoted: true },
                entry if entry.trim_start_matches(['+', '-']).parse::<usize>().is_ok() => {
                    Piece::Parameter { body: "DIRSTACK", quoted: true }
                }
                name => Piece::Tilde(name),
            });
        }
    }

    fn word(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        self.at += escaped.len_utf8();
                        if escaped != '\n' {
                            self.push(escaped.encode_utf8(&mut [0; 4]), true);
                        }
                    }
                }
                '\'' => {
                    let body = self.rest().get(1..).unwrap_or_default();
                    let end = body.find('\'').unwrap_or(body.len());
                    self.push_empty_quotes();
                    self.push(body.get(..end).unwrap_or_default(), true);
                    self.at = (self.at + end + 2).min(self.raw.len());
                }
                '"' => {
                    self.at += 1;
                    self.push_empty_quotes();
                    self.quoted(Some('"'));
                }
                '$' if self.rest().starts_with("$'") => {
                    let (text, len) = ansi_c(self.rest());
                    // NUL ends it.
                    let text = text.split('\0').next().unwrap_or_default().to_owned();
                    self.push_empty_quotes();
                    self.push(&text, true);
                    self.at += len;
                }
                '$' if self.rest().starts_with("$\"") => self.at += 1,
                '$' | '`' => self.expansion(false),
                _ => {
                    self.at += c.len_utf8();
                    self.push(c.encode_utf8(&mut [0; 4]), false);
                }
            }
        }
    }

    /// Text under double-quote rules, up to `end` or the end of the word.
    fn quoted(&mut self, end: Option<char>) {
        while let Some(c) = self.peek() {
            match c {
                c if Some(c) == end => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => self.at += 1,
                        Some(escaped @ ('$' | '`' | '\\')) => {
                            self.at += 1;
                            self.push(escaped.encode_utf8(&mut [0; 4]), true);
                        }
                        Some('"') if end.is_some() => {
                            self.at += 1;
                            self.push("\"", true);
                        }
                        _ => self.push("\\", true),
                    }
                }
                '$' | '`' => self.expansion(true),
                _ => {
                    self.at += c.len_utf8();
                    self.push(c.encode_utf8(&mut [0; 4]), true);
                }
            }
        }
    }

    /// At `$` or a backquote.
    fn expansion(&mut self, quoted: bool) {
        let rest = self.rest();
        let end = skip_expansion(rest);
        let inside =
            |open: usize, close: usize| rest.get(open..end.saturating_sub(close)).unwrap_or_default();
        if rest.starts_with('`') {
            let body = inside(1, 1).replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            self.push_piece(Piece::Command { body, quoted });
        } else if let Some(body) = arithmetic(rest, end) {
            self.push_piece(Piece::Arithmetic { body, quoted });
        } else if rest.starts_with("$(") {
            self.push_piece(Piece::Command { body: inside(2, 1).to_owned(), quoted });
        } else if rest.starts_with("$[") {
            self.push_piece(Piece::Arithmetic { body: inside(2, 1), quoted });
        } else if rest.starts_with("${") && is_command(inside(2, 1)) {
            // `${ command; }` of bash 5.3 and ksh.
            let body = inside(2, 1).trim_start_matches('|').to_owned();
            self.push_piece(Piece::Command { body, quoted });
        } else if rest.starts_with("${") {
            self.push_piece(Piece::Parameter { body: inside(2, 1), quoted });
        } else if end > 1 {
            self.push_piece(Piece::Parameter { body: inside(1, 0), quoted });
        } else {
            self.push("$", quoted);
        }
        self.at += end.max(1);
    }
}

/// Whether braces behind a dollar sign hold commands. The blank before the first one may be missing.
fn is_command(body: &str) -> bool {
    let is_ended = body.trim_end().ends_with([';', '&', '\n']);
    let name = body.find(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c))).unwrap_or(body.len());
    let behind = body.get(name..).unwrap_or_default();
    body.starts_with([' ', '\t', '\n', '|']) || is_ended && name > 0 && behind.starts_with([' ', '\t', ';'])
}

/// The expression in `$((…))`; `None` for `$( (…) )`, whose closing brackets do not belong together.
fn arithmetic(rest: &str, end: usize) -> Option<&str> {
    let body = rest.get(..end)?.strip_prefix("$((")?.strip_suffix("))")?;
    let mut depth = 0_i32;
    for c in body.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            // A command, not an expression.
            ';' | '\n' => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    // Two words in a row are a command: `$((docker ps) )` never closes like this, `$((cat x))` might.
    let mut words = body.split_ascii_whitespace();
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let two_names = matches!((words.next(), words.next()), (Some(a), Some(b)) if is_name(a) && is_name(b)
        && a.starts_with(|c: char| c.is_ascii_alphabetic()) && b.starts_with(|c: char| c.is_ascii_alphabetic()));
    (!two_names).then_some(body)
}

/// The length in bytes of the expansion at the start of `rest`; 1 for a dollar sign that is literal text.
pub(crate) fn skip_expansion(rest: &str) -> usize {
    let after = rest.get(1..).unwrap_or_default();
    if rest.starts_with('`') {
        return 1 + skip_backquoted(after);
    }
    match after.chars().next() {
        Some('(') => 2 + skip_closing(after.get(1..).unwrap_or_default(), ')'),
        Some('{') => 2 + skip_closing(after.get(1..).unwrap_or_default(), '}'),
        Some('[') => 2 + after.find(']').unwrap_or(after.len() - 1),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            1 + after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len())
        }
        Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => 2,
        _ => 1,
    }
}

/// The length in bytes of the quotes at the start of `rest`.
pub(crate) fn skip_quotes(rest: &str) -> usize {
    let after = rest.get(1..).unwrap_or_default();
    if rest.starts_with('"') {
        return 1 + skip_closing(after, '"');
    }
    1 + after.find('\'').map_or(after.len(), |at| at + 1)
}

/// The length in bytes up to and including the closing backquote.
pub(super) fn skip_backquoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '`' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length in bytes up to and including the closing bracket. Skips quotes, nested brackets, comments and
/// here-documents. Not recursive: the input may nest deeply.
fn skip_closing(text: &str, close: char) -> usize {
    let bytes = text.as_bytes();
    let mut open = vec![close];
    let mut here: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    let mut word_start = true;
    while let Some(&byte) = bytes.get(at) {
        let Some(&inside) = open.last() else { break };
        let next = bytes.get(at + 1).copied();
        let was_word_start = std::mem::replace(
            &mut word_start,
            matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'('),
        );
        match (inside, byte) {
            (_, b'\\') => at += 1,
            ('"', b'"') | ('}', b'}') | (')', b')') => {
                open.pop();
                if open.is_empty() {
                    return at + 1;
                }
            }
            (_, b'`') => at += skip_backquoted(text.get(at + 1..).unwrap_or_default()),
            (_, b'$') if next == Some(b'(') => {
                open.push(')');
                at += 1;
                word_start = true;
            }
            (_, b'$') if next == Some(b'{') => {
                open.push('}');
                at += 1;
            }
            ('"', _) => {}
            (_, b'"') => open.push('"'),
            (_, b'$') if next == Some(b'\'') => {
                at += ansi_c(text.get(at..).unwrap_or_default()).1.saturating_sub(1);
            }
            (_, b'\'') => {
                let body = text.get(at + 1..).unwrap_or_default();
                at += 1 + body.find('\'').unwrap_or(body.len());
            }
            (')', b'(') => open.push(')'),
            (')', b'#') if was_word_start => {
                let comment = text.get(at..).unwrap_or_default();
                at += comment.find('\n').unwrap_or(comment.len()).saturating_sub(1);
            }
            (')', b'<') if next == Some(b'<') && bytes.get(at + 2) == Some(&b'<') => at += 2,
            (')', b'<') if next == Some(b'<') => {
                let (delimiter, len) = here_delimiter(text.get(at + 2..).unwrap_or_default());
                if let Some(delimiter) = delimiter {
                    here.push(delimiter);
                }
                at += 1 + len;
            }
            (')', b'\n') => {
                for (delimiter, tabs) in here.drain(..) {
                    at += skip_here_document(text.get(at + 1..).unwrap_or_default(), &delimiter, tabs);
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The delimiter after `<<` with true for `<<-`, and the length in bytes; no delimiter for a shift.
fn here_delimiter(text: &str) -> (Option<(String, bool)>, usize) {
    let tabs = text.starts_with('-');
    let start = text.len() - text.trim_start_matches('-').trim_start_matches([' ', '\t']).len();
    let word = text.get(start..).unwrap_or_default();
    let end = word.find(|c: char| c.is_whitespace() || ";&|<>()".contains(c)).unwrap_or(word.len());
    let delimiter: String =
        word.get(..end).unwrap_or_default().chars().filter(|c| !"'\"\\".contains(*c)).collect();
    // `1 << 2` in arithmetic has no delimiter to look for.
    let is_delimiter = delimiter.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_delimiter.then_some((delimiter, tabs)), start + end)
}

/// The length in bytes of a here-document's body and closing line, without the last line break.
fn skip_here_document(text: &str, delimiter: &str, tabs: bool) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let bare = if tabs { bare.trim_start_matches('\t') } else { bare };
        if bare == delimiter {
            return at + line.trim_end_matches('\n').len();
        }
        // `EOF)` ends the document and the substitution around it.
        if let Some(rest) = bare.strip_prefix(delimiter)
            && rest.starts_with(')')
        {
            return at + line.len() - line.trim_start_matches('\t').len() + delimiter.len();
        }
        at += line.len();
    }
    text.len()
}
