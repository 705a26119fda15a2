//! Entries of file lists: paths and globs with variables (`${NAME}`).

/// Why an entry is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It is not in the form of a path, a glob or a variable.
    #[error("{0}")]
    Form(&'static str),
    /// The variable has no value.
    #[error("the variable {0} is not set")]
    Unset(String),
    /// The name of the variable suggests a secret.
    #[error("the variable {0} may contain a secret and is not expanded")]
    Secret(String),
    /// The value contains characters of a glob, or `..`.
    #[error("the value of {0} is not a plain path")]
    Value(String),
}

/// A piece of an entry.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Checks the form of an entry, for any values of its variables.
pub fn check(entry: &str) -> Result<(), EntryError> {
    let pieces = pieces(entry)?;
    if entry.trim().is_empty() {
        return Err(EntryError::Form("it is empty"));
    }
    if entry.contains(char::is_control) {
        return Err(EntryError::Form("it contains a control character"));
    }
    if entry.split('/').any(|name| name == "..") {
        return Err(EntryError::Form("`..` is not allowed"));
    }
    if entry.split('/').any(|name| name != "**" && name.contains("**")) {
        return Err(EntryError::Form("`**` must be a whole name between two `/`"));
    }
    let secret = pieces.iter().find_map(|piece| match piece {
        Piece::Variable(name) if may_hold_a_secret(name) => Some((*name).to_owned()),
        _ => None,
    });
    secret.map_or(Ok(()), |name| Err(EntryError::Secret(name)))
}

/// The path or glob of an entry, with variables expanded.
///
/// Error messages never contain a value, because the model reads them.
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

/// Whether the name of a variable suggests a key or a password.
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
            return Err(EntryError::Form("the text between `${` and `}` is not the name of a variable"));
        }
        pieces.extend([Piece::Text(text), Piece::Variable(name)]);
        rest = tail;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}
