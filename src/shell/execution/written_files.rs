//! Files that a script writes and then runs: their texts are remembered.

use super::invocation::Invocation;
use super::redirect::Redirected;
use crate::shell::evaluator::Evaluator;
use crate::shell::host::host_of;
use crate::shell::script::Mode;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

/// Files beyond this are not remembered.
const MOST_FILES: usize = 64;
/// Longer texts are not remembered.
const LONGEST: usize = 64 * 1024;

/// A path as the shell at this place means it.
fn key(shell: &Shell, path: &str) -> String {
    let path = shell.follow(path).unwrap_or_else(|| path.trim_start_matches("./").to_owned());
    format!("{}:{path}", shell.hosts.join(","))
}

impl Evaluator {
    /// What a reader finds in a file: what was written to it before, or a process substitution.
    pub fn file(&self, shell: &Shell, path: &str) -> Option<String> {
        if self.files.is_empty() && is_known(path) {
            return None;
        }
        let content = self.unknowns.only_mark(path).and_then(|unknown| unknown.content.clone());
        content.or_else(|| self.files.get(&key(shell, path)).cloned())
    }

    /// Remembers the text of a file.
    pub fn write_file(&mut self, shell: &Shell, path: &str, text: &str, append: bool) {
        let key = key(shell, path);
        if text.len() > LONGEST || (self.files.len() >= MOST_FILES && !self.files.contains_key(&key)) {
            self.files.remove(&key);
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

    /// Remembers what a command printed into files.
    pub fn written(&mut self, shell: &Shell, redirected: &Redirected, printed: &str) {
        if !redirected.silent || printed.is_empty() {
            return;
        }
        for redirection in &redirected.files {
            if matches!(redirection.mode, Mode::Write | Mode::Append) && redirection.path.text != "/dev/null"
            {
                let append = redirection.mode == Mode::Append;
                self.write_file(shell, &redirection.marked, printed, append);
            }
        }
    }

    /// `cp` and `mv` of files that are known, `scp` of them to another host.
    pub fn copy_files(&mut self, shell: &Shell, invocation: &Invocation, program: &str) {
        let paths: Vec<&str> = invocation
            .fields
            .iter()
            .skip(1)
            .map(|field| field.text.as_str())
            .filter(|text| !text.starts_with('-'))
            .collect();
        let Some((target, sources)) = paths.split_last() else { return };
        let (there, target) = match target.split_once(':').filter(|_| program == "scp") {
            Some((host, path)) => {
                let Some(host) = host_of(host) else { return };
                (shell.elsewhere().on_host(self.unknowns.show(&host)), path)
            }
            None => (shell.clone(), *target),
        };
        for source in sources {
            let Some(text) = self.file(shell, source) else { continue };
            let name = source.rsplit('/').next().unwrap_or(source);
            self.write_file(&there, target, &text, false);
            self.write_file(&there, &format!("{}/{name}", target.trim_end_matches('/')), &text, false);
        }
    }
}
