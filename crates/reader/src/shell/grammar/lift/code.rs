//! Code outside of quotes: commands, patterns of `case`, words and process substitutions.

use super::{BROKEN, Case, Frame, Next, Place, Scanner};
use crate::shell::grammar::ansi_c::ansi_c;
use crate::shell::grammar::error::SyntaxError;
use crate::shell::grammar::here::HereDocument;
use crate::shell::marks::{READS, WRITES};

impl Scanner<'_> {
    pub(super) fn code(&mut self, c: char, documents: &mut Vec<HereDocument>) -> Result<(), SyntaxError> {
        let rest = self.rest();
        if self.case() == Some(Case::Start) && !c.is_whitespace() && c != '#' {
            self.pattern_start(rest);
            return Ok(());
        }
        let (word_start, next) = (self.word_start, std::mem::replace(&mut self.next, Next::Word));
        self.word_start = false;
        match c {
            '\\' => {
                self.copy_escaped();
                self.command_position = false;
            }
            '\'' => self.single_quotes(),
            '$' if rest.starts_with("$'") => {
                let len = ansi_c(rest).1;
                self.copy(len);
            }
            '"' => {
                self.open_quotes();
                self.command_position = false;
            }
            '$' | '`' if self.expansion() => {}
            '#' if word_start => {
                // A closing backquote ends a comment, too.
                let quoted =
                    self.frames.iter().any(|frame| matches!(frame, Frame::Code { close: Some('`'), .. }));
                let ends = |c: char| c == '\n' || (quoted && c == '`');
                self.at += rest.find(ends).unwrap_or(rest.len());
            }
            // The tokenizer would take it for a comment.
            '#' if self.out.ends_with(')') => {
                self.out.push('\\');
                self.copy(1);
            }
            ' ' | '\t' => {
                self.copy(1);
                self.word_start = true;
                self.next = next;
            }
            // A character like any other; the tokenizer would take it for a blank.
            '\r' => {
                self.out.push_str("'\r'");
                self.at += 1;
                self.word_start = false;
                self.command_position = false;
            }
            '\n' => self.line_break(documents)?,
            '(' if rest.starts_with("((") && (self.command_position || next == Next::Arithmetic) => {
                self.copy(2);
                self.frames.push(Frame::Arithmetic(['(', ')'], 2));
            }
            '(' => self.enter_code(1, ')'),
            ')' if self.case() == Some(Case::Pattern) => {
                self.copy(1);
                self.set_case(Case::Body);
                self.begin(true);
            }
            ')' => {
                // `f() {` and `a() (`: a command may follow, and after `$(a)` the rest of the word.
                let may = !matches!(self.frames.last(), Some(Frame::Code { place: Place::Substitution, .. }));
                if matches!(self.frames.last(), Some(Frame::Code { close: Some(')'), .. })) {
                    self.dropped = 0;
                    self.close();
                } else {
                    self.copy(1);
                }
                self.begin(may);
            }
            '<' if rest.starts_with("<<<") => {
                // `<` before it would be a syntax error in bash, too.
                if self.out.ends_with('<') {
                    self.out.push(' ');
                }
                self.out.push_str("<<<");
                self.at += 3;
                self.word_start = true;
            }
            '<' if rest.starts_with("<<") => self.here_document(documents)?,
            '<' | '>' if self.starts_process(rest) => self.enter_process(c),
            ';' | '&' | '|' | '<' | '>' => {
                if c == ';'
                    && (rest.starts_with(";;") || rest.starts_with(";&"))
                    && self.case() == Some(Case::Body)
                {
                    let len = rest.find(|c| c != ';' && c != '&').unwrap_or(rest.len());
                    self.copy(len);
                    self.set_case(Case::Start);
                } else {
                    if c == ';' {
                        self.end_of_command()?;
                    }
                    self.copy(1);
                }
                self.command_position = !matches!(c, '<' | '>');
                self.word_start = true;
            }
            _ if word_start => self.word(rest, next),
            _ => self.copy(c.len_utf8()),
        }
        Ok(())
    }

    /// Whether `<(` or `>(` is a process substitution here; in `>>(`, `<>(` and `&>(` it is a syntax error.
    pub(super) fn starts_process(&self, rest: &str) -> bool {
        let before: &[char] = if rest.starts_with('<') { &['<'] } else { &['<', '>', '&'] };
        let is_operator = self.out.ends_with(before) && !self.out.ends_with("<<<");
        rest.get(1..).is_some_and(|rest| rest.starts_with('(')) && !is_operator
    }

    /// At `<(` or `>(`.
    pub(super) fn enter_process(&mut self, c: char) {
        self.at += 2;
        self.out.extend(["$(", if c == '<' { READS } else { WRITES }.encode_utf8(&mut [0; 4])]);
        self.enter_code(0, ')');
    }

    /// At a `;`. Bash keeps the text of a substitution as it would print it, and prints no `;` behind a here-document: it
    /// runs `A B` for `A; B`.
    fn end_of_command(&mut self) -> Result<(), SyntaxError> {
        if self.dropped == 2 {
            return Err(SyntaxError::DroppedEnd);
        }
        self.dropped += u8::from(self.dropped == 1);
        Ok(())
    }

    /// Before a `case` pattern: adds the opening bracket if there is none.
    fn pattern_start(&mut self, rest: &str) {
        let is_end = rest
            .strip_prefix("esac")
            .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if is_end {
            self.copy(4);
            if let Some(cases) = self.cases() {
                cases.pop();
            }
            self.begin(false);
            return;
        }
        if rest.starts_with('(') {
            self.copy(1);
        } else {
            self.out.push('(');
        }
        self.set_case(Case::Pattern);
        self.begin(false);
    }

    /// At the first character of a word.
    fn word(&mut self, rest: &str, next: Next) {
        let ends = |c: char| {
            c.is_whitespace()
                || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\'' | '"' | '\\' | '$' | '`')
        };
        let len = rest.find(ends).unwrap_or(rest.len()).max(1);
        let word = rest.get(..len).unwrap_or_default();
        if rest.get(len..).is_some_and(|after| after.starts_with(BROKEN)) {
            self.broken = Some(self.at + len);
            return;
        }
        // `case$x` is not a keyword.
        let whole = rest
            .get(len..)
            .and_then(|after| after.chars().next())
            .is_none_or(|c| !matches!(c, '\'' | '"' | '\\' | '$' | '`'));
        let command_position = std::mem::replace(&mut self.command_position, next == Next::Function);
        if next == Next::Coprocess {
            self.next = Next::Arithmetic;
        }
        if whole && command_position && next != Next::Function {
            match word {
                "for" => self.next = Next::Arithmetic,
                "function" => self.next = Next::Function,
                "case" => {
                    if let Some(cases) = self.cases() {
                        cases.push(Case::Word);
                    }
                }
                "esac" => {
                    if self.case() == Some(Case::Body)
                        && let Some(cases) = self.cases()
                    {
                        cases.pop();
                    }
                }
                "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "{" | "!" | "time"
                | "coproc" | "-p" | "--" => {
                    self.command_position = true;
                    if word == "coproc" {
                        self.next = Next::Coprocess;
                    }
                }
                _ => {}
            }
        } else if whole && word == "in" && self.case() == Some(Case::Word) {
            self.set_case(Case::Start);
        }
        // `FOO=bar command`.
        self.command_position |= command_position && word.contains('=') && !word.starts_with('=');
        self.copy(len);
    }
}
