//! Scripts on this machine's disk that a command runs.

use std::rc::Rc;
use std::sync::Arc;

use super::writing::{has_unpacked, may_write};
use crate::languages::names::shell as names;
use crate::path::fold;
use crate::shell::Complaint;
use crate::shell::disk::{Disk, Unreadable};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::output::printed;
use crate::shell::marks::without_marks;
use crate::shell::on_disk::{GLOB, MOST_FILES, MOST_FOLDERS, MOST_PATHS, ScriptFile, Search};
use crate::shell::script::{Command, Construct, Mode, Node};
use crate::shell::state::Shell;
use crate::shell::text::{Filter, Stretch, Unknown, Unknowns, is_known, stretches};

/// Maximum number of nested runs of one file; a deeper one is kept as unread text.
const DEEPEST_RUNS: usize = 2;
/// Maximum number of marks that are replaced by the text of a file in one script.
const MOST_LOADED: usize = 32;

/// What a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It runs.
    Run,
    /// It says more of a command.
    Data,
    /// An edit that is followed has changed it since.
    Edit,
}

impl Evaluator {
    /// The disk, where a command runs on this machine.
    pub fn disk_of(&self, shell: &Shell) -> Option<&Rc<dyn Disk>> {
        self.on_disk.disk.as_ref().filter(|_| shell.is_here())
    }

    /// The absolute path that a text with marks means; `None` when a part of it is unknown. Home folders of other machines stay `~`.
    pub fn path_of(&self, shell: &Shell, text: &str) -> Option<String> {
        let mut path = String::new();
        for stretch in stretches(text) {
            match stretch {
                Stretch::Known(known) => path.push_str(known),
                Stretch::Mark(index) => {
                    let source = self.unknowns.get(index).map_or("", |unknown| &unknown.source);
                    path.push_str(&self.variable_in_path(shell, source, path.is_empty())?);
                }
            }
        }
        if path.starts_with('~') {
            return Some(path);
        }
        let start = if path.starts_with('/') {
            ""
        } else {
            shell.cwd.as_deref().filter(|cwd| cwd.starts_with('/'))?
        };
        let names = fold(start, &path);
        Some(format!("/{}", names.join("/")))
    }

    /// The path of a file in the home folder.
    pub fn at_home(&self, shell: &Shell, name: &str) -> Option<String> {
        self.variable_in_path(shell, "~", true).map(|home| format!("{home}/{name}"))
    }

    /// The value of `~`, `$NAME` or `${NAME}` in a path.
    fn variable_in_path(&self, shell: &Shell, source: &str, is_start: bool) -> Option<String> {
        if source == "~root" {
            return Some("/root".to_owned());
        }
        let is_home = source == "~";
        let name = if is_home { "HOME" } else { source.strip_prefix('$')? };
        let name = name.strip_prefix('{').map_or(Some(name), |name| name.strip_suffix('}'))?;
        if let Some(value) = Self::variable_text(shell, name) {
            return Some(value).filter(|value| is_known(value));
        }
        match (name, self.disk_of(shell)) {
            ("PWD", _) => shell.cwd.clone(),
            (_, Some(disk)) => disk.variable(name).or_else(|| is_home.then(|| "~".to_owned())),
            ("HOME", None) if is_start => Some("~".to_owned()),
            _ => None,
        }
    }

    /// The file that a program name means by folders of `PATH` that the script has set; `None` when it is in none of them.
    pub fn in_own_path(&mut self, shell: &Shell, name: &str) -> Option<String> {
        let folders = shell.get("PATH").and_then(|_| Self::variable_text(shell, "PATH"))?;
        let folders = folders.split(':').filter(|folder| !folder.is_empty());
        let paths: Vec<String> =
            folders.map(|folder| format!("{}/{name}", folder.trim_end_matches('/'))).collect();
        let is_own = |path: &String| !names::INSTALLED.begin(path);
        paths
            .into_iter()
            .take(MOST_FOLDERS)
            .filter(is_own)
            .find(|path| !self.scripts_at(shell, path).is_empty())
    }

    /// A mark for the content of a file on this machine, which is read when it is run; `None` where the file is elsewhere.
    pub fn file_mark(&mut self, shell: &Shell, path: &str) -> Option<String> {
        self.disk_of(shell).filter(|_| path.starts_with('/') || shell.folders.is_empty())?;
        let absolute = self.path_of(shell, path).filter(|path| path.starts_with('/'))?;
        let source = format!("$(< {})", self.unknowns.show(path));
        Some(self.unknowns.mark(Unknown {
            source,
            many: true,
            on_disk: Some(absolute),
            ..Unknown::default()
        }))
    }

    /// A mark for one of the files that a glob matches on this machine; `None` for any other text.
    pub fn glob_mark(&mut self, shell: &Shell, text: &str) -> Option<String> {
        self.disk_of(shell).filter(|_| text.contains(GLOB))?;
        let pattern = self.path_of(shell, text).filter(|path| path.starts_with('/'))?;
        let source = self.unknowns.show(text);
        Some(self.unknowns.mark(Unknown { source, found: Some(Search::Glob(pattern)), ..Unknown::default() }))
    }

    /// The content of a file that is run: of one that the script wrote, otherwise of one on disk; `None` when it is unknown.
    pub fn script_file(&mut self, shell: &Shell, path: &str) -> Option<String> {
        self.scripts_at(shell, path).into_iter().next().map(|script| script.text)
    }

    /// The files that a word names where it is run: one that the script wrote, one on disk, or those that a glob matches or
    /// a search finds. Empty when their text is unknown.
    pub fn scripts_at(&mut self, shell: &Shell, path: &str) -> Vec<ScriptFile> {
        if let Some(written) = self.file_content(shell, path) {
            let text = self.loaded(shell, &written);
            let path = self.written_path(shell, path);
            if shell.is_here() {
                // Another process may write it, too.
                let absolute = self.path_of(shell, &path);
                self.on_disk.reached.extend(absolute);
            }
            return vec![ScriptFile { path, text, is_written: true }];
        }
        let Some(disk) = self.disk_of(shell).cloned() else {
            self.suspect_writers(shell, path);
            return vec![];
        };
        self.on_disk.is_doubtful |= !shell.folders.is_empty() && !path.starts_with('/');
        let found = self.unknowns.only_mark(path).and_then(|unknown| unknown.found.clone());
        let paths = match (found, self.path_of(shell, path)) {
            (Some(search), _) => self.found_files(&search, &*disk),
            // The further ones are arguments of the first.
            (None, Some(path)) if path.contains(GLOB) => {
                self.found_files(&Search::Glob(path), &*disk).into_iter().take(1).collect()
            }
            (None, Some(absolute)) if absolute.starts_with('/') => {
                let copied = self.copied_from(shell, path).and_then(|from| self.read_script(shell, &from));
                let text = self.read_script(shell, &absolute);
                let path = if is_known(path) { path.to_owned() } else { absolute };
                return copied
                    .into_iter()
                    .chain(text)
                    .map(|text| ScriptFile { path: path.clone(), text, is_written: false })
                    .collect();
            }
            _ => vec![],
        };
        let mut scripts = Vec::new();
        for path in paths {
            let text = self.read_script(shell, &path);
            if text.is_none() {
                self.complain(Complaint::Runs(short(&path)));
            }
            scripts.extend(text.map(|text| ScriptFile { path, text, is_written: false }));
        }
        scripts
    }

    /// The files of a search. The session may add some if it may write one of the folders.
    pub fn found_files(&mut self, search: &Search, disk: &dyn Disk) -> Vec<String> {
        let found = search.files(disk);
        if !found.is_complete {
            self.complain(Complaint::ManyFiles);
        }
        self.on_disk.reached.extend(found.folders);
        found.files
    }

    /// A path as a program receives it: with the home folder in place of `~`.
    fn written_path(&self, shell: &Shell, path: &str) -> String {
        if is_known(path) {
            return path.to_owned();
        }
        self.path_of(shell, path).unwrap_or_else(|| self.unknowns.show(path))
    }

    /// The text of a script on disk. Complains where a limit or the kind of the file prevents that it is read.
    pub fn read_script(&mut self, shell: &Shell, path: &str) -> Option<String> {
        self.read_file(shell, path, Purpose::Run)
    }

    /// The text of a file on disk; `None` where a command of this text may have changed it, except for an edit.
    fn read_file(&mut self, shell: &Shell, path: &str, purpose: Purpose) -> Option<String> {
        let disk = self.disk_of(shell).cloned()?;
        if !self.on_disk.read.contains_key(path) {
            let opened = self.on_disk.read.values().filter(|read| **read != Err(Unreadable::Missing));
            if opened.count() >= MOST_FILES || self.on_disk.read.len() >= MOST_PATHS {
                self.complain(Complaint::ManyFiles);
                return None;
            }
            let result = disk.read(path).map(|file| {
                self.on_disk.reached.push(path.to_owned());
                self.on_disk.reached.extend(file.behind.into_iter().filter(|behind| behind != path));
                without_marks(&file.text).into_owned()
            });
            self.on_disk.read.insert(path.to_owned(), result);
        }
        let result = self.on_disk.read.get(path)?.clone();
        match result {
            Ok(text) => {
                if purpose != Purpose::Edit && self.changes(path) {
                    if purpose == Purpose::Run {
                        self.complain(Complaint::ChangedFile(short(path)));
                        self.unread(shell, &text);
                        self.suspect_writers(shell, path);
                    }
                    return None;
                }
                self.spend(1 + text.len() / 256);
                Some(text)
            }
            Err(Unreadable::Missing) => {
                if purpose == Purpose::Run {
                    self.suspect_writers(shell, path);
                }
                None
            }
            Err(Unreadable::Binary | Unreadable::Secret) => None,
            Err(why) => {
                self.complain(Complaint::File { path: short(path), why });
                None
            }
        }
    }

    /// The text of a file that says more of a command, and is not run by it.
    pub fn read_data(&mut self, shell: &Shell, path: &str) -> Option<String> {
        if let Some(written) = self.file_content(shell, path) {
            return Some(self.loaded(shell, &written)).filter(|text| is_known(text));
        }
        let path = self.path_of(shell, path).filter(|path| path.starts_with('/'))?;
        let (reached, complaints) = (self.on_disk.reached.len(), self.complaints.len());
        let text = self.read_file(shell, &path, Purpose::Data);
        self.on_disk.reached.truncate(reached);
        self.complaints.truncate(complaints);
        text
    }

    /// The lines of an environment file that set variables of compose.
    pub fn compose_variables(&mut self, shell: &Shell, path: &str) -> String {
        if let Some(written) = self.file_content(shell, path) {
            return self.loaded(shell, &written);
        }
        let path = self.path_of(shell, path).filter(|path| path.starts_with('/'));
        let disk = self.disk_of(shell).cloned();
        path.zip(disk).map_or_else(String::new, |(path, disk)| disk.compose_variables(&path))
    }

    /// Follows the text of a file, unless it is the text that is being followed already.
    pub fn follow_file<T>(
        &mut self,
        shell: &Shell,
        path: &str,
        text: &str,
        follow: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let key = self.path_of(shell, path).unwrap_or_else(|| path.to_owned());
        if self.on_disk.running.iter().filter(|running| **running == key).count() >= DEEPEST_RUNS {
            self.complain(Complaint::Deep);
            let mut repeating = shell.clone();
            repeating.repeats = true;
            self.unread(&repeating, text);
            return None;
        }
        self.on_disk.running.push(key);
        let result = follow(self);
        self.on_disk.running.pop();
        Some(result)
    }

    /// A text that is run, with the marks of files replaced by what is in these files.
    pub fn loaded(&mut self, shell: &Shell, text: &str) -> String {
        self.loaded_for(shell, text, Purpose::Run)
    }

    /// A text that is not run, with the marks of files replaced by what is in these files, as far as they can be read.
    pub fn loaded_data(&mut self, shell: &Shell, text: &str) -> String {
        let (reached, complaints) = (self.on_disk.reached.len(), self.complaints.len());
        let text = self.loaded_for(shell, text, Purpose::Data);
        self.on_disk.reached.truncate(reached);
        self.complaints.truncate(complaints);
        text
    }

    fn loaded_for(&mut self, shell: &Shell, text: &str, purpose: Purpose) -> String {
        let mut text = text.to_owned();
        if self.on_disk.disk.is_none() || is_known(&text) {
            return text;
        }
        let mut left = MOST_LOADED;
        // A file that the script copied holds a mark in turn.
        while let Some((mark, content)) = self.first_loadable(shell, &text, purpose) {
            let Some(rest) = left.checked_sub(1) else { break };
            left = rest;
            text = text.replacen(&mark, &content, 1);
        }
        text
    }

    /// The first mark whose text is in files, with that text.
    fn first_loadable(&mut self, shell: &Shell, text: &str, purpose: Purpose) -> Option<(String, String)> {
        let marks: Vec<usize> = stretches(text)
            .filter_map(|s| if let Stretch::Mark(index) = s { Some(index) } else { None })
            .collect();
        for index in marks {
            let unknown = self.unknowns.get(index)?;
            let content = match (&unknown.on_disk, &unknown.contents, &unknown.filter) {
                // The text was taken from this machine, wherever it runs now.
                (Some(path), ..) if path.contains(GLOB) => {
                    let search = Search::Glob(path.clone());
                    let disk = self.disk_of(&here(shell)).cloned()?;
                    let files = self.found_files(&search, &*disk);
                    let texts = files.iter().filter_map(|file| self.read_file(&here(shell), file, purpose));
                    Some(texts.collect::<String>()).filter(|text| !text.is_empty())
                }
                (Some(path), ..) => {
                    let (path, may_be_missing) = (path.clone(), unknown.may_be_missing);
                    let text = self.read_file(&here(shell), &path, purpose);
                    let is_missing = self.on_disk.read.get(&path) == Some(&Err(Unreadable::Missing));
                    text.or_else(|| (may_be_missing && is_missing).then(String::new))
                }
                (None, Some(contents), _) => Some(contents.clone()),
                (None, None, Some(filter)) => self.filtered(shell, &Arc::clone(filter), purpose),
                (None, None, None) => None,
            };
            if let Some(content) = content {
                return Some((Unknowns::mark_of(index), content));
            }
        }
        None
    }

    /// What a filter prints for the files that it reads.
    fn filtered(&mut self, shell: &Shell, filter: &Filter, purpose: Purpose) -> Option<String> {
        if self.depth_reached() {
            return None;
        }
        self.depth += 1;
        let file = self.unknowns.only_mark(&filter.input).and_then(|unknown| unknown.on_disk.clone());
        let input = match file.filter(|_| filter.is_edit) {
            Some(path) => self.read_file(&here(shell), &path, Purpose::Edit),
            None => Some(self.loaded_for(shell, &filter.input, purpose)),
        };
        self.depth -= 1;
        printed::filtered(self, &filter.words, input.filter(|input| is_known(input))?)
    }

    /// Whether a command that was read before may change a file in a way that cannot be followed.
    pub fn changes(&self, path: &str) -> bool {
        let is_here = |command: &Command| command.hosts.is_empty() && !command.is_elsewhere;
        self.has_node(|node| {
            let (command, is_wrapper) = match node {
                Node::Group(Construct::Through(command), _) => (command, true),
                Node::Command(command) => (command, false),
                _ => return false,
            };
            let mut written = command.redirections.iter().filter(|file| file.mode != Mode::Read);
            let mut words = command.words.iter().skip(1).filter(|_| !is_wrapper);
            is_here(command)
                && (!is_wrapper && has_unpacked(command, self.catalogue)
                    || written.any(|file| self.means(command, &file.path.text, path))
                    || words.any(|word| self.means(command, &word.text, path))
                        && may_write(command, |text| self.means(command, text, path), self.catalogue))
        })
    }

    /// Whether a word of a command, or the value in it, is the file `path`.
    fn means(&self, command: &Command, text: &str, path: &str) -> bool {
        if !text.ends_with(path.rsplit('/').next().unwrap_or(path)) {
            return false;
        }
        // `-oFILE`, `--output=FILE`, `of=FILE`.
        let value = text.rsplit('=').next().unwrap_or(text);
        let value = if value.starts_with('-') { value.get(2..).unwrap_or_default() } else { value };
        let home = value.strip_prefix('~').or_else(|| value.strip_prefix("$HOME"));
        let whole = match home.and_then(|rest| Some((self.on_disk.disk.as_ref()?.variable("HOME")?, rest))) {
            Some((home, rest)) => format!("{home}{rest}"),
            None => value.to_owned(),
        };
        let start = if whole.starts_with('/') { "" } else { command.cwd.as_deref().unwrap_or_default() };
        path.trim_start_matches('/').split('/').eq(fold(start, &whole))
    }
}

/// The same shell on this machine, for a text that was taken from its disk.
fn here(shell: &Shell) -> Shell {
    Shell { hosts: std::sync::Arc::default(), is_elsewhere: false, ..shell.clone() }
}

/// The end of a path for a complaint: at most 60 characters.
fn short(path: &str) -> String {
    const LONGEST: usize = 60;
    let over = path.chars().count().saturating_sub(LONGEST);
    if over == 0 { path.to_owned() } else { format!("…{}", path.chars().skip(over).collect::<String>()) }
}
