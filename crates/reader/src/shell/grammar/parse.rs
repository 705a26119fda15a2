//! Turns text into a syntax tree with `brush-parser`, within limits that the parser does not have.
//!
//! The parser is recursive, tries some alternatives twice, and converts numbers unchecked. Text and tokens
//! that would exhaust the stack or take exponential time are refused before it sees them.

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token, TokenizerError, TokenizerOptions};

use super::error::SyntaxError;
use super::here::HereDocument;
use super::lift::lift;
use super::plain::plain;
use super::prepare::prepare;

/// Maximum nesting of brackets.
const DEEPEST_BRACKETS: usize = 24;
/// Maximum number of tokens, about three times those of 64 KiB of ordinary script.
const MOST_TOKENS: usize = 20_000;

/// Parses a script and moves its here-documents into `documents`.
pub(crate) fn parse(text: &str, documents: &mut Vec<HereDocument>) -> Result<Program, SyntaxError> {
    plain(text).map_or_else(|| parsed(text, documents), Ok)
}

/// Parses a script with `brush-parser`.
pub(super) fn parsed(text: &str, documents: &mut Vec<HereDocument>) -> Result<Program, SyntaxError> {
    let text = lift(text, documents)?;
    if too_deep(&text) {
        return Err(SyntaxError::BracketsTooDeep);
    }
    // A panic in the parser must not end the reading without actions.
    let parsed = std::panic::catch_unwind(|| {
        let tokens = tokenize(&text)?;
        if tokens.len() > MOST_TOKENS {
            return Err(SyntaxError::TooManyWords);
        }
        let tokens = prepare(tokens)?;
        Ok(brush_parser::parse_tokens(&tokens, &ParserOptions::default())?)
    });
    parsed.unwrap_or(Err(SyntaxError::ParserPanic))
}

fn tokenize(text: &str) -> Result<Vec<Token>, TokenizerError> {
    let options = TokenizerOptions { enable_extended_globbing: true, posix_mode: false, sh_mode: false };
    brush_parser::uncached_tokenize_str(text, &options)
}

/// True when brackets nest deeper than [`DEEPEST_BRACKETS`], counted from the first `$(`, `${` or `$[` on.
/// Quoted brackets count: the tokenizer recurses into quotes, too.
fn too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut before = 0;
    for &byte in text.as_bytes() {
        match byte {
            b'(' | b'{' | b'[' if before == b'$' => depth += 1,
            b'(' | b'{' if depth > 0 => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_BRACKETS {
            return true;
        }
        before = byte;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::languages::cases::check_rows;

    #[test]
    fn nesting_ends_in_a_refusal_rather_than_a_crash() {
        check_rows("grammar", "nests", |both| {
            let (open, close) = both.split_once('…').unwrap();
            for depth in [3, 12, 15, 16, 23, 1000] {
                let (opened, closed) = (open.repeat(depth), close.repeat(depth));
                for text in [format!("{opened}x{closed}"), opened.clone(), format!("{opened}x"), closed] {
                    let start = std::time::Instant::now();
                    let result = std::panic::catch_unwind(|| parse(&text, &mut Vec::new()).is_ok());
                    assert!(result.is_ok(), "panicked on {text}");
                    let took = start.elapsed();
                    assert!(took.as_secs() < 2, "{open} x {depth}: {took:?}");
                }
            }
            "ends".to_owned()
        });
    }

    #[test]
    fn what_the_parser_does_not_support_is_read() {
        check_rows("grammar", "parses", |text| parse(text, &mut Vec::new()).is_ok().to_string());
    }
}
