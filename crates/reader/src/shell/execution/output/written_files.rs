//! The contents of files that a script writes, in case it runs them later.

use super::redirect::Redirected;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::host::host_of;
use crate::shell::script::Mode;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

/// Maximum number of files.
const MOST_FILES: usize = 8192;
/// Maximum size of a file in bytes.
const LONGEST: usize = 1024 * 1024;

impl Evaluator {
    /// The key of a file: hosts and absolute path.
    fn key(&self, shell: &Shell, path: &str) -> String {
        let path = &path.replacen("/proc/self/fd/", "/dev/fd/", 1);
        let meant = self.path_of(shell, path).or_else(|| shell.follow(path));
        let path = meant.unwrap_or_else(|| path.trim_start_matches("./").to_owned());
        format!("{}:{path}", shell.hosts.join(","))
    }

    /// The content of a file that the script wrote, or of a process substitution; `None` when it is unknown.
    pub fn file_content(&self, shell: &Shell, path: &str) -> Option<String> {
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
            self.files.insert(key, mark);
            return;
        }
        self.spend(1 + text.len() / 64);
        let file = self.files.entry(key).or_default();
        if !append {
            file.clear();
        }
        if file.len() + text.len() <= LONGEST {
            file.push_str(text);
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
