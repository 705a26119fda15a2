//! The lines and fields that awk reads, when its input is known.

use super::evaluation::Call;
use super::unfollowed::tokens_of;
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::text::Part;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::text::is_known;

/// Maximum number of lines that are followed.
const MOST_LINES: usize = 256;

/// The lines of known input, each as the line and its fields; `None` when it is unknown or too long.
pub(crate) fn lines(invocation: &Invocation) -> Option<Vec<Vec<String>>> {
    let input = invocation.stdin.as_deref().filter(|text| is_known(text))?;
    let texts = invocation.texts();
    let separator = texts.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("-F")? {
        "" => texts.get(at + 1).copied(),
        attached => Some(attached),
    });
    // Another variable or a longer separator may change how lines are read and printed.
    let is_option = |word: &&str| word.starts_with('-') && !word.starts_with("-F");
    if texts.iter().skip(1).any(is_option) || separator.is_some_and(|separator| separator.len() > 1) {
        return None;
    }
    let split = |line: &str| -> Vec<String> {
        let fields: Vec<&str> = match separator.filter(|separator| *separator != " ") {
            Some(separator) => line.split(separator).collect(),
            None => line.split_whitespace().collect(),
        };
        std::iter::once(line).chain(fields).map(str::to_owned).collect()
    };
    let lines: Vec<Vec<String>> = input.lines().take(MOST_LINES + 1).map(split).collect();
    (lines.len() <= MOST_LINES).then_some(lines)
}

/// The parts of a text with the fields of one line.
fn filled(parts: &[Part], line: &[String]) -> Vec<Part> {
    let fill = |part: &Part| match part {
        Part::Unknown(source) => {
            let field = match source.strip_prefix('$') {
                Some("NF") => line.last(),
                Some(number) => number.parse::<usize>().ok().and_then(|number| line.get(number)),
                None => None,
            };
            field.map_or_else(|| part.clone(), |field| Part::Known(field.clone()))
        }
        Part::Known(_) => part.clone(),
    };
    parts.iter().map(fill).collect()
}

/// The calls of awk for each line of its input.
pub(crate) fn for_each_line(call: Call, lines: &[Vec<String>]) -> Vec<Call> {
    let each = |parts: &[Part]| -> Vec<Call> {
        lines.iter().map(|line| Call::Script(filled(parts, line))).collect()
    };
    match call {
        Call::Script(parts) => each(&parts),
        call => vec![call],
    }
}

/// What `{print "docker restart " $1}` prints; `None` for any other program.
pub(crate) fn printed(code: &str, lines: &[Vec<String>]) -> Option<String> {
    let body = code.trim().strip_prefix('{')?.strip_suffix('}')?.trim().trim_end_matches(';');
    let tokens = tokens_of(body, Language::Awk);
    let (first, rest) = tokens.split_first()?;
    if *first != Token::Name("print".to_owned()) {
        return None;
    }
    let mut parts = Vec::new();
    for token in rest {
        match token {
            Token::Text(text) => parts.extend(text.parts.iter().cloned()),
            Token::Symbol(',') => parts.push(Part::Known(" ".to_owned())),
            _ => return None,
        }
    }
    if parts.is_empty() {
        parts.push(Part::Unknown("$0".to_owned()));
    }
    let mut output = String::new();
    for line in lines {
        for part in filled(&parts, line) {
            let Part::Known(text) = part else { return None };
            output.push_str(&text);
        }
        output.push('\n');
    }
    Some(output)
}
