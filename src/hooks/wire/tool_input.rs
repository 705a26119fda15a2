//! `tool_input` and `tool_response`: the fields that are read of them. Tools are distinguished by the shape of their
//! input, not by their names.

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::error::InputError;
use super::lenient::{Flag, Lenient, Text};
use opsctl_policy::model::records::event::ToolFile;

/// The fields that are read; all others are skipped.
#[derive(Debug, Default)]
pub struct ToolFields {
    /// The shell command.
    pub command: Option<String>,
    /// Why a call with this input cannot be judged.
    pub problem: Option<InputError>,
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

/// `None` without an object.
impl Lenient for Option<ToolFields> {
    fn from_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut fields = ToolFields::default();
        while let Some(key) = object.next_key()? {
            match key {
                Key::Command => {
                    fields.command = object.next_value::<Text>()?.0;
                    fields.problem = fields.command.is_none().then_some(InputError::Command);
                }
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
        Ok(Some(fields))
    }
}
