//! Mistakes in the syntax of YAML, in the words of an operator.

use serde::Deserialize;
use serde_saphyr::Error as YamlError;

use super::error::Mistake;
use super::spanned::Location;

/// What a message of the parser means.
#[derive(Deserialize)]
struct Known {
    /// A part of the message.
    has: String,
    what: String,
    remedy: String,
}

/// The meaning of a message; `None` if it is not known.
fn known(message: &str) -> Option<(String, String)> {
    let all: Vec<Known> = serde_saphyr::from_str(include_str!("syntax.yaml")).ok()?;
    all.into_iter().find(|known| message.contains(&known.has)).map(|known| (known.what, known.remedy))
}

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
        let (what, remedy) = known(&message).unwrap_or_else(|| {
            let what = format!("invalid YAML ({})", first_line_without_place(&message));
            (what, "check the indentation, quotes and brackets of this line and the one above".to_owned())
        });
        Self { location, what, remedy }
    }
}

/// Messages of the parser end in " at line L, column C", which the location repeats.
fn first_line_without_place(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ").map_or(line, |(head, _)| head)
}
