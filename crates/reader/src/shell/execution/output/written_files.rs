//! The contents of files that a script writes, in case it runs them later.

use std::rc::Rc;

use super::disk_files::may_write;
use super::filters;
use super::redirect::Redirected;
use crate::catalogue::Catalogue;
use crate::catalogue::options::{At, Name};
use crate::catalogue::program::{How, Language, Words};
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::host::host_of;
use crate::shell::script::{Command, Construct, Mode, Node};
use crate::shell::state::Shell;
use crate::shell::text::{Unknown, Word, is_known, join};

/// Maximum number of files.
const MOST_FILES: usize = 8192;
/// Maximum size of a file in bytes.
const LONGEST: usize = 1024 * 1024;
/// Maximum number of commands that are searched for what they may have written to one file.
const MOST_WRITERS: usize = 16;
/// Minimum length in bytes of the name of a file that is searched in the words of commands.
const SHORTEST_NAME: usize = 2;
/// The source of the mark of a pipe with a name.
const PIPE: &str = "$(a pipe)";

impl Evaluator {
    /// The key of a file: hosts and absolute path.
    fn key(&self, shell: &Shell, path: &str) -> String {
        let path = &path.replacen("/proc/self/fd/", "/dev/fd/", 1);
        let meant = self.path_of(shell, path).or_else(|| shell.follow(path));
        let path = meant.unwrap_or_else(|| path.trim_start_matches("./").to_owned());
        format!("{}:{path}", shell.hosts.join(","))
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
        content.or_else(|| self.files.get(&self.key(shell, path)).cloned())
    }

    /// A script that does what the program at a path does; `None` unless it is a program that acts or runs others.
    pub fn started_by(&self, path: &str) -> Option<String> {
        let path = path.trim_end();
        let program = self.catalogue.find(path).filter(|_| is_known(path))?;
        let is_followed = program.acts() || program.forms().any(|form| form.runs.is_some());
        is_followed.then(|| format!("'{path}' \"$@\"\n"))
    }

    /// Stores or appends the content of a file.
    pub fn store_file(&mut self, shell: &Shell, path: &str, text: &str, append: bool) {
        let key = self.key(shell, path);
        if text.len() > LONGEST || (self.files.len() >= MOST_FILES && !self.files.contains_key(&key)) {
            // It may contain anything; running it causes a complaint.
            let mark = self.unknowns.plain("…");
            Rc::make_mut(&mut self.files).insert(key, mark);
            return;
        }
        self.spend(1 + text.len() / 64);
        if self.files.get(&key).is_some_and(|content| self.is_pipe(content)) {
            // What has opened the pipe before gets the text now.
            let was_opened = self.has_node(|node| opens(node, path));
            if was_opened && (!is_known(text) || self.mentions_action(text)) {
                self.complain(Complaint::Runs(self.unknowns.show(path)));
                self.unread(shell, text);
            }
        }
        let file = Rc::make_mut(&mut self.files).entry(key).or_default();
        if !append {
            file.clear();
        }
        if file.len() + text.len() <= LONGEST {
            file.push_str(text);
        }
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
        let mut fields = Vec::with_capacity(invocation.fields.len());
        for (at, field) in invocation.fields.iter().enumerate() {
            let content =
                (at > 0 && !field.text.starts_with('-')).then(|| self.file_content(shell, &field.text));
            match content.flatten() {
                Some(content) => fed.get_or_insert_default().push_str(&content),
                None => fields.push(field.clone()),
            }
        }
        fed.map(|fed| Invocation { stdin: Some(fed), ..invocation.with(fields) })
    }

    /// Forgets the content of files that a command may change in a way that is not followed.
    pub fn forget_changed(
        &mut self,
        shell: &Shell,
        invocation: &Invocation,
        command: &Command,
        program: &str,
    ) {
        if self.files.is_empty() || names::FOLLOWED_WRITERS.has(program) {
            return;
        }
        for field in invocation.args() {
            let Some(old) = self.files.get(&self.key(shell, &field.text)).cloned() else { continue };
            if !overwrites(command, &field.text, self.catalogue) {
                continue;
            }
            let fed = self.fed_by_files(shell, invocation, program);
            let edited = fed
                .filter(|_| program == "sed")
                .and_then(|fed| filters::of(self, &fed, program, fed.texts().get(1..).unwrap_or_default()));
            let new = edited.unwrap_or_else(|| {
                let source = format!("$(< {})", self.unknowns.show(&field.text));
                let made_from =
                    Some(format!("{}\n{}", join(&invocation.fields), self.unknowns.sources(&old)));
                self.unknowns.mark(Unknown { source, many: true, made_from, ..Unknown::default() })
            });
            self.store_file(shell, &field.text, &new, false);
        }
    }

    /// Adds as unread text what earlier commands may have written to a file that is run and whose content is unknown: code
    /// that names it, and the known files that an archive of this name may contain.
    pub fn suspect_writers(&mut self, shell: &Shell, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        if name.len() < SHORTEST_NAME {
            return;
        }
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        self.has_node(|node| {
            let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else {
                return false;
            };
            let names = |word: &Word| word.text.contains(&name);
            if command.words.iter().skip(1).any(names) && may_make(command, self.catalogue) {
                let words: Vec<String> =
                    command.words.iter().chain(&command.stdin).map(|word| word.text.clone()).collect();
                found.push((words.join(" "), words));
            }
            found.len() >= MOST_WRITERS
        });
        let mut texts = Vec::new();
        for (line, words) in found {
            texts.push(line);
            texts.extend(words.iter().skip(1).filter_map(|word| self.file_content(shell, word)));
        }
        let text = self.unknowns.sources(&texts.join("\n"));
        if self.mentions_action(&text) {
            self.complain(Complaint::ChangedFile(name));
            self.unread(shell, &text);
        }
    }

    /// Stores the output of a command in the files to which it is redirected.
    pub fn store_output(&mut self, shell: &Shell, redirected: &Redirected, printed: &str) {
        if !redirected.silent || printed.is_empty() {
            return;
        }
        for redirection in &redirected.files {
            if self.sinks.iter().any(|sink| sink.path == redirection.marked) {
                continue;
            }
            if matches!(redirection.mode, Mode::Write | Mode::Append) && redirection.path.text != "/dev/null"
            {
                let append = redirection.mode == Mode::Append;
                self.store_file(shell, &redirection.marked, printed, append);
            }
        }
    }

    /// Follows `cp`, `mv`, `install` and `scp` of files whose content is known.
    pub fn copy_files(&mut self, shell: &Shell, invocation: &Invocation, program: &str) {
        let words = invocation.args().map(|field| field.text.as_str());
        let paths: Vec<&str> = words.filter(|text| !text.starts_with('-')).collect();
        let Some((target, sources)) = paths.split_last() else { return };
        let (there, target) = match target.split_once(':').filter(|_| program == "scp") {
            Some((host, path)) => {
                let Some(host) = host_of(host) else { return };
                (shell.elsewhere().on_host(self.unknowns.show(&host)), path)
            }
            None => (shell.clone(), *target),
        };
        for source in sources {
            let text = self.file_content(shell, source).or_else(|| self.started_by(source));
            let text = text.or_else(|| self.file_mark(shell, source));
            let Some(text) = text else { continue };
            let name = source.rsplit('/').next().unwrap_or(source);
            self.store_file(&there, target, &text, false);
            self.store_file(&there, &format!("{}/{name}", target.trim_end_matches('/')), &text, false);
        }
    }
}

/// Whether a command has opened a file to read it, or names it.
fn opens(node: &Node, path: &str) -> bool {
    let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return false };
    command.words.iter().skip(1).any(|word| word.text == path)
        || command.redirections.iter().any(|file| file.mode != Mode::Write && file.path.text == path)
}

/// Whether a command may make a file whose name is somewhere in its words: code, or a program that writes.
fn may_make(command: &Command, catalogue: Catalogue) -> bool {
    let usage = catalogue.usage(&command.texts(), &|_| false);
    let runs = usage.as_ref().and_then(|usage| usage.form.runs.or(usage.program.form.runs));
    runs.is_some_and(|runs| matches!(runs.how, How::Code(_))) || may_write(command, |_| true, catalogue)
}

/// Whether a command may write the file of one of its words, according to its description; without one, it may.
fn overwrites(command: &Command, path: &str, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return !texts.is_empty() };
    if let Some(runs) = usage.form.runs {
        // Code gets the files that it works on after itself.
        let is_code = matches!(runs.how, How::Code(language) if language != Language::Awk);
        return is_code && texts.iter().skip(2).any(|text| *text == path);
    }
    let files = usage.files();
    let given = usage.operands(&texts);
    let of_option = |(name, at): &(Name<'_>, Option<At>)| {
        name.is_any(&files.outputs) && at.and_then(|at| at.of(&texts)) == Some(path)
    };
    (files.writes != Words::None && (files.writes_with.is_empty() || given.states(&files.writes_with)))
        || given.options.iter().any(of_option)
}
