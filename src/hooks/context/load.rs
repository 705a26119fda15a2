//! Reads the context files of a session, each once.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::find::{Walk, is_glob};
use super::role;
use super::text::{Reading, Skipped, TextFile};
use crate::guard::screen;
use crate::machine::request::Request;
use opsctl_inventory::compiled::Compiled;
use opsctl_machine::plain_file;
use opsctl_policy::model::records::event::ToolFile;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::paths::{file_entry, glob};
use opsctl_policy::screen::Screen;
use opsctl_redact::shortened;

/// The maximum number of bytes that are read of a file, more than the client accepts.
const HEAD_BYTES: u64 = 16 * 1024;

/// The maximum number of bytes that are read of a role file.
const ROLE_BYTES: u64 = 64 * 1024;

/// The maximum number of files per session.
const MOST_FILES: usize = 200;

/// The source of an entry, which determines the folders that it may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// `hosts.yaml`, which may name any folder.
    Operator,
    /// A role file, which may name only files in the project and `PROJECT_PATH`.
    RoleFile,
}

/// Reads context files.
pub struct Loader<'a> {
    request: &'a Request,
    header: PolicyHeader,
    project: PathBuf,
    /// The folders that every entry may reach, with links resolved.
    roots: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
    walk: Walk,
    /// The result so far.
    pub reading: Reading,
}

impl<'a> Loader<'a> {
    /// A loader without files.
    pub fn new(compiled: &Compiled, request: &'a Request) -> Self {
        let project =
            std::path::absolute(&request.project_dir).unwrap_or_else(|_| request.project_dir.clone());
        let named = std::env::var_os("PROJECT_PATH").map(PathBuf::from).filter(|path| path.is_absolute());
        let roots = [Some(project.clone()), named];
        let header = PolicyHeader::from(compiled.clone());
        Self {
            request,
            header,
            roots: roots.into_iter().flatten().filter_map(|root| root.canonicalize().ok()).collect(),
            project,
            seen: BTreeSet::new(),
            walk: Walk::default(),
            reading: Reading::default(),
        }
    }

    /// Adds the files of an entry.
    pub fn add(&mut self, entry: &str, trust: Trust) {
        let Some(path) = self.filled(entry) else { return };
        if !is_glob(&path) {
            let path = self.project.join(path);
            let folder = path.parent().filter(|_| trust == Trust::Operator).map(Path::to_owned);
            return self.include(entry, &path, folder.as_deref());
        }
        let from = if path.starts_with('/') { PathBuf::from("/") } else { self.project.clone() };
        let (files, more) = self.walk.files(&from, &path);
        let folder = from.join(glob::literal(&path).trim_start_matches('/'));
        if files.is_empty() && !more {
            self.skip(entry, "it matches no file".to_owned());
        }
        for file in files {
            let shown = self.shown(&file);
            self.include(&shown, &file, (trust == Trust::Operator).then_some(folder.as_path()));
        }
        if more {
            self.skip(entry, "it matches too many files; use a more specific path".to_owned());
        }
    }

    /// Adds a role file. Returns the entries that it declares.
    pub fn add_role_file(&mut self, entry: &str) -> Vec<String> {
        let Some(path) = self.filled(entry) else { return vec![] };
        let path = self.project.join(path);
        let folder = path.parent().map(Path::to_owned);
        let Some(file) = self.read(entry, &path, folder.as_deref(), ROLE_BYTES) else { return vec![] };
        let role::RoleFile { body, auto_include, complaint } = role::read(&file.text);
        let text = body.trim().to_owned();
        if let Some(complaint) = complaint {
            self.skip(entry, complaint.to_string());
        }
        if !text.is_empty() {
            self.reading.files.push(TextFile { text, ..file });
        }
        auto_include
    }

    /// Adds a file of a folder, which it must not leave.
    pub fn add_of(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
        let leaves = |real: PathBuf| folder.canonicalize().is_ok_and(|folder| !real.starts_with(folder));
        if path.canonicalize().is_ok_and(leaves) {
            self.skip(&self.shown(&path), "it is a link that leaves its folder".to_owned());
            return;
        }
        self.include(&self.shown(&path), &path, Some(folder));
    }

    fn include(&mut self, what: &str, path: &Path, folder: Option<&Path>) {
        if self.reading.files.len() >= MOST_FILES {
            self.reading.more += 1;
            return;
        }
        if let Some(file) = self.read(what, path, folder, HEAD_BYTES) {
            self.reading.files.push(file);
        }
    }

    /// Reads a file; `None` if it was read before or is skipped.
    fn read(&mut self, what: &str, path: &Path, folder: Option<&Path>, most: u64) -> Option<TextFile> {
        self.try_read(path, folder, most).unwrap_or_else(|why| {
            self.skip(what, why);
            None
        })
    }

    /// Reads a file; `None` if it was read before. An error is why it is skipped.
    fn try_read(
        &mut self,
        path: &Path,
        folder: Option<&Path>,
        most: u64,
    ) -> Result<Option<TextFile>, String> {
        let real = path.canonicalize().map_err(|error| in_words(&error))?;
        let reached = folder.and_then(|folder| folder.canonicalize().ok());
        if !self.roots.iter().chain(&reached).any(|root| real.starts_with(root)) {
            return Err("it is outside the project; list the file itself in hosts.yaml".to_owned());
        }
        if !self.seen.insert(real.clone()) {
            return Ok(None);
        }
        let (Some(written), Some(shown)) = (path.to_str(), real.to_str()) else {
            return Err("its name is not UTF-8".to_owned());
        };
        if self.is_secret(written) {
            return Err("it is a secret file".to_owned());
        }
        let (bytes, size) = plain_file::read_head(&real, most).map_err(|error| in_words(&error))?;
        let text = text_of(&bytes, size).ok_or("it is not text")?;
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let whole = bytes.len() as u64 >= size;
        Ok(Some(TextFile { name: self.shown(path), path: shortened(shown, 1000), text, whole, size }))
    }

    fn skip(&mut self, what: &str, why: String) {
        let skipped = Skipped { what: shortened(what, 200), why };
        if !self.reading.skipped.contains(&skipped) {
            self.reading.skipped.push(skipped);
        }
    }

    /// An entry with the values of its variables; `None` if it is skipped.
    fn filled(&mut self, entry: &str) -> Option<String> {
        let filled = file_entry::fill(entry, |name| self.variable(name));
        filled.map_err(|error| self.skip(entry, error.to_string())).ok()
    }

    /// The value of a variable; `PROJECT_PATH` defaults to the project.
    fn variable(&self, name: &str) -> Option<String> {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.or_else(|| (name == "PROJECT_PATH").then(|| self.project.to_str().map(str::to_owned)).flatten())
    }

    /// Whether the rules mark the file, as written or with links resolved, as secret.
    fn is_secret(&self, path: &str) -> bool {
        let file = ToolFile { path: path.to_owned(), writes: false, search: None };
        let objections = |screen: Screen<'_>| screen.file_objections(&file, Some(&self.project));
        !screen::with(&self.header, self.request, objections).is_empty()
    }

    /// The path for display, relative to the project if it is inside.
    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.project).unwrap_or(path);
        shortened(&inside.to_string_lossy(), 200)
    }
}

/// The beginning of a file as text, without control characters; `None` if it is not UTF-8 text.
fn text_of(bytes: &[u8], size: u64) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character may be incomplete.
        Err(error) if error.error_len().is_none() && (bytes.len() as u64) < size => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let kept = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    Some(kept.collect::<String>().trim_end().to_owned())
}

fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "no such file".to_owned(),
        ErrorKind::IsADirectory => "it is a folder; append `/**` for its files".to_owned(),
        ErrorKind::InvalidInput => error.to_string(),
        _ => format!("it cannot be read ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_binary_files_from_an_incomplete_last_character() {
        let text = "# Übersicht\u{7}\r\nrot: ✗\n".as_bytes();
        assert_eq!(text_of(text, text.len() as u64).as_deref(), Some("# Übersicht\nrot: ✗"));
        assert_eq!(text_of(&text[..text.len() - 2], 1000).as_deref(), Some("# Übersicht\nrot:"));
        assert_eq!(text_of(&text[..text.len() - 2], text.len() as u64 - 2), None);
        assert_eq!(text_of(b"\x7fELF\0\0", 6), None);
        assert_eq!(text_of(b"\xff\xfe", 100), None);
    }
}
