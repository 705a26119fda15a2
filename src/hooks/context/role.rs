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
    #[serde(default)]
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

    #[test]
    fn the_frontmatter_declares_files_and_is_not_part_of_the_text() {
        let role =
            read("---\nname: Chief\nauto_include:\n  - a.md\n  - ${PROJECT_PATH}/**/*.md\n---\n\n# Chief\n");
        assert_eq!(role.auto_include, ["a.md", "${PROJECT_PATH}/**/*.md"]);
        assert_eq!((role.body, role.complaint), ("\n# Chief\n", None));
        let windows = read("\u{feff}---\r\nauto_include: a.md\r\n---\r\n# Chief\r\n");
        assert_eq!((windows.auto_include, windows.body), (vec!["a.md".to_owned()], "# Chief\r\n"));
    }

    #[test]
    fn a_missing_or_empty_frontmatter_declares_no_files() {
        for (text, body) in [
            ("# Chief\n", "# Chief\n"),
            ("", ""),
            ("---\n---\n# Chief\n", "# Chief\n"),
            ("---\nname: x\n---\n# Chief\n", "# Chief\n"),
            ("---\nauto_include:\n---\n# Chief\n", "# Chief\n"),
            ("# Chief\n---\nauto_include: [x]\n---\n", "# Chief\n---\nauto_include: [x]\n---\n"),
        ] {
            assert_eq!(read(text), RoleFile { body, auto_include: vec![], complaint: None }, "{text}");
        }
    }

    #[test]
    fn an_invalid_frontmatter_is_reported_and_the_text_is_kept() {
        for (text, expected) in [
            ("---\nauto_include: [a\n---\n# Chief\n", "its frontmatter cannot be read ("),
            ("---\nauto_include: {a: b}\n---\n# Chief\n", "`auto_include` is a list of paths"),
            ("---\n\tx\n---\n# Chief\n", "line "),
            ("---\n- a\n---\n# Chief\n", "its frontmatter cannot be read ("),
            ("---\na: &x [*x, *x]\n---\n# Chief\n", "its frontmatter cannot be read ("),
            ("---\nauto_include: [a]\n# Chief\n", "its frontmatter has no end; add a line `---`"),
        ] {
            let role = read(text);
            assert_eq!(role.auto_include, [""; 0], "{text}");
            assert!(role.body.ends_with("# Chief\n"), "{text}");
            assert!(
                role.complaint.as_ref().is_some_and(|error| error.to_string().contains(expected)),
                "{role:?}"
            );
        }
    }
}
