//! The contents of files that a script writes, in case it runs them later.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::writing::may_write;
use crate::catalogue::Catalogue;
use crate::catalogue::program::How;
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::execution::output::redirect::{Errors, Redirected};
use crate::shell::host::host_of;
use crate::shell::on_disk::GLOB;
use crate::shell::script::{Command, Construct, Mode, Node, Redirection};
use crate::shell::state::Shell;
use crate::shell::text::{Field, Unknown, Word, is_known};

/// Maximum number of files.
const MOST_FILES: usize = 8192;
/// Maximum number of links to files.
const MOST_LINKS: usize = 64;
/// Maximum size of a file in bytes.
const LONGEST: usize = 1024 * 1024;
/// Maximum number of commands that are searched for what they may have written to one file.
pub(super) const MOST_WRITERS: usize = 16;
/// Minimum length in bytes of the name of a file that is searched in the words of commands.
pub(super) const SHORTEST_NAME: usize = 2;
/// The source of the mark of a pipe with a name.
const PIPE: &str = "$(a pipe)";

impl Evaluator {
    /// The key of a file: hosts and absolute path.
    pub(super) fn key(&self, shell: &Shell, path: &str) -> String {
        let mut path = Cow::Borrowed(path);
        if let Some(descriptor) = path.strip_prefix("/proc/self/fd/") {
            path = Cow::Owned(format!("/dev/fd/{descriptor}"));
        }
        if !is_known(&path) {
            path = Cow::Owned(self.unknowns.without_quotes(&path));
        }
        let meant = self.path_of(shell, &path).or_else(|| shell.follow(&path));
        key_on(shell, meant.as_deref().unwrap_or_else(|| below_here(&path)))
    }

    /// The content of a file that the script wrote, of a process substitution, or of standard input; `None` when it is unknown.
    pub fn file_content(&self, shell: &Shell, path: &str) -> Option<String> {
        if matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") && shell.stdin.is_some() {
            return shell.stdin.clone();
        }
        if self.files.is_empty() && is_known(path) {
            return None;
        }
        let content = self.unknowns.only_mark(path).and_then(|unknown| unknown.content.clone());
        let written = || self.files.get(&self.key(shell, path));
        // It may have been written where the folder was not known.
        let anywhere = || self.files.get(&key_on(shell, below_here(path)));
        content.or_else(|| written().or_else(anywhere).cloned())
    }

    /// A script that does what the program at a path does; `None` unless it is a program that acts or runs others.
    pub fn started_by(&self, path: &str) -> Option<String> {
        let path = path.trim_end();
        // `a/.` is a folder.
        let program = self.catalogue.find(path).filter(|_| is_known(path) && !path.ends_with('.'))?;
        let is_followed = program.acts || program.forms().any(|form| form.runs.is_some());
        is_followed.then(|| format!("'{path}' \"$@\"\n"))
    }

    /// Notes that two paths name one file or folder.
    pub fn link(&mut self, shell: &Shell, one: &str, other: &str) {
        if self.links.len() < MOST_LINKS {
            self.links.push((self.key(shell, one), self.key(shell, other)));
        } else {
            self.leave_out(shell, one);
        }
    }

    /// Stores or appends the content of a file.
    pub fn store_file(&mut self, shell: &Shell, path: &str, text: &str, append: bool) {
        let key = self.key(shell, path);
        if let Some((_, absolute)) = key.split_once(':').filter(|_| !text.is_empty()) {
            self.start_later(shell, absolute, text);
        }
        for (one, other) in self.links.clone() {
            for (one, other) in [(&one, &other), (&other, &one)] {
                let rest =
                    key.strip_prefix(one.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
                let same = rest.map(|rest| format!("{other}{rest}"));
                if let Some((same, old)) =
                    same.and_then(|same| Some((same.clone(), self.files.get(&same)?.clone())))
                {
                    let new = if append { old.clone() + text } else { text.to_owned() };
                    let either = self.one_of(vec![old, new], "…");
                    Rc::make_mut(&mut self.files).insert(same, either);
                }
            }
        }
        if text.len() > LONGEST || (self.files.len() >= MOST_FILES && !self.files.contains_key(&key)) {
            // It may contain anything; running it causes a complaint.
            let mark = self.unknowns.plain("…");
            Rc::make_mut(&mut self.files).insert(key, mark);
            return;
        }
        self.spend(1 + text.len() / 64);
        // A shell goes on with what its script gets meanwhile.
        if self.path_of(shell, path).is_some_and(|path| self.on_disk.running.contains(&path)) {
            self.complain(Complaint::ChangedFile(self.unknowns.show(path)));
            self.unread(shell, text);
        }
        if self.files.get(&key).is_some_and(|content| self.is_pipe(content)) {
            // What has opened the pipe before gets the text now.
            let was_opened = self.has_node(|node| opens(node, path));
            if was_opened && (!is_known(text) || self.mentions_action(text)) {
                self.complain(Complaint::Runs(self.unknowns.show(path)));
                self.unread(shell, text);
            }
        }
        let is_new = append && !self.files.contains_key(&key);
        let before = if is_new { self.before_append(shell, path) } else { String::new() };
        let file = Rc::make_mut(&mut self.files).entry(key.clone()).or_insert(before);
        if !append {
            file.clear();
        }
        if file.len() + text.len() <= LONGEST {
            file.push_str(text);
        }
        if self.shared_files.contains(&key) {
            self.doubt_file(key);
        }
    }

    /// What a file holds to which the script appends for the first time.
    fn before_append(&mut self, shell: &Shell, path: &str) -> String {
        // The number of a descriptor, or what it has opened.
        if path.starts_with("/dev/") || self.unknowns.only_mark(path).is_some() {
            return String::new();
        }
        let Some(mark) = self.file_mark(shell, path) else { return self.unseen_file(shell, path) + "\n" };
        let unknown = self.unknowns.only_mark(&mark).cloned().unwrap_or_default();
        self.unknowns.mark(Unknown { may_be_missing: true, ..unknown })
    }

    /// Notes that other commands may write a file as long as this script runs: it gets their errors, or has a number.
    pub fn share_file(&mut self, shell: &Shell, path: &str) {
        if path.starts_with("/dev/") || self.shared_files.len() >= MOST_LINKS {
            return;
        }
        let key = self.key(shell, path);
        if self.files.contains_key(&key) {
            self.doubt_file(key.clone());
        }
        self.shared_files.insert(key);
    }

    /// Stores a pipe with a name, which holds nothing yet.
    pub fn store_pipe(&mut self, shell: &Shell, path: &str) {
        let mark = self.unknowns.plain(format!("$(< {})", self.unknowns.show(path)));
        let pipe = self.unknowns.mark(Unknown {
            source: PIPE.to_owned(),
            content: Some(mark),
            ..Unknown::default()
        });
        self.store_file(shell, path, &pipe, false);
    }

    /// Whether the content of a file is that of a pipe to which nothing was written.
    fn is_pipe(&self, content: &str) -> bool {
        self.unknowns.only_mark(content).is_some_and(|unknown| unknown.source == PIPE)
    }

    /// A filter with the files that its words name as its standard input, where their content is known.
    pub fn fed_by_files(&self, shell: &Shell, invocation: &Invocation, program: &str) -> Option<Invocation> {
        if !names::FILTERS.has(program) {
            return None;
        }
        let mut fed: Option<String> = None;
        let mut has_filter = false;
        let mut fields: Vec<Field> = Vec::with_capacity(invocation.fields.len());
        for (at, field) in invocation.fields.iter().enumerate() {
            let content =
                (at > 0 && !field.text.starts_with('-')).then(|| self.file_content(shell, &field.text));
            match content.flatten() {
                // The filter of `jq -f FILE`.
                Some(content) if program == "jq" && fields.last().is_some_and(|last| last.text == "-f") => {
                    fields.pop();
                    fields.push(Field::literal(content));
                    has_filter = true;
                }
                Some(content) => fed.get_or_insert_default().push_str(&content),
                None => fields.push(field.clone()),
            }
        }
        let is_changed = has_filter || fed.is_some();
        is_changed.then(|| Invocation::of(fields, fed.or_else(|| invocation.stdin.clone())))
    }

    /// The file on this machine that became a file in a folder which the script copied, moved or linked.
    pub fn copied_from(&self, shell: &Shell, path: &str) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let path = self.path_of(shell, path)?;
        path.rmatch_indices('/').filter(|(at, _)| *at > 0).find_map(|(at, _)| {
            let folder = self.files.get(&self.key(shell, path.get(..at)?))?;
            let from = self.unknowns.only_mark(folder)?.on_disk.as_deref()?;
            // `cp a/* b`.
            let from = from.split_once(GLOB).map_or(from, |(before, _)| before.trim_end_matches('/'));
            Some(format!("{from}{}", path.get(at..)?))
        })
    }

    /// Adds as unread text what earlier commands may have written to a file that is run and whose content is unknown: code
    /// that names it, and the known files that an archive of this name may contain.
    pub fn suspect_writers(&mut self, shell: &Shell, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        if name.len() < SHORTEST_NAME {
            return;
        }
        // A loop has the same command many times.
        let (mut tried, mut found, mut nodes) = (BTreeSet::new(), BTreeSet::new(), 0);
        self.has_node(|node| {
            nodes += 1;
            let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else {
                return false;
            };
            let names = |word: &Word| word.text.contains(&name);
            if command.words.iter().skip(1).chain(&command.stdin).any(names) {
                let words = command.words.iter().chain(&command.stdin).map(|word| word.text.as_str());
                let words: Vec<&str> = words.collect();
                if tried.insert(words.clone()) && may_make(command, self.catalogue) {
                    found.insert(words);
                }
            }
            found.len() >= MOST_WRITERS
        });
        let files: BTreeSet<&str> = found.iter().flat_map(|words| words.iter().skip(1).copied()).collect();
        let files = files.into_iter().filter_map(|word| self.file_content(shell, word));
        let texts: Vec<String> = found.iter().map(|words| words.join(" ")).chain(files).collect();
        self.spend(nodes / 64);
        // A patch adds lines.
        let text = self.unknowns.sources(&texts.join("\n")).replace("\n+", "\n");
        if self.mentions_action(&text) {
            self.complain(Complaint::ChangedFile(name));
            self.unread(shell, &text);
        }
    }

    /// Stores the output of a command in the files to which it is redirected.
    pub fn store_output(&mut self, shell: &Shell, redirected: &Redirected, printed: &str) {
        // `echo TEXT 1<> FILE` replaces a part of it.
        let in_part =
            |file: &Redirection| file.mode == Mode::ReadWrite && !file.path.text.starts_with("/dev/");
        if redirected.files.iter().any(in_part) {
            self.doubt_all_files(shell);
        }
        if !redirected.silent {
            return;
        }
        let printed = if redirected.errors == Errors::File {
            &self.doubtful(printed.to_owned(), "2>&1")
        } else {
            printed
        };
        for redirection in &redirected.files {
            if self.sinks.iter().any(|sink| sink.path == redirection.marked) {
                continue;
            }
            let append = redirection.mode == Mode::Append;
            let is_write = redirection.mode != Mode::Read;
            if is_write && (redirection.path.unknown.is_some() || redirection.path.text.contains(GLOB)) {
                self.doubt_all_files(shell);
            }
            if matches!(redirection.mode, Mode::Write | Mode::Append)
                && redirection.path.text != "/dev/null"
                && !(append && printed.is_empty())
            {
                self.store_file(shell, &redirection.marked, printed, append);
            }
        }
    }

    /// Follows `cp`, `mv`, `install` and `scp` of files whose content is known.
    pub fn copy_files(&mut self, shell: &Shell, invocation: &Invocation, program: &str) {
        let words = invocation.args().map(|field| field.text.as_str());
        let paths: Vec<&str> = words.filter(|text| !text.starts_with('-')).collect();
        let Some((target, sources)) = paths.split_last() else { return };
        let has_links =
            invocation.args().any(|field| field.text.starts_with('-') && field.text.contains(['l', 's']));
        let is_plain = |word: &str| !word.starts_with('-') || matches!(word, "-a" | "-f" | "-p" | "-v");
        let is_certain =
            matches!(program, "cp" | "mv") && invocation.args().all(|field| is_plain(&field.text));
        let (there, target) = match target.split_once(':').filter(|_| program == "scp") {
            Some((host, path)) => {
                let Some(host) = host_of(host) else { return };
                (shell.elsewhere().on_host(self.unknowns.show(&host)), path)
            }
            None => (shell.clone(), *target),
        };
        for source in sources {
            let name = source.rsplit('/').next().unwrap_or(source);
            let inside = format!("{}/{name}", target.trim_end_matches('/'));
            if program == "ln" || has_links {
                self.link(shell, source, target);
                self.link(shell, source, &inside);
            }
            let text = self.file_content(shell, source).or_else(|| self.started_by(source));
            let text = text.or_else(|| self.file_mark(shell, source));
            let text = text.unwrap_or_else(|| self.unseen_file(shell, source));
            // It may leave a file as it is that is there already.
            let old = self.file_content(&there, target).filter(|_| !is_certain);
            let text = old.map_or_else(|| text.clone(), |old| self.one_of(vec![old, text.clone()], "…"));
            self.store_file(&there, target, &text, false);
            self.store_file(&there, &inside, &text, false);
        }
    }
}

/// The key of a path where a shell is.
pub(super) fn key_on(shell: &Shell, path: &str) -> String {
    [shell.hosts.join(",").as_str(), ":", path].concat()
}

/// A path without what names the working directory before it.
fn below_here(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

/// Whether a command has opened a file to read it, or names it.
fn opens(node: &Node, path: &str) -> bool {
    let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return false };
    command.words.iter().skip(1).any(|word| word.text == path)
        || command.redirections.iter().any(|file| file.mode != Mode::Write && file.path.text == path)
}

/// Whether a command may make a file whose name is somewhere in its words or its input: code, or a program that writes.
fn may_make(command: &Command, catalogue: Catalogue) -> bool {
    let usage = catalogue.usage(&command.texts(), &|_| false);
    let runs = usage.as_ref().and_then(|usage| usage.form.runs.or(usage.program.form.runs));
    runs.is_some_and(|runs| matches!(runs.how, How::Code(_))) || may_write(command, |_| true, catalogue)
}
