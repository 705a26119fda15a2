//! Errors of the grammar phase.

use brush_parser::{ParseError, TokenizerError};
use thiserror::Error;

/// Why a text has no syntax tree. The texts continue "cannot read `…`: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxError {
    #[error("it nests too deeply")]
    TooDeep,
    #[error("it nests brackets too deeply")]
    BracketsTooDeep,
    #[error("it nests a case too deeply")]
    CasesTooDeep,
    #[error("a here-document has no delimiter")]
    NoDelimiter,
    #[error("the delimiter of a here-document is unusual; name it EOF")]
    InvolvedDelimiter,
    #[error("`<<` stands in brackets; compute the index first")]
    ShiftInSubscript,
    #[error("too many tokens are broken by `\\` and a line break")]
    ManyJoined,
    #[error("a bracket or a compound command is never closed")]
    NeverClosed,
    #[error("bash joins commands behind a here-document in a substitution; write each on a line of its own")]
    DroppedEnd,
    #[error("bash joins the lines of a list behind a here-document; write the document behind the list")]
    DocumentInArray,
    #[error("bash reads an escaped quote in backquotes between quotes as a quote; write $(…)")]
    QuoteInBackquotes,
    #[error("an array index is too involved")]
    InvolvedIndex,
    #[error("it holds too many words")]
    TooManyWords,
    #[error("it ends too early")]
    EndsTooEarly,
    #[error("syntax error at line {line}, column {column}")]
    At { line: usize, column: usize },
    #[error("{0}")]
    Tokenizer(String),
    #[error("the parser fails on it")]
    ParserPanic,
}

impl From<ParseError> for SyntaxError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::ParsingNear(position) => Self::At { line: position.line, column: position.column },
            ParseError::ParsingAtEndOfInput => Self::EndsTooEarly,
            ParseError::Tokenizing { inner, .. } => inner.into(),
        }
    }
}

impl From<TokenizerError> for SyntaxError {
    fn from(error: TokenizerError) -> Self {
        Self::Tokenizer(error.to_string())
    }
}
