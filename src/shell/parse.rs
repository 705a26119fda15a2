//! Text → the grammar's tree, through `brush-parser`, with guards around what it does not bound.
//!
//! The parser descends recursively, tries some alternatives twice, and converts numbers unchecked. So
//! the text and its tokens are looked over first, and what would run away is refused here.

use brush_parser::ast::Program;
use brush_parser::{ParseError, ParserOptions, Token, TokenizerError, TokenizerOptions};

use super::lift::{APART, HereDocument, lift};

/// Brackets nested deeper than this are not read.
const DEEPEST_BRACKETS: usize = 24;
/// Compound commands nested deeper than this are not read.
const DEEPEST_COMPOUNDS: usize = 16;
/// More tokens than this are not read: 64 KiB of ordinary script hold a third of it.
const MOST_TOKENS: usize = 20_000;
/// As above, for `case`.
const DEEPEST_CASES: usize = 4;

/// Ends the variable's name in a `select`, which the grammar is given as a `for`.
pub(crate) const SELECT: char = '\u{E002}';

/// Parses a script, or says in plain words why it cannot be read.
pub(crate) fn parse(text: &str, documents: &mut Vec<HereDocument>) -> Result<Program, String> {
    let text = lift(text, documents)?;
    if too_deep(&text) {
        return Err("it nests brackets too deeply".to_owned());
    }
    // A mistake in the parser must not be taken for a command without actions.
    let parsed = std::panic::catch_unwind(|| {
        let tokens = tokenize(&text).map_err(|error| error.to_string())?;
        if tokens.len() > MOST_TOKENS {
            return Err("it holds too many words".to_owned());
        }
        let tokens = prepare(tokens)?;
        brush_parser::parse_tokens(&tokens, &ParserOptions::default()).map_err(|error| match error {
            ParseError::ParsingNear(position) => {
                format!("syntax error at line {}, column {}", position.line, position.column)
            }
            ParseError::ParsingAtEndOfInput => "it ends too early".to_owned(),
            ParseError::Tokenizing { inner, .. } => inner.to_string(),
        })
    });
    parsed.unwrap_or_else(|_| Err("the parser fails on it".to_owned()))
}

fn tokenize(text: &str) -> Result<Vec<Token>, TokenizerError> {
    let options = TokenizerOptions { enable_extended_globbing: true, posix_mode: false, sh_mode: false };
    brush_parser::uncached_tokenize_str(text, &options)
}

/// Counts brackets without minding quotes: what is inside quotes may be tokenized as well.
fn too_deep(text: &str) -> bool {
    let (mut round, mut curly, mut square) = (0_usize, 0_usize, 0_usize);
    let mut before = 0;
    for &byte in text.as_bytes() {
        match byte {
            b'(' => round += 1,
            b')' => round = round.saturating_sub(1),
            b'{' => curly += 1,
            b'}' => curly = curly.saturating_sub(1),
            b'[' if before == b'$' => square += 1,
            b']' => square = square.saturating_sub(1),
            _ => {}
        }
        if round + curly + square > DEEPEST_BRACKETS {
            return true;
        }
        before = byte;
    }
    false
}

/// True for a bracket after the same bracket with a blank between.
fn follows_apart(before: Option<&Token>, token: &Token) -> bool {
    matches!((before, token), (Some(Token::Operator(a, left)), Token::Operator(b, right))
        if a == b && left.end.index != right.start.index)
}

/// What is open while the tokens are looked over.
#[derive(PartialEq, Eq)]
enum Open {
    Bracket,
    Case,
    Compound,
}

/// Refuses what the grammar would take exponential time or deep recursion for, and rewrites the few
/// tokens that it cannot handle.
fn prepare(tokens: Vec<Token>) -> Result<Vec<Token>, String> {
    let mut prepared: Vec<Token> = Vec::with_capacity(tokens.len() + 8);
    let mut open: Vec<Open> = Vec::new();
    // The last token that is no line break, as far as it matters.
    let mut command_position = true;
    let mut after_in = false;
    let mut after_case_end = false;
    let mut coprocesses = 0;
    let mut in_test = false;
    let mut select = false;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let token = match token {
            Token::Word(word, place) if word.contains(APART) => Token::Word(word.replace(APART, ""), place),
            token => token,
        };
        match &token {
            Token::Operator(operator, place) => {
                match operator.as_str() {
                    "(" => {
                        // `( (` is two subshells; the grammar would take it for the start of a sum.
                        if !in_test && follows_apart(prepared.last(), &token) {
                            prepared.extend((0..2).map(|_| Token::Word("!".to_owned(), place.clone())));
                        }
                        open.push(Open::Bracket);
                    }
                    ")" if open.last() == Some(&Open::Bracket) => {
                        if !in_test && follows_apart(prepared.last(), &token) {
                            prepared.push(Token::Operator(";".to_owned(), place.clone()));
                        }
                        open.pop();
                    }
                    _ => {}
                }
                if operator != "\n" {
                    after_in = false;
                    after_case_end = operator.starts_with(";;") || operator == ";&";
                }
                command_position = !operator.starts_with(['<', '>']);
                prepared.push(token);
            }
            Token::Word(word, place) => {
                in_test &= word != "]]";
                let mut replacement = std::mem::take(&mut select).then(|| format!("{word}{SELECT}"));
                let mut stays_in_position = false;
                if command_position {
                    stays_in_position = true;
                    match word.as_str() {
                        "case" => {
                            let nested = |kind: Open| open.iter().filter(|o| **o == kind).count();
                            // A mistake inside is looked for twice in every case around it.
                            if nested(Open::Bracket) > 6 || nested(Open::Case) >= DEEPEST_CASES {
                                return Err("it nests a case too deeply".to_owned());
                            }
                            open.push(Open::Case);
                            stays_in_position = false;
                        }
                        "if" | "while" | "until" | "{" => open.push(Open::Compound),
                        "for" => {
                            open.push(Open::Compound);
                            stays_in_position = false;
                        }
                        "select" if matches!(tokens.peek(), Some(Token::Word(..))) => {
                            // The grammar lacks it; its variable tells the loops apart.
                            replacement = Some("for".to_owned());
                            select = true;
                            open.push(Open::Compound);
                            stays_in_position = false;
                        }
                        "fi" | "done" | "}" => {
                            if open.last() == Some(&Open::Compound) {
                                open.pop();
                            }
                        }
                        "esac" => {
                            if open.last() == Some(&Open::Case) {
                                open.pop();
                            }
                            if !after_in && !after_case_end {
                                // Without it the grammar reads every last case twice, and nested ones
                                // exponentially often.
                                prepared.push(Token::Operator(";;".to_owned(), place.clone()));
                            }
                        }
                        "coproc" => coprocesses += 1,
                        "[[" => in_test = true,
                        "then" | "do" | "else" | "elif" | "!" | "time" => {}
                        _ => stays_in_position = false,
                    }
                }
                if !command_position && word == "in" && open.last() == Some(&Open::Case) {
                    after_in = true;
                    stays_in_position = true;
                } else {
                    after_in = false;
                }
                // A loop's `do` follows its words without an operator in `for x do`.
                after_case_end = false;
                command_position =
                    stays_in_position || (word == "do" && open.last() == Some(&Open::Compound));
                if word.len() > 9
                    && word.bytes().all(|b| b.is_ascii_digit())
                    && matches!(tokens.peek(), Some(Token::Operator(o, _)) if o.starts_with(['<', '>']))
                {
                    // Too long for a file descriptor; the grammar would not check.
                    replacement = Some("999999999".to_owned());
                } else if runaway_index(word) {
                    return Err("an array index is too involved".to_owned());
                }
                prepared.push(match replacement {
                    Some(word) => Token::Word(word, place.clone()),
                    None => token,
                });
            }
        }
        if open.len() > DEEPEST_COMPOUNDS || coprocesses > DEEPEST_CASES {
            return Err("it nests too deeply".to_owned());
        }
    }
    if !open.is_empty() {
        return Err("a bracket or a compound command is never closed".to_owned());
    }
    Ok(prepared)
}

/// `name[…` with expansions nested in the index: the grammar would try every one of them twice.
fn runaway_index(word: &str) -> bool {
    let name = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
    word.get(name..).is_some_and(|rest| rest.starts_with('['))
        && name > 0
        && word.bytes().filter(|b| matches!(b, b'$' | b'`' | b'(')).count() > 8
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
