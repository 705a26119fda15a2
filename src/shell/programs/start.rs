//! Starts programs: what a name leads to where it is neither a function nor a builtin.

use std::rc::Rc;

use super::{batch, interpreter, remote, shell_program, wrapper};
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::execution::invocation::Invocation;
use crate::shell::execution::{builtins, output};
use crate::shell::languages::is_interpreter;
use crate::shell::state::Shell;
use crate::shell::text::Field;

impl Evaluator {
    /// Starts a program rather than a function or a builtin.
    pub fn start(&mut self, shell: &Shell, invocation: &Invocation) -> Ran {
        let name = invocation.word(0).unwrap_or_default();
        let program = name.rsplit('/').next().unwrap_or(name);
        if let Some(text) = self.file(shell, name).filter(|_| name.contains('/')) {
            return (self.run_file(shell, invocation, &text), Flow::On);
        }
        let printed = match program {
            _ if shell_program::is_shell(program) => shell_program::run(self, shell, invocation, program),
            "ssh" | "autossh" | "slogin" | "mosh" => remote::run(self, shell, invocation, program),
            "ansible" => remote::ansible(self, shell, invocation),
            "crontab" => shell_program::crontab(self, shell, invocation),
            "xargs" => batch::xargs(self, shell, invocation),
            "parallel" => batch::parallel(self, shell, invocation),
            "find" | "fd" | "fdfind" => batch::find(self, shell, invocation),
            _ if is_interpreter(program) => interpreter::run(self, shell, invocation, program),
            _ => {
                if let Some(printed) = wrapper::run(self, shell, invocation, program) {
                    printed
                } else {
                    self.leaf(shell, invocation);
                    output::of(self, shell, invocation, program)
                }
            }
        };
        (printed, Flow::On)
    }

    /// A program of which the text is known because the script wrote it.
    fn run_file(&mut self, shell: &Shell, invocation: &Invocation, text: &str) -> String {
        let mut inner = shell.child();
        inner.args = Rc::new(invocation.fields.get(1..).unwrap_or_default().to_vec());
        inner.stdin.clone_from(&invocation.stdin);
        let name = invocation.word(0).unwrap_or_default();
        let label = self.unknowns.show(name);
        let first = text.lines().next().unwrap_or_default();
        if let Some(program) = first.strip_prefix("#!").and_then(|line| line.split_whitespace().last()) {
            let program = program.rsplit('/').next().unwrap_or(program);
            if is_interpreter(program) {
                let stdin = Some(text.to_owned());
                let one =
                    Invocation { fields: vec![Field::literal(program)], redirections: Vec::new(), stdin };
                return self.through(shell, invocation, label, |this| this.run_program(&inner, &one));
            }
        }
        self.through(shell, invocation, label, |this| this.run_text(&mut inner, text))
    }

    /// Runs words as a program that another program starts: no function, no builtin.
    pub fn run_program(&mut self, shell: &Shell, invocation: &Invocation) -> String {
        if self.depth_reached() || self.exhausted() {
            let words = invocation.texts().join(" ");
            self.unread(shell, &words);
            return self.unknowns.plain("…");
        }
        self.spend(1);
        self.depth += 1;
        // `sudo cd` and `env eval` do nothing; `nohup command x` and `sudo exec x` people do write.
        let printed = match invocation.word(0) {
            Some("command" | "exec" | "builtin" | "eval" | "test" | "[" | "true" | "false" | "printf") => {
                let mut inner = shell.clone();
                builtins::run(self, &mut inner, invocation).unwrap_or_else(|| self.start(shell, invocation)).0
            }
            _ => self.start(shell, invocation).0,
        };
        self.depth -= 1;
        printed
    }
}
