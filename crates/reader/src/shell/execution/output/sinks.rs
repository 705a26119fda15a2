//! Commands that receive what others print: `> >(bash)`, `tee >(bash)`, `exec 3> >(bash)`, `coproc bash`.

use std::rc::Rc;

use brush_parser::ast;

use super::redirect::{Redirected, descriptor};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::script::{Construct, Mode};
use crate::shell::state::{Shell, Sink, Value};
use crate::shell::text::{Origin, Unknown};

/// Maximum number of commands that wait for their input.
const MOST_SINKS: usize = 1024;

impl Evaluator {
    /// Starts a command that receives what is written to the second descriptor of the array `name`.
    pub fn start_coprocess(&mut self, shell: &mut Shell, name: &str, list: ast::CompoundList) {
        let path = self.add_sink(shell, list, format!("${name}"), true);
        let [read, write] = [0, 1].map(|index| {
            let source = format!("${{{name}[{index}]}}");
            self.unknowns.mark(Unknown { source, is_number: true, ..Unknown::default() })
        });
        self.store_file(shell, &format!("{} >", descriptor(&write)), &path, false);
        let items = vec![("0".to_owned(), read), ("1".to_owned(), write)];
        shell.set(name, Value::Array(items), Origin::Assigned);
    }

    /// Adds a command that receives input and returns the mark of its path.
    pub fn add_sink(
        &mut self,
        shell: &Shell,
        list: ast::CompoundList,
        source: String,
        has_run: bool,
    ) -> String {
        // Each has a path of its own.
        let path = self.unknowns.mark(Unknown { source, ..Unknown::default() });
        if self.sinks.len() >= MOST_SINKS {
            self.complain(Complaint::ManySteps);
            self.leave_out(shell, &list.to_string());
        } else {
            self.sinks.push(Sink {
                path: path.clone(),
                list,
                shell: shell.clone(),
                input: String::new(),
                has_run,
            });
        }
        path
    }

    /// Passes a text to the command that waits at a path; false when none does.
    pub fn feed(&mut self, path: &str, text: &str) -> bool {
        let sink = self.sinks.iter_mut().find(|sink| sink.path == path);
        sink.map(|sink| sink.input.push_str(text)).is_some()
    }

    /// Passes a text to the commands that wait at the files of redirections.
    pub fn feed_files(&mut self, redirected: &Redirected, text: &str) {
        for redirection in &redirected.files {
            // It may get errors: `2> >(bash)`.
            let is_fed = text.is_empty() && self.sinks.iter().any(|sink| sink.path == redirection.marked);
            let errors = if is_fed { self.unknowns.many("2>") } else { String::new() };
            self.feed(&redirection.marked, if is_fed { &errors } else { text });
        }
    }

    /// Passes the output of a command to files, to commands that wait for it, and to where `exec` sends it. Those that began
    /// to wait from `waiting` on only received its output, and have got all of their input.
    pub fn pass_output(
        &mut self,
        shell: &mut Shell,
        (waiting, invocation, redirected): (usize, &Invocation, &Redirected),
        printed: &str,
    ) {
        self.store_output(shell, redirected, printed);
        let is_exec = invocation.word(0) == Some("exec");
        // What `exec` opens stays open.
        if self.sinks.len() > waiting && !is_exec {
            for field in invocation.args() {
                self.feed(&field.text, printed);
            }
            self.feed_files(redirected, printed);
            self.run_sinks(waiting);
        }
        let variable = invocation.word(1).and_then(|word| word.strip_prefix('{')?.strip_suffix('}'));
        if let Some(name) = variable.filter(|_| is_exec) {
            // The shell chooses the number.
            let number = self.unknowns.mark(Unknown { source: format!("${name}"), ..Unknown::default() });
            let opened = descriptor(&number);
            if let Some(text) = &redirected.stdin {
                self.store_file(shell, &opened, text, false);
            }
            for file in redirected.files.iter().filter(|file| file.mode != Mode::Read) {
                self.store_file(shell, &format!("{opened} >"), &file.marked, false);
            }
            shell.set(name, Value::Scalar(number), Origin::Assigned);
            return;
        }
        if is_exec && invocation.fields.len() == 1 && redirected.silent {
            for file in redirected.files.iter().filter(|file| file.mode == Mode::Write) {
                self.store_file(shell, &file.marked, "", false);
            }
            shell.output = redirected.files.last().map(|file| Rc::from(file.marked.as_str()));
            return;
        }
        self.feed_files(redirected, printed);
        // What functions and scripts print has been passed on already.
        let prints = matches!(invocation.word(0), Some("echo" | "printf" | "cat"));
        if let Some(path) = shell.output.clone().filter(|_| prints && !redirected.silent)
            && !self.feed(&path, printed)
        {
            self.store_file(shell, &path, printed, true);
        }
    }

    /// Runs the commands that wait for their input, from this one on, with what they have got.
    pub fn run_sinks(&mut self, from: usize) {
        for sink in self.sinks.split_off(from.min(self.sinks.len())) {
            if sink.has_run && sink.input.is_empty() {
                continue;
            }
            let mut shell = sink.shell.forked();
            shell.stdin = Some(sink.input);
            let outer = std::mem::take(&mut self.stdin);
            let (printed, _) = self.inside(Construct::ProcessSubstitution, |this| {
                this.apart(|this| this.list(&mut shell, &sink.list))
            });
            self.stdin = outer;
            self.leaks |= !printed.is_empty();
        }
    }
}
