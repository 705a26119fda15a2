//! An entry of a list of files: a path or a glob in which `${NAME}` stands for a variable.

/// Why an entry means no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It is not in the form of a path, a glob or a variable.
    #[error("{0}")]
    Form(&'static str),
    /// The variable has no value.
    #[error("the variable {0} is not set")]
    Unset(String),
    /// The variable is one that holds a secret.
    #[error("the variable {0} may hold a secret, and no path is made of it")]
    Secret(String),
    /// The value would be taken for a glob.
    #[error("the value of {0} is no plain path")]
    Value(String),
}

/// A piece of an entry.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Whether an entry can mean a file at all, whatever the variables are.
pub fn check(entry: &str) -> Result<(), EntryError> {
    let pieces = pieces(entry)?;
    if entry.trim().is_empty() {
        return Err(EntryError::Form("it says nothing"));
    }
    if entry.contains(char::is_control) {
        return Err(EntryError::Form("it holds a control character"));
    }
    if entry.split('/').any(|name| name == "..") {
        return Err(EntryError::Form("`..` leads out of what is listed"));
    }
    if entry.split('/').any(|name| name != "**" && name.contains("**")) {
        return Err(EntryError::Form("`**` stands alone between two `/`"));
    }
    let secret = pieces.iter().find_map(|piece| match piece {
        Piece::Variable(name) if may_hold_a_secret(name) => Some((*name).to_owned()),
        _ => None,
    });
    secret.map_or(Ok(()), |name| Err(EntryError::Secret(name)))
}

/// The path or glob that an entry means, with the variables filled in.
///
/// The message of a failure never holds a value: it reaches the model.
pub fn fill(entry: &str, get: impl Fn(&str) -> Option<String>) -> Result<String, EntryError> {
    check(entry)?;
    let mut path = String::new();
    for piece in pieces(entry)? {
        match piece {
            Piece::Text(text) => path.push_str(text),
            Piece::Variable(name) => {
                let value = get(name)
                    .filter(|value| !value.is_empty())
                    .ok_or_else(|| EntryError::Unset(name.to_owned()))?;
                let plain = !value.contains(['*', '?', '['])
                    && !value.contains(char::is_control)
                    && !value.split('/').any(|part| part == "..");
                if !plain {
                    return Err(EntryError::Value(name.to_owned()));
                }
                path.push_str(&value);
            }
        }
    }
    Ok(path)
}

/// Whether a variable of this name is one that keys and passwords are kept in.
fn may_hold_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "_URL"].iter().any(|word| name.contains(word))
}

fn pieces(entry: &str) -> Result<Vec<Piece<'_>>, EntryError> {
    let mut pieces = Vec::new();
    let mut rest = entry;
    while let Some((text, after)) = rest.split_once("${") {
        let (name, tail) =
            after.split_once('}').ok_or(EntryError::Form("`${` without its `}`; write `${NAME}`"))?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return Err(EntryError::Form("between `${` and `}` stands the name of a variable"));
        }
        pieces.extend([Piece::Text(text), Piece::Variable(name)]);
        rest = tail;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(entry: &str) -> Result<String, EntryError> {
        fill(entry, |name| match name {
            "PROJECT_PATH" => Some("/srv/homelab".into()),
            "EMPTY" => Some(String::new()),
            "STAR" => Some("/srv/*".into()),
            "UP" => Some("/srv/../etc".into()),
            "API_KEY" => Some("hunter2".into()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_filled_in_between_braces_only() {
        for (entry, expected) in [
            ("${PROJECT_PATH}/CLAUDE.md", "/srv/homelab/CLAUDE.md"),
            ("${PROJECT_PATH}/**/*.md", "/srv/homelab/**/*.md"),
            ("$PROJECT_PATH/x", "$PROJECT_PATH/x"),
            ("docs/a}b.md", "docs/a}b.md"),
            ("docs/[a-c].md", "docs/[a-c].md"),
        ] {
            assert_eq!(filled(entry).as_deref(), Ok(expected), "{entry}");
        }
    }

    #[test]
    fn what_means_no_file_says_why_and_holds_no_value() {
        for (entry, expected) in [
            ("${NOT_SET}/x", "the variable NOT_SET is not set"),
            ("${EMPTY}/x", "the variable EMPTY is not set"),
            ("${STAR}/x", "the value of STAR is no plain path"),
            ("${UP}/x", "the value of UP is no plain path"),
            ("${API_KEY}/x", "the variable API_KEY may hold a secret, and no path is made of it"),
            ("${PROJECT_PATH/x", "`${` without its `}`; write `${NAME}`"),
            ("${a-b}/x", "between `${` and `}` stands the name of a variable"),
            ("${}", "between `${` and `}` stands the name of a variable"),
            ("docs/../../etc/passwd", "`..` leads out of what is listed"),
            ("docs/a**", "`**` stands alone between two `/`"),
            ("docs/a\nb", "it holds a control character"),
            (" ", "it says nothing"),
        ] {
            assert_eq!(filled(entry).map_err(|error| error.to_string()), Err(expected.to_owned()), "{entry}");
        }
    }
}
