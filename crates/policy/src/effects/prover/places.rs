//! Where a command runs, and what the session could have put there.

use super::Prover;
use crate::effects::scratch;
use crate::files;
use crate::files::guarded::{self, Locations};
use crate::lists::{FIXED_CONTENTS, PROGRAM_FOLDERS, USERS_FOLDERS};
use crate::paths::computed::is_below_new_folder;
use crate::paths::glob::matches;
use crate::paths::word_paths::text_paths;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::{Prints, TargetKind};
use opsctl_reader::shell::{Command, Word};

impl Prover<'_> {
    pub(super) fn is_scratch(&self, path: &str, command: &Command) -> bool {
        scratch::is_scratch(path, command, self.scratch, self.machine)
    }

    /// Whether the session may have written a file: it is scratch, or open on a host.
    pub(super) fn is_own(&self, path: &str, command: &Command) -> bool {
        let is_there = (command.host().is_some() || self.machine.is_host())
            && !files::is_in_container(command, path, self.catalogue);
        let list = || {
            let protect = || guarded::protect(&Locations::default(), &self.rules.protect, self.machine);
            self.protect.get_or_init(protect)
        };
        let meant = || text_paths(path, path.contains(['$', '`']), command, self.machine).paths;
        self.is_scratch(path, command)
            || !command.missed.is_empty() && self.is_own(path, &command.settled())
            || is_there && meant().iter().any(|path| guarded::decisive(list(), path, true).is_none())
    }

    /// Whether the session may have written a file; in a container, it may write all files.
    fn may_have_written(&self, path: &str, command: &Command) -> bool {
        self.is_own(path, command) || files::is_in_container(command, path, self.catalogue)
    }

    /// Whether a path is that of the program of this name: in a folder of programs, or one of the catalogue elsewhere.
    pub(super) fn is_program(&self, path: &str, command: &Command) -> bool {
        let is_below = |folder: &&str| path.starts_with(*folder);
        let is_foreign = || {
            !USERS_FOLDERS.iter().any(is_below)
                && !self.cwd.is_some_and(|cwd| cwd != "/" && path.starts_with(cwd))
                && self.catalogue.find(path).is_some()
                && !self.is_own(path, command)
        };
        // In a container, the image states the folder in which a command begins.
        (path.starts_with('/') || files::is_in_container(command, path, self.catalogue))
            && !path.contains("/..")
            && (PROGRAM_FOLDERS.iter().any(is_below) && !self.is_own(path, command) || is_foreign())
    }

    /// The first playbook of a command that the session may write. Its tasks may state that they run in a dry run, too.
    pub(super) fn own_playbook(&self, command: &Command, usage: &Usage, texts: &[&str]) -> Option<String> {
        usage.form.does.filter(|does| does.to.kind == TargetKind::Playbook)?;
        let moved = self.has_moved_to_scratch(command);
        let is_own = |text: &&&str| (moved || text.starts_with('/')) && self.is_own(text, command);
        texts.iter().skip(1).find(is_own).map(|text| (*text).to_owned())
    }

    /// Whether it is known which files a command writes.
    pub(super) fn names_a_file(&self, command: &Command) -> bool {
        let accesses = files::accesses(command, true, self.catalogue, self.machine);
        accesses.iter().any(|access| access.touch.writes())
    }

    /// Whether a command runs in a folder that the session may write, or is sent to one by an option such as `-C`.
    pub(super) fn is_in_scratch(&self, command: &Command, usage: &Usage) -> bool {
        let before = command.words.get(1..usage.rest).unwrap_or_default();
        let mut folders = before.iter().map(|word| word.text.rsplit('=').next().unwrap_or_default());
        self.has_moved_to_scratch(command)
            || folders.any(|folder| folder.starts_with('/') && self.is_own(&format!("{folder}/x"), command))
    }

    /// Whether the script has changed to a folder that the session may write. Where it starts is the session's project.
    pub(super) fn has_moved_to_scratch(&self, command: &Command) -> bool {
        command.cwd.is_some() && command.cwd.as_deref() != self.cwd && self.is_own("./x", command)
    }

    /// Whether a word is the output of a program that may print an option which the session has chosen: contents of a
    /// file that it may write, or of an address.
    pub(super) fn may_be_option(&self, word: &Word, command: &Command) -> bool {
        let (prints, words) = self.printed(word);
        let mut paths = words.iter().skip(1).filter(|word| word.contains('/'));
        prints == Some(Prints::Answers)
            || word.begins_with_any() && words.first() != Some(&"ls") && !is_below_new_folder(&word.text)
            || prints == Some(Prints::Input) && paths.clone().next().is_none()
            || paths.any(|path| path.starts_with('/') && self.may_have_written(path, command))
            || prints.is_some() && self.has_moved_to_scratch(command)
    }

    /// Whether a word is what a file or an address holds, which a session that may change something may have written.
    pub(super) fn is_content(&self, word: &Word) -> bool {
        let (prints, words) = self.printed(word);
        let is_own = |path: &&&str| !FIXED_CONTENTS.iter().any(|glob| matches(glob, path));
        matches!(prints, Some(Prints::Answers))
            || prints == Some(Prints::Input)
                && words.iter().skip(1).filter(|word| word.contains('/')).all(|path| is_own(&path))
    }

    /// What the program prints whose output begins a word, and the words of its call.
    fn printed<'w>(&self, word: &'w Word) -> (Option<Prints>, Vec<&'w str>) {
        let unknown = word.unknown.as_ref().filter(|_| word.prefix().is_empty());
        let source = unknown.and_then(|unknown| unknown.source.strip_prefix("$(")?.strip_suffix(')'));
        let words: Vec<&str> = source.unwrap_or_default().split_whitespace().collect();
        let prints = match words.first() {
            Some(&"computed") => Some(Prints::Answers),
            Some(&"<") => Some(Prints::Input),
            _ => self.catalogue.usage(&words, &|_| false).and_then(|usage| usage.program.prints),
        };
        (prints, words)
    }
}
