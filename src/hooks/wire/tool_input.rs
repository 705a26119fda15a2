//! `tool_input` and `tool_response`: the fields that are read of them. Tools are distinguished by the shape of their
//! input, not by their names.

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::error::InputError;
use super::lenient::{Any, Flag, Lenient, Text};
use opsctl_policy::model::records::event::{Search, ToolFile};

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
    /// `file_paths`: files that a patch writes.
    files: Vec<String>,
    /// `path`: where a search starts.
    path: Option<String>,
    /// `glob`: which files a search reads.
    glob: Option<String>,
    /// `output_mode`: whether a search shows what it finds in files, and not only their names.
    shows: bool,
    /// `unchecked`: why the call cannot be checked.
    pub unchecked: Option<String>,
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
    FilePaths,
    Unchecked,
    Path,
    Glob,
    OutputMode,
    /// A key of read-only tools.
    #[serde(alias = "limit", alias = "pages", alias = "cell_id")]
    Offset,
    #[serde(other)]
    Other,
}

impl ToolFields {
    /// Takes the files that the tool opens.
    pub fn take_files(&mut self) -> Vec<ToolFile> {
        let file = self.file.take().map(|path| ToolFile { path, writes: self.writes, search: None });
        let patched = self.files.drain(..).map(|path| ToolFile { path, writes: true, search: None });
        let mut files: Vec<ToolFile> = file.into_iter().chain(patched).collect();
        if files.is_empty() {
            let (folder, glob) = (self.path.take(), self.glob.take());
            let search = self.shows.then(|| Search {
                folder: folder.clone().unwrap_or_else(|| ".".to_owned()),
                names: glob.clone().unwrap_or_else(|| "*".to_owned()),
            });
            let searched = match (folder, glob) {
                (Some(folder), Some(glob)) => Some(format!("{folder}/{glob}")),
                (folder, glob) => folder.or(glob),
            };
            let path = searched.or_else(|| search.as_ref().map(|search| search.folder.clone()));
            files.extend(path.map(|path| ToolFile { path, writes: false, search }));
        }
        files
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
                Key::FilePaths => fields.files = object.next_value::<Any<Vec<String>>>()?.0,
                Key::Unchecked => fields.unchecked = object.next_value::<Text>()?.0,
                Key::Path => fields.path = object.next_value::<Text>()?.0,
                Key::Glob => fields.glob = object.next_value::<Text>()?.0,
                Key::OutputMode => {
                    let mode = object.next_value::<Text>()?.0;
                    fields.shows = mode.is_some_and(|mode| mode != "files_with_matches");
                }
                Key::Offset | Key::Other => {
                    fields.writes |= matches!(key, Key::Other);
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(fields))
    }
}
