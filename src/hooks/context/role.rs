//! Role files: a text, and a YAML frontmatter that declares further files.

use serde::Deserialize;
use serde_saphyr::{Options, from_str_with_options};

use opsctl_inventory::error::Mistake;

/// The content of a role file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleFile<'a> {
    /// The text without the frontmatter.
    pub body: &'a str,
    /// The entries of `auto_include`.
    pub auto_include: Vec<String>,
    /// The error in the frontmatter, if any.
    pub complaint: Option<FrontmatterError>,
}

/// Why the frontmatter of a role file declares no files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// Its closing line is missing.
    #[error("its frontmatter has no end; add a line `---`")]
    NoEnd,
    /// It is not YAML of the expected shape.
    #[error("its frontmatter cannot be read ({what}{}); `auto_include` is a list of paths", .line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Unreadable {
        /// The parser's message.
        what: String,
        /// The line in the role file, from 1 on.
        line: Option<u64>,
    },
}

#[derive(Deserialize)]
struct FrontmatterWire {
    auto_include: Option<OneOrMoreWire>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMoreWire {
    One(String),
    More(Vec<String>),
}

/// Parses a role file. Without a valid frontmatter it declares no files.
pub fn read(text: &str) -> RoleFile<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain =
        |complaint: Option<FrontmatterError>| RoleFile { body: text, auto_include: vec![], complaint };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return plain(None) };
    let mut end = first.len();
    let Some(last) = lines.find(|line| {
        let is_end = matches!(line.trim_end(), "---" | "...");
        if !is_end {
            end += line.len();
        }
        is_end
    }) else {
        return plain(Some(FrontmatterError::NoEnd));
    };
    let yaml = text.get(first.len()..end).unwrap_or_default();
    let body = text.get(end + last.len()..).unwrap_or_default();
    match auto_include(yaml) {
        Ok(auto_include) => RoleFile { body, auto_include, complaint: None },
        Err(error) => RoleFile { body, auto_include: vec![], complaint: Some(error) },
    }
}

fn auto_include(yaml: &str) -> Result<Vec<String>, FrontmatterError> {
    if yaml.trim().is_empty() {
        return Ok(vec![]);
    }
    let options: Options = serde_saphyr::options! { with_snippet: false };
    let wire: Option<FrontmatterWire> = from_str_with_options(yaml, options).map_err(|error| {
        let Mistake { location, what, .. } = error.into();
        // The opening line of the frontmatter is not part of the YAML.
        FrontmatterError::Unreadable { what, line: location.map(|location| location.line + 1) }
    })?;
    Ok(match wire.and_then(|wire| wire.auto_include) {
        None => vec![],
        Some(OneOrMoreWire::One(entry)) => vec![entry],
        Some(OneOrMoreWire::More(entries)) => entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Row {
        text: String,
        #[serde(default)]
        files: Vec<String>,
        body: String,
        complaint: Option<String>,
    }

    #[test]
    fn role_files_are_read_as_the_rows_state() {
        let rows: Vec<Row> = serde_saphyr::from_str(include_str!("roles.yaml")).unwrap();
        for Row { text, files, body, complaint } in rows {
            let role = read(&text);
            assert_eq!((&role.auto_include, role.body), (&files, body.as_str()), "{text}");
            let found = role.complaint.map(|error| error.to_string());
            assert_eq!(found.is_some(), complaint.is_some(), "{text}: {found:?}");
            assert!(found.unwrap_or_default().contains(&complaint.unwrap_or_default()), "{text}");
        }
    }
}
