//! Where a command runs, and what the session could have put there.

use super::Prover;
use crate::effects::scratch;
use crate::files;
use crate::files::guarded::{self, Locations};
use crate::lists::{FIXED_CONTENTS, PROGRAM_FOLDERS, SHARED_FOLDERS, USERS_FOLDERS};
use crate::paths::computed::{is_below_new_folder, lists_files};
use crate::paths::glob::matches;
use crate::paths::word_paths::text_paths;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::{How, TargetKind};
use opsctl_reader::path::above_home;
use opsctl_reader::shell::{Command, Unknown, Word};

/// Characters of patterns, which may stand for any name.
const GLOB: [char; 3] = ['*', '?', '['];

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
        let may_be_shared =
            |text: &str| text.contains(GLOB) || SHARED_FOLDERS.iter().any(|(sign, _)| text.contains(sign));
        let is_shared = |path: &String| SHARED_FOLDERS.iter().any(|(_, folder)| matches(folder, path));
        self.is_scratch(path, command)
            || above_home(path).into_iter().flatten().any(|path| self.is_scratch(&path, command))
            || (may_be_shared(path) || command.cwd.as_deref().is_some_and(may_be_shared))
                && meant().iter().any(is_shared)
            || !command.missed.is_empty() && self.possible(command).any(|one| self.is_own(path, &one))
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

    /// Whether a path is that of a file of a running container directly in its root folder, where no session writes.
    pub(super) fn is_of_image(&self, path: &str, command: &Command) -> bool {
        files::is_in_container(command, path, self.catalogue)
            && path.strip_prefix('/').is_some_and(|name| !name.contains('/'))
    }

    /// The first playbook of a command that the session may write. Its tasks may state that they run in a dry run, too.
    pub(super) fn own_playbook(&self, command: &Command, usage: &Usage, texts: &[&str]) -> Option<String> {
        usage.form.does.filter(|does| does.to.kind == TargetKind::Playbook)?;
        let moved = self.has_moved_to_scratch(command);
        let is_own = |text: &&&str| moved && self.is_own(text, command) || self.leads_to_own(text, command);
        texts.iter().skip(1).find(is_own).map(|text| (*text).to_owned())
    }

    /// Whether a path leads out of the folder where the script starts, to one that the session may write. Where it starts is the
    /// session's project.
    fn leads_to_own(&self, path: &str, command: &Command) -> bool {
        let meant = || text_paths(path, path.contains(['$', '`']), command, self.machine).paths;
        let is_below = |cwd, path: &String| path.strip_prefix(cwd).is_some_and(|rest| rest.starts_with('/'));
        let is_inside = |path: &String| self.cwd.is_some_and(|cwd| is_below(cwd, path));
        let is_plain = || path.starts_with('/') || meant().iter().any(|path| !is_inside(path));
        is_plain() && self.is_own(path, command)
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
            || folders.any(|folder| self.leads_to_own(&format!("{folder}/x"), command))
    }

    /// Whether the programs of a command come from a root folder that the session may write: `chroot FOLDER`.
    pub(super) fn has_own_root(&self, command: &Command, usage: &Usage, texts: &[&str]) -> bool {
        let is_rooted = usage.form.runs.is_some_and(|runs| runs.rooted);
        let first = || usage.operands(texts).words.first().and_then(|at| texts.get(*at).copied());
        let root = is_rooted.then(first).flatten();
        root.is_some_and(|root| root != "/" && self.is_own(&format!("{root}/x"), command))
    }

    /// Whether the script has changed to a folder that the session may write. Where it starts is the session's project.
    pub(super) fn has_moved_to_scratch(&self, command: &Command) -> bool {
        let has_moved = |one: &Command| one.cwd.is_some() && one.cwd.as_deref() != self.cwd;
        self.possible(command).any(|one| has_moved(&one) && self.is_own("./x", &one))
    }

    /// Whether a session that may change something may have chosen what a word, or the first of the words that it becomes, begins
    /// with: any text, such as what a file or an address holds, or the names of files in a folder where it writes.
    pub(super) fn is_content(&self, word: &Word, command: &Command) -> bool {
        let is_chosen = |unknown: &Unknown| {
            if is_below_new_folder(&word.text) || self.is_fixed(&unknown.source, command) {
                false
            } else if unknown.is_name_of_file() {
                self.is_in_open_folder(command)
            } else {
                unknown.may_be_any() || self.lists_own_files(&unknown.source, command)
            }
        };
        word.is_pattern() && self.is_in_open_folder(command) || word.beginnings().any(is_chosen)
    }

    /// Whether a word may be an option that the session has chosen: its content is not that of files which the session cannot write.
    pub(super) fn may_be_option(&self, word: &Word, command: &Command) -> bool {
        let is_kept = |unknown: &Unknown| {
            let source = unknown.source.strip_prefix("$(").and_then(|source| source.strip_suffix(')'));
            let first = source.and_then(|source| source.split(" | ").next()).unwrap_or_default();
            let words = first.split_whitespace().skip(1).filter(|word| !word.starts_with('-'));
            let mut files = words.filter(|word| !word.chars().all(|c| c.is_ascii_digit())).peekable();
            let is_kept = |path: &str| path.starts_with('/') && !self.may_have_written(path, command);
            !unknown.is_foreign() && files.peek().is_some() && files.all(is_kept)
        };
        self.is_content(word, command) && (word.is_pattern() || !word.beginnings().all(is_kept))
    }

    /// Whether a command runs where the session may make files of any name.
    fn is_in_open_folder(&self, command: &Command) -> bool {
        let is_lost =
            self.cwd.is_some() && command.cwd.is_none() && command.hosts.is_empty() && !command.is_elsewhere;
        is_lost || self.has_moved_to_scratch(command)
    }

    /// Whether a program prints names of files of a folder in which the session may write.
    fn lists_own_files(&self, source: &str, command: &Command) -> bool {
        let Some(source) = source.strip_prefix("$(").filter(|source| !source.starts_with('(')) else {
            return false;
        };
        let words: Vec<&str> = source.trim_end_matches(')').split_whitespace().collect();
        let words_of = words.iter().skip(1).map(|word| word.trim_matches(['"', '\'']));
        let mut paths = words_of.filter(|word| word.starts_with('/'));
        // It may print a file of another machine.
        let starts = || {
            let runs = self.catalogue.usage(&words, &|_| false).and_then(|usage| usage.form.runs);
            runs.is_some_and(|runs| !matches!(runs.how, How::Find | How::Fd))
        };
        paths.any(|path| self.may_have_written(path, command) || starts())
            || self.is_in_open_folder(command) && lists_files(&format!("$({source}"))
    }

    /// Whether a program prints a file of which the content is a number or a name, and which the session cannot write:
    /// `$(cat /run/x.pid)`.
    fn is_fixed(&self, source: &str, command: &Command) -> bool {
        let source =
            source.strip_prefix("$(").and_then(|source| source.strip_suffix(')')).unwrap_or_default();
        let mut words = source.split_whitespace();
        let prints = words.next().is_some_and(|first| matches!(first, "cat" | "head" | "<"));
        let is_count = |word: &str| word.trim_start_matches(['-', 'n']).chars().all(|c| c.is_ascii_digit());
        let is_fixed = |word: &str| {
            FIXED_CONTENTS.iter().any(|glob| matches(glob, word))
                && !word.contains("..")
                && !self.may_have_written(word, command)
        };
        let mut files = words.filter(|word| !is_count(word) && *word != "2>/dev/null").peekable();
        prints && files.peek().is_some() && files.all(is_fixed)
    }

    /// The command in each of the folders where it may run, but for the one where the script starts if a `cd` has failed.
    fn possible(&self, command: &Command) -> impl Iterator<Item = Command> {
        let settled = command.settled();
        let others = command.missed.iter().filter(|cwd| cwd.as_deref() != self.cwd);
        let others = others.map(|cwd| Command { cwd: cwd.clone(), ..settled.clone() });
        let others: Vec<Command> = others.collect();
        std::iter::once(settled).chain(others)
    }
}
