//! Files that code opens.

use super::lexer::Token;

/// Whether the file that is opened cannot be determined from the code: its name is computed, or comes from a folder that the
/// code lists. `argument` is what follows the opening bracket.
pub(super) fn opens_any<'a>(argument: impl Iterator<Item = &'a Token>, lists_folders: bool) -> bool {
    let ends = |token: &&Token| !token.is(')') && !token.is(',');
    let argument: Vec<&Token> = argument.take_while(ends).collect();
    match argument.as_slice() {
        [] | [Token::Value] => false,
        // What stands in braces is computed.
        [Token::Text(path)] => path.raw.contains(['{', '\u{1}', '\\']) && !is_of_kernel(&path.raw),
        [Token::Name(_)] => lists_folders,
        [Token::Text(path), ..] => !is_of_kernel(&path.raw),
        // `sys.argv[1]` is a word of the command.
        [Token::Name(_), Token::Symbol('.'), Token::Name(list), rest @ ..] => match list.as_str() {
            "argv" => !matches!(rest, [Token::Symbol('['), Token::Value, Token::Symbol(']')]),
            "stdin" => !(rest.is_empty() || rest.get(1).is_some_and(|token| token.name() == Some("fileno"))),
            _ => true,
        },
        _ => true,
    }
}

/// Whether a path is that of a file about processes and devices.
fn is_of_kernel(path: &str) -> bool {
    ["/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder))
}
