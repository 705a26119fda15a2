//! Mistakes in the syntax of YAML, in the words of an operator.

use serde_saphyr::Error as YamlError;

use super::error::Mistake;
use super::spanned::Location;

/// Parts of the parser's messages, each with what is wrong and how to fix it.
const KNOWN: [(&str, &str, &str); 26] = [
    ("unclosed bracket", "a bracket that is not closed", "add the closing `]` or `}`"),
    (
        "mismatched bracket",
        "a bracket that is closed by another kind",
        "close `[` with `]`, and `{` with `}`",
    ),
    ("misplaced bracket", "a closing bracket without an opening one", "remove it"),
    ("did not find expected key", "a line with another indentation", "indent all keys of a map equally"),
    (
        "did not find expected '-' indicator",
        "a key among the entries of a list",
        "begin the line with `- `, or indent it as the key of the list",
    ),
    (
        "mapping values are not allowed",
        "an unexpected `: `",
        "put text that contains `: ` in quotes, and write a space after the `:` of the key above",
    ),
    ("unclosed quote", "a quote that is not closed", "close it at the end of the text"),
    ("invalid indentation in multiline", "a quote that is not closed", "close it at the end of the text"),
    (
        "invalid trailing content",
        "text after a closing quote",
        "write a comma before the next key or entry, or put the whole value in double quotes, such as `\"it's\"`",
    ),
    (
        "unknown anchor",
        "an alias of an anchor that is not defined",
        "define it above with `&NAME`, or put text that begins with `*` in quotes",
    ),
    ("unexpected character", "a character that cannot begin a value", "put the value in quotes"),
    ("unknown escape character", "an invalid escape sequence", "write the text in single quotes"),
    ("tabs disallowed", "a tab in the indentation", "indent with spaces"),
    (
        "unsupported tag",
        "a YAML tag",
        "hosts.yaml has no tags; write the value itself, in quotes if it begins with `!`",
    ),
    (
        "did not find expected ',' or '}'",
        "a missing `,` or `}`",
        "write a comma between the keys of `{ }`, close it with `}`, and put text that contains `: ` in quotes",
    ),
    (
        "did not find expected ',' or ']'",
        "a missing `,` or `]`",
        "write a comma between the entries of `[ ]`, and close it with `]`",
    ),
    (
        "illegal placement of ':' indicator",
        "an unexpected `:`",
        "close the `[` or `{` of the lines above, and put text that contains `: ` in quotes",
    ),
    ("found a tab", "a tab after a value or a key", "write spaces instead of tabs"),
    (
        "comments must be separated",
        "a comment without a blank before its `#`",
        "write a blank before `#`, or put text that contains `#` in quotes",
    ),
    (
        "merge value must be mapping",
        "`<<` with a value that is not a map",
        "write an alias of a map, such as `<<: *defaults`",
    ),
    (
        "recursive references",
        "an alias inside the value that it stands for",
        "remove the alias, or put text that begins with `*` in quotes",
    ),
    (
        "Depth {",
        "more than 64 levels of indentation",
        "close the brackets of the lines above, or nest fewer maps",
    ),
    (
        "recursion limit exceeded",
        "more than 64 levels of indentation",
        "close the brackets of the lines above, or nest fewer maps",
    ),
    ("budget breached", "too many values or aliases", "write fewer aliases (`*name`) of large values"),
    (
        "block sequence entries are not allowed",
        "a `- ` behind a key",
        "begin the list on the next line, or write it as `[a, b]`",
    ),
    ("<document start>", "a line before the first key", "remove lines that begin with `%`"),
];

impl From<YamlError> for Mistake {
    fn from(error: YamlError) -> Self {
        let error = error.without_snippet();
        let location = error.location().map(|location| Location {
            line: location.line(),
            column: location.column(),
            length: 0,
        });
        if let YamlError::MultipleDocuments { .. } = error {
            let (what, remedy) = ("a second YAML document".to_owned(), "remove the line `---`".to_owned());
            return Self { location, what, remedy };
        }
        let message = error.to_string();
        let (what, remedy) = match KNOWN.iter().find(|(part, ..)| message.contains(part)) {
            Some((_, what, remedy)) => ((*what).to_owned(), *remedy),
            None => (
                format!("invalid YAML ({})", first_line_without_place(&message)),
                "check the indentation, quotes and brackets of this line and the one above",
            ),
        };
        Self { location, what, remedy: remedy.to_owned() }
    }
}

/// Messages of the parser end in " at line L, column C", which the location repeats.
fn first_line_without_place(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ").map_or(line, |(head, _)| head)
}
