//! `tool_input` and `tool_response`: the fields that are read of them. Tools are distinguished by the shape of their
//! input, not by their names.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess};

use super::lenient::{Flag, Lenient, Text, any};
use crate::model::event::ToolFile;

/// The fields that are read; all others are skipped.
#[derive(Debug, Default)]
pub struct ToolFields {
    /// The shell command.
    pub command: Option<String>,
    /// Whether the command, or the whole input, has a form that no tool of the client has.
    pub is_unreadable: bool,
    /// Whether the tool was interrupted.
    pub interrupted: bool,
    /// `file_path` or `notebook_path`: a file that is opened.
    file: Option<String>,
    /// `path`: where a search starts.
    path: Option<String>,
    /// `glob`: which files a search reads.
    glob: Option<String>,
    /// Whether there is a key that no read-only tool has.
    writes: bool,
}

/// The known keys, without a copy of each.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Command,
    Interrupted,
    #[serde(alias = "notebook_path")]
    FilePath,
    Path,
    Glob,
    /// A key of read-only tools.
    #[serde(alias = "limit", alias = "pages", alias = "cell_id")]
    Offset,
    #[serde(other)]
    Other,
}

impl ToolFields {
    /// Takes the file that the tool opens.
    pub fn take_file(&mut self) -> Option<ToolFile> {
        if let Some(path) = self.file.take() {
            return Some(ToolFile { path, writes: self.writes });
        }
        let folder = self.path.take();
        let path = match (folder, self.glob.take()) {
            (Some(folder), Some(glob)) => format!("{folder}/{glob}"),
            (folder, glob) => folder.or(glob)?,
        };
        Some(ToolFile { path, writes: false })
    }
}

/// A shell command.
#[derive(Default)]
enum Command {
    #[default]
    Missing,
    Text(String),
    Unreadable,
}

impl Lenient for Command {
    fn from_text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    fn from_flag(_: bool) -> Self {
        Self::Unreadable
    }

    fn from_other() -> Self {
        Self::Unreadable
    }

    fn from_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Unreadable)
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

impl Lenient for ToolFields {
    fn from_text(_: &str) -> Self {
        Self { is_unreadable: true, ..Self::default() }
    }

    fn from_flag(_: bool) -> Self {
        Self { is_unreadable: true, ..Self::default() }
    }

    fn from_other() -> Self {
        Self { is_unreadable: true, ..Self::default() }
    }

    fn from_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut fields = Self::default();
        while let Some(key) = object.next_key()? {
            match key {
                Key::Command => match object.next_value()? {
                    Command::Missing => {}
                    Command::Text(command) => fields.command = Some(command),
                    Command::Unreadable => fields.is_unreadable = true,
                },
                Key::Interrupted => fields.interrupted = object.next_value::<Flag>()?.0,
                Key::FilePath => fields.file = object.next_value::<Text>()?.0,
                Key::Path => fields.path = object.next_value::<Text>()?.0,
                Key::Glob => fields.glob = object.next_value::<Text>()?.0,
                Key::Offset | Key::Other => {
                    fields.writes |= matches!(key, Key::Other);
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

impl<'de> Deserialize<'de> for ToolFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_shape_of_the_input() {
        for (input, expected) in [
            (r#"{"file_path":"/a","content":"x"}"#, Some(("/a", true))),
            (r#"{"old_string":"x","new_string":"y","file_path":"/a"}"#, Some(("/a", true))),
            (r#"{"notebook_path":"/a.ipynb","new_source":"x","cell_id":"1"}"#, Some(("/a.ipynb", true))),
            (r#"{"file_path":"/a","offset":3,"limit":5}"#, Some(("/a", false))),
            (r#"{"pattern":"x","path":"/a"}"#, Some(("/a", false))),
            (r#"{"pattern":"x","path":"/a","glob":".env"}"#, Some(("/a/.env", false))),
            (r#"{"command":"ls"}"#, None),
            (r#"["file_path"]"#, None),
        ] {
            let mut fields: ToolFields = serde_json::from_str(input).unwrap();
            let file = fields.take_file();
            assert_eq!(file.as_ref().map(|file| (file.path.as_str(), file.writes)), expected, "{input}");
        }
    }
}
