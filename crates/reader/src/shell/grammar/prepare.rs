//! Checks tokens before they are parsed: refuses nesting that would take the parser exponential time, and
//! rewrites the constructs that it does not support.

use std::iter::Peekable;
use std::vec::IntoIter;

use brush_parser::{Token, TokenLocation};

use super::error::SyntaxError;
use crate::shell::marks::{APART, SELECT};

/// Maximum nesting of compound commands.
const DEEPEST_COMPOUNDS: usize = 16;
/// Maximum nesting of `case`; the parser reads a syntax error inside twice for each level.
const DEEPEST_CASES: usize = 4;

/// Maximum number of tokens before the condition of `for ((…))`.
const LONGEST_HEAD: usize = 64;

/// A construct that is not closed yet.
#[derive(PartialEq, Eq)]
enum Open {
    Bracket,
    Case,
    Compound,
}

/// What is before a command.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Behind {
    #[default]
    Other,
    Bang,
    Time {
        is_left_out: bool,
    },
    /// An option of `time`.
    Option,
}

/// Rewrites tokens for the parser, or refuses them.
pub(crate) fn prepare(tokens: Vec<Token>) -> Result<Vec<Token>, SyntaxError> {
    let mut preparation = Preparation {
        prepared: Vec::with_capacity(tokens.len() + 8),
        rest: tokens.into_iter().peekable(),
        open: Vec::new(),
        command_position: true,
        after_in: false,
        after_case_end: false,
        coprocesses: 0,
        in_test: false,
        select: false,
        named_coprocess: false,
        behind: Behind::Other,
    };
    while let Some(token) = preparation.rest.next() {
        match token {
            Token::Operator(operator, location) => preparation.operator(operator, location),
            Token::Word(word, location) if word.contains(APART) => {
                preparation.word(word.replace(APART, ""), location)?;
            }
            Token::Word(word, location) => preparation.word(word, location)?,
        }
        if preparation.open.len() > DEEPEST_COMPOUNDS || preparation.coprocesses > DEEPEST_CASES {
            return Err(SyntaxError::TooDeep);
        }
    }
    if preparation.open.is_empty() { Ok(preparation.prepared) } else { Err(SyntaxError::NeverClosed) }
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the position in the text")]
struct Preparation {
    prepared: Vec<Token>,
    rest: Peekable<IntoIter<Token>>,
    open: Vec<Open>,
    command_position: bool,
    /// After the `in` of a `case` and any line breaks.
    after_in: bool,
    /// After `;;`, `;&` or `;;&` and any line breaks.
    after_case_end: bool,
    coprocesses: usize,
    /// Between `[[` and `]]`.
    in_test: bool,
    /// After `select`.
    select: bool,
    /// After a `coproc` without a name, whose name is still to be added.
    named_coprocess: bool,
    /// What is before a command.
    behind: Behind,
}

impl Preparation {
    fn operator(&mut self, operator: String, location: TokenLocation) {
        let apart = !self.in_test && self.follows_apart(&operator, &location);
        self.behind = Behind::Other;
        match operator.as_str() {
            "(" => {
                // `( (` is two subshells; the parser would take it for `((`.
                if apart {
                    self.prepared.extend((0..2).map(|_| Token::Word("!".to_owned(), location.clone())));
                }
                self.open.push(Open::Bracket);
            }
            ")" if self.open.last() == Some(&Open::Bracket) => {
                if apart {
                    self.prepared.push(Token::Operator(";".to_owned(), location.clone()));
                }
                self.open.pop();
            }
            ";;" if self.is_in_head_of_for() => {
                // The parser refuses an empty condition, which always holds.
                self.prepared.push(Token::Operator(";".to_owned(), location.clone()));
                self.prepared.push(Token::Word("1".to_owned(), location.clone()));
                self.prepared.push(Token::Operator(";".to_owned(), location));
                return;
            }
            _ => {}
        }
        if operator != "\n" {
            self.after_in = false;
            self.after_case_end = operator.starts_with(";;") || operator == ";&";
        }
        self.command_position = !operator.starts_with(['<', '>']);
        self.prepared.push(Token::Operator(operator, location));
    }

    /// Between the brackets of `for ((…))`.
    fn is_in_head_of_for(&self) -> bool {
        let is_bracket = |token: &Token| matches!(token, Token::Operator(operator, _) if operator == "(");
        self.open.ends_with(&[Open::Compound, Open::Bracket, Open::Bracket])
            && self.prepared.windows(3).rev().take(LONGEST_HEAD).any(|tokens| {
                matches!(tokens, [Token::Word(word, _), one, two] if word == "for" && is_bracket(one) && is_bracket(two))
            })
    }

    /// True for a bracket that follows an identical bracket and a blank.
    fn follows_apart(&self, operator: &str, location: &TokenLocation) -> bool {
        matches!(self.prepared.last(), Some(Token::Operator(before, left))
            if before == operator && left.end.index != location.start.index)
    }

    /// Whether a word is left out: the parser takes a `time` behind another one or behind `!` for the program of this name,
    /// and does not know `time --`.
    fn is_left_out(&mut self, word: &str) -> bool {
        let before = std::mem::take(&mut self.behind);
        if !self.command_position {
            return false;
        }
        let is_before_command = self
            .rest
            .peek()
            .is_some_and(|next| !matches!(next, Token::Operator(operator, _) if operator != "("));
        let (behind, is_left_out) = match (word, before) {
            ("!", _) => (Behind::Bang, false),
            ("time", _) => {
                let is_left_out = before != Behind::Other && is_before_command;
                (Behind::Time { is_left_out }, is_left_out)
            }
            ("-p", Behind::Time { is_left_out }) => (Behind::Option, is_left_out),
            ("--", Behind::Time { .. } | Behind::Option) => (Behind::Option, is_before_command),
            _ => (Behind::Other, false),
        };
        self.behind = behind;
        is_left_out
    }

    fn word(&mut self, word: String, location: TokenLocation) -> Result<(), SyntaxError> {
        if self.is_left_out(&word) {
            return Ok(());
        }
        self.in_test &= word != "]]";
        let is_variable = std::mem::take(&mut self.select);
        let selects = word == "select" && matches!(self.rest.peek(), Some(Token::Word(..)));
        let mut stays_in_position = self.command_position && self.keyword(&word, selects, &location)?;
        if !self.command_position && word == "in" && self.open.last() == Some(&Open::Case) {
            self.after_in = true;
            stays_in_position = true;
        } else {
            self.after_in = false;
        }
        let selects = selects && self.command_position;
        self.after_case_end = false;
        // A loop's `do` may follow its variable without an operator: `for x do`.
        self.command_position = self.behind == Behind::Option
            || stays_in_position
            || (word == "do" && self.open.last() == Some(&Open::Compound));
        let overlong = word.len() > 9
            && word.bytes().all(|b| b.is_ascii_digit())
            && matches!(self.rest.peek(), Some(Token::Operator(o, _)) if o.starts_with(['<', '>']));
        if runaway_index(&word) {
            return Err(SyntaxError::InvolvedIndex);
        }
        let word = if overlong {
            // Too long for a file descriptor, which the parser does not check.
            "999999999".to_owned()
        } else if is_variable {
            format!("{word}{SELECT}")
        } else if std::mem::take(&mut self.named_coprocess) {
            "COPROC".to_owned()
        } else if selects {
            // The parser has no `select`; a mark on the variable distinguishes it from `for`.
            self.select = true;
            "for".to_owned()
        } else {
            word
        };
        self.prepared.push(Token::Word(word, location));
        Ok(())
    }

    /// Handles a word at the start of a command; true when a command may also start after it.
    fn keyword(&mut self, word: &str, selects: bool, location: &TokenLocation) -> Result<bool, SyntaxError> {
        match word {
            "case" => {
                let nested = |kind: &Open| self.open.iter().filter(|o| *o == kind).count();
                if nested(&Open::Bracket) > 6 || nested(&Open::Case) >= DEEPEST_CASES {
                    return Err(SyntaxError::CasesTooDeep);
                }
                self.open.push(Open::Case);
                return Ok(false);
            }
            "if" | "while" | "until" | "{" => self.open.push(Open::Compound),
            "for" => {
                self.open.push(Open::Compound);
                return Ok(false);
            }
            "select" if selects => {
                self.open.push(Open::Compound);
                return Ok(false);
            }
            "fi" | "done" | "}" => {
                if self.open.last() == Some(&Open::Compound) {
                    self.open.pop();
                }
            }
            "esac" => {
                if self.open.last() == Some(&Open::Case) {
                    self.open.pop();
                }
                if !self.after_in && !self.after_case_end {
                    // Without it the parser reads every last case twice, and nested ones exponentially often.
                    self.prepared.push(Token::Operator(";;".to_owned(), location.clone()));
                }
            }
            "coproc" => {
                self.coprocesses += 1;
                let unnamed = match self.rest.peek() {
                    Some(Token::Word(word, _)) => word == "{",
                    Some(Token::Operator(operator, _)) => operator == "(",
                    None => false,
                };
                if unnamed {
                    // The parser would take a brace for the name.
                    self.prepared.push(Token::Word(word.to_owned(), location.clone()));
                    self.named_coprocess = true;
                }
            }
            "[[" => self.in_test = true,
            "then" | "do" | "else" | "elif" | "!" | "time" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// True for `name[…` with more than eight expansions in the index, each of which the parser tries twice.
fn runaway_index(word: &str) -> bool {
    let name = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
    word.get(name..).is_some_and(|rest| rest.starts_with('['))
        && name > 0
        && word.bytes().filter(|b| matches!(b, b'$' | b'`' | b'(')).count() > 8
}
