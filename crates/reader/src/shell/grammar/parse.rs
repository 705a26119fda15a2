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

    #[test]
    fn nesting_ends_in_a_refusal_rather_than_a_crash() {
        for (open, close) in [
            ("$(", ")"),
            ("(", ")"),
            ("{ ", "; }"),
            ("if ", "; then x; fi"),
            ("${a:-", "}"),
            ("\"$(", ")\""),
            ("case x in a) ", " esac"),
            ("while ", "; do x; done"),
            ("((", "))"),
            ("[[ ( ", " ) ]]"),
            ("$((", "))"),
            ("`", "`"),
            ("'", "'"),
            ("\"", "\""),
            ("<(", ")"),
            ("f() { ", "; }"),
            ("a[$(", ")]=x"),
            ("! ", ""),
            ("$[", "]"),
            ("@(", ")"),
            ("\"a$(", ")b\""),
            ("coproc ", ""),
            ("time ", ""),
        ] {
            for depth in [3, 12, 15, 16, 23, 1000] {
                for text in [
                    format!("{}x{}", open.repeat(depth), close.repeat(depth)),
                    open.repeat(depth),
                    format!("{}x", open.repeat(depth)),
                    close.repeat(depth),
                ] {
                    let start = std::time::Instant::now();
                    let result = std::panic::catch_unwind(|| parse(&text, &mut Vec::new()).is_ok());
                    assert!(result.is_ok(), "panicked on {text}");
                    let took = start.elapsed();
                    assert!(took.as_secs() < 2, "{open} x {depth}: {took:?}");
                }
            }
        }
    }

    #[test]
    fn an_overlong_file_descriptor_is_read() {
        assert!(parse("x 99999999999999999999>/dev/null", &mut Vec::new()).is_ok());
    }

    #[test]
    fn select_and_an_unfinished_here_document_are_read() {
        assert!(parse("select s in a b; do echo $s; done", &mut Vec::new()).is_ok());
        assert!(parse("bash <<'EOF'\ndocker restart x", &mut Vec::new()).is_ok());
        assert!(
            parse(
                "case x in esac; case y in\nesac; case z in a) ls; esac; case z in a) ls ;; b) ;; esac",
                &mut Vec::new()
            )
            .is_ok()
        );
    }
}
