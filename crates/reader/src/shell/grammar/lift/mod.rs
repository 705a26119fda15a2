//! Rewrites text so that the tokenizer of `brush-parser` can handle it.
//!
//! The tokenizer fails on here-documents inside substitutions and on `case` patterns without an opening
//! bracket there. Each here-document is replaced by a here-string with a mark, `case` patterns get both
//! brackets, and comments are removed. One pass, with an explicit stack instead of recursion.

mod code;
mod documents;

use std::borrow::Cow;

use super::error::SyntaxError;
use super::here::{HereDocument, Pending};
use super::word::skip_backquoted;
use crate::shell::marks::{APART, READS, WRITES};

/// What the scanner is inside of.
#[derive(Debug)]
enum Frame {
    /// Commands, or the elements of a list, up to the closing character.
    Code { close: Option<char>, place: Place, cases: Vec<Case> },
    /// Double quotes.
    Quotes,
    /// `${…}`.
    Parameter,
    /// The body of a here-document.
    Document,
    /// An arithmetic expression in these brackets, with the number of open ones.
    Arithmetic([char; 2], usize),
}

/// What the words before this place make of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An argument.
    Word,
    /// After `for` or the name of a coprocess: `((` is arithmetic.
    Arithmetic,
    /// After `function`: the name, behind which a command follows.
    Function,
    /// After `coproc`: a command, or the name of one.
    Coprocess,
}

/// The maximum number of broken tokens that are joined in one text.
const MOST_JOINED: usize = 64;

/// Where commands stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the outermost level, or in the brackets of a subshell, a function or an expression.
    List,
    /// In a substitution, which is part of a word: bash parses it on its own.
    Substitution,
    /// In the brackets of `x=(…)`.
    Array,
}

/// The part of a `case` that the scanner is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// Before `in`.
    Word,
    /// Before a pattern.
    Start,
    /// In a pattern.
    Pattern,
    /// In the commands after a pattern.
    Body,
}

/// Rewrites a script and moves its here-documents into `documents`.
pub(crate) fn lift(text: &str, documents: &mut Vec<HereDocument>) -> Result<String, SyntaxError> {
    lift_from(text, || Frame::Code { close: None, place: Place::List, cases: Vec::new() }, documents)
}

/// Rewrites the body of a here-document, whose substitutions may contain further here-documents.
pub(crate) fn lift_document(body: &str, documents: &mut Vec<HereDocument>) -> Result<String, SyntaxError> {
    lift_from(body, || Frame::Document, documents)
}

/// Rewrites a text. Where a line break behind `\` is within a token, the text without both is rewritten from its beginning.
fn lift_from(
    text: &str,
    outermost: fn() -> Frame,
    documents: &mut Vec<HereDocument>,
) -> Result<String, SyntaxError> {
    let before = documents.len();
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST_JOINED {
        let mut scanner = Scanner::new(&text, outermost());
        scanner.run(documents)?;
        let Some(at) = scanner.broken else { return Ok(scanner.out) };
        documents.truncate(before);
        text.to_mut().replace_range(at..at + BROKEN.len(), "");
    }
    Err(SyntaxError::ManyJoined)
}

/// What bash removes from a token: a line break behind a backslash.
const BROKEN: &str = "\\\n";

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: String,
    frames: Vec<Frame>,
    pending: Vec<Pending>,
    command_position: bool,
    word_start: bool,
    /// How far a line is from the `;` that bash drops: 1 behind `<<` in a substitution, 2 behind its next `;` or its text.
    dropped: u8,
    next: Next,
    /// Where a token is broken by a line break.
    broken: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, outermost: Frame) -> Self {
        Self {
            text,
            at: 0,
            out: String::with_capacity(text.len() + 16),
            frames: vec![outermost],
            pending: Vec::new(),
            command_position: true,
            word_start: true,
            dropped: 0,
            next: Next::Word,
            broken: None,
        }
    }

    fn run(&mut self, documents: &mut Vec<HereDocument>) -> Result<(), SyntaxError> {
        while let Some(c) = self.peek() {
            if c == '`' && self.unescapes_quotes() {
                return Err(SyntaxError::QuoteInBackquotes);
            }
            self.join(c);
            match self.frames.last() {
                _ if self.broken.is_some() => break,
                Some(Frame::Code { .. }) => self.code(c, documents)?,
                Some(Frame::Quotes) => self.quotes(c),
                Some(Frame::Document) => self.document(c),
                Some(Frame::Parameter) => self.parameter(c),
                Some(Frame::Arithmetic(..)) => self.arithmetic(c),
                None => break,
            }
            if self.frames.len() > 256 {
                return Err(SyntaxError::TooDeep);
            }
        }
        Ok(())
    }

    /// Whether a line break stands within an operator or the beginning of an expansion, or before what a keyword expects.
    fn join(&mut self, c: char) {
        let is_code = matches!(self.frames.last(), Some(Frame::Code { .. }));
        let rest = self.rest();
        if c == '$' || is_code && "(<>&|;".contains(c) {
            let len = rest.bytes().take(3).take_while(|byte| b"$({[<>&|;".contains(byte)).count();
            if let Some(at) =
                (1..=len).find(|at| rest.get(*at..).is_some_and(|rest| rest.starts_with(BROKEN)))
            {
                self.broken = Some(self.at + at);
            }
        } else if is_code && self.next != Next::Word && rest.starts_with(BROKEN) {
            self.broken = Some(self.at);
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Copies `len` bytes, with a mark between adjacent `<`.
    fn copy(&mut self, len: usize) {
        let part = self.rest().get(..len).unwrap_or_else(|| self.rest());
        self.at += part.len();
        if part.contains('<') {
            for c in part.chars() {
                if c == '<' && self.out.ends_with('<') {
                    self.out.push(APART);
                }
                self.out.push(c);
            }
        } else {
            self.out.push_str(part);
        }
    }

    fn copy_escaped(&mut self) {
        let escaped = self.rest().get(1..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        self.copy(1 + escaped);
    }

    fn cases(&mut self) -> Option<&mut Vec<Case>> {
        match self.frames.last_mut() {
            Some(Frame::Code { cases, .. }) => Some(cases),
            _ => None,
        }
    }

    fn case(&mut self) -> Option<Case> {
        self.cases().and_then(|cases| cases.last().copied())
    }

    fn set_case(&mut self, to: Case) {
        if let Some(case) = self.cases().and_then(|cases| cases.last_mut()) {
            *case = to;
        }
    }

    fn enter_code(&mut self, len: usize, close: char) {
        self.copy(len);
        let is_substitution = close == '`' || self.out.ends_with("$(") || self.out.ends_with([READS, WRITES]);
        let place = match () {
            () if is_substitution => Place::Substitution,
            () if self.out.ends_with("=(") => Place::Array,
            () => Place::List,
        };
        self.frames.push(Frame::Code { close: Some(close), place, cases: Vec::new() });
        self.begin(true);
    }

    /// Whether the backquotes that open here stand between quotes and have an escaped quote, which bash unescapes first.
    fn unescapes_quotes(&self) -> bool {
        let is_in_quotes = matches!(self.frames.last(), Some(Frame::Quotes | Frame::Parameter));
        let is_open = |frame: &Frame| matches!(frame, Frame::Code { close: Some('`'), .. });
        let body = self.rest().get(1..).unwrap_or_default();
        is_in_quotes
            && !self.frames.iter().any(is_open)
            && body.get(..skip_backquoted(body)).is_some_and(|body| body.contains("\\\""))
    }

    /// At `$` or a backquote: enters the expansion that it opens; false when it opens none.
    fn expansion(&mut self) -> bool {
        let rest = self.rest();
        if rest.starts_with("$((") {
            self.copy(3);
            self.frames.push(Frame::Arithmetic(['(', ')'], 2));
        } else if rest.starts_with("$[") {
            self.copy(2);
            self.frames.push(Frame::Arithmetic(['[', ']'], 1));
        } else if rest.starts_with("$$") {
            self.copy(2);
        } else if rest.starts_with("$(") {
            self.enter_code(2, ')');
        } else if rest.starts_with("${") {
            self.copy(2);
            self.frames.push(Frame::Parameter);
        } else if rest.starts_with('`') {
            if matches!(self.frames.last(), Some(Frame::Code { close: Some('`'), .. })) {
                self.leave();
            } else if self.frames.iter().any(|frame| matches!(frame, Frame::Code { close: Some('`'), .. })) {
                // Backquotes do not nest: this one closes, even with other constructs open inside.
                while !matches!(self.frames.last(), Some(Frame::Code { close: Some('`'), .. })) {
                    self.frames.pop();
                }
                self.leave();
            } else {
                self.enter_code(1, '`');
            }
        } else {
            return false;
        }
        true
    }

    fn leave(&mut self) {
        self.close();
        self.begin(false);
    }

    /// States whether a command, and thus a word, may begin here.
    fn begin(&mut self, may: bool) {
        (self.command_position, self.word_start) = (may, may);
    }

    /// A character where only escapes and expansions have a meaning, as in a here-document.
    fn document(&mut self, c: char) {
        match c {
            '\\' => self.copy_escaped(),
            '$' | '`' if self.expansion() => {}
            _ => self.copy(c.len_utf8()),
        }
    }

    fn quotes(&mut self, c: char) {
        if c == '"' { self.close() } else { self.document(c) }
    }

    /// Copies the character that closes the innermost construct.
    fn close(&mut self) {
        self.copy(1);
        self.frames.pop();
    }

    /// Copies a double quote that opens a text.
    fn open_quotes(&mut self) {
        self.copy(1);
        self.frames.push(Frame::Quotes);
    }

    fn parameter(&mut self, c: char) {
        let in_quotes = self.frames.len().checked_sub(2).and_then(|below| self.frames.get(below));
        match c {
            '}' => self.close(),
            '"' => self.open_quotes(),
            '<' | '>' if self.starts_process(self.rest()) => self.enter_process(c),
            '\'' if !matches!(in_quotes, Some(Frame::Quotes | Frame::Document)) => self.single_quotes(),
            _ => self.document(c),
        }
    }

    fn arithmetic(&mut self, c: char) {
        match c {
            '(' | ')' | '[' | ']' => {
                self.copy(1);
                let Some(Frame::Arithmetic(brackets, open)) = self.frames.last_mut() else { return };
                let [opens, closes] = *brackets;
                *open = (*open + usize::from(c == opens)).saturating_sub(usize::from(c == closes));
                if *open == 0 {
                    self.frames.pop();
                }
            }
            '"' => self.open_quotes(),
            '\'' => self.single_quotes(),
            _ => self.document(c),
        }
    }

    /// Copies a text in single quotes.
    fn single_quotes(&mut self) {
        let body = self.rest().get(1..).unwrap_or_default();
        let end = body.find('\'').map_or(body.len(), |end| end + 1);
        self.copy(1 + end);
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::marks::{APART, DOCUMENT};

    #[test]
    fn here_documents_are_lifted_and_patterns_get_both_brackets() {
        crate::languages::cases::check_rows("grammar", "lifted", |text| {
            let mut documents = Vec::new();
            let lifted = super::lift(text, &mut documents).unwrap();
            let bodies = documents.into_iter().map(|document| document.body);
            std::iter::once(lifted.replace(DOCUMENT, "@").replace(APART, "~"))
                .chain(bodies)
                .collect::<Vec<_>>()
                .join("|")
        });
    }
}
