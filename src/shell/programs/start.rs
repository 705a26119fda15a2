//! Chooses how to follow a program: as a shell, an interpreter, a wrapper, or a plain command.

use super::{batch, git, interpreter, remote, shell_program, tasks, unit, wrapper};
use crate::catalogue::base_name;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::catalogue::program::{How, TargetKind};
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::execution::invocation::Invocation;
use crate::shell::execution::{builtins, output};
use crate::shell::script::Node;
use crate::shell::state::Shell;
use crate::shell::text::is_all_unknown;

impl Evaluator {
    /// Runs words as a program and ignores functions and builtins.
    pub fn start(&mut self, shell: &Shell, invocation: &Invocation) -> Ran {
        let name = invocation.word(0).unwrap_or_default();
        let program = base_name(name);
        if let Some(printed) = self.run_script_file(shell, invocation, name) {
            return (printed, Flow::On);
        }
        let texts = invocation.texts();
        let usage =
            self.catalogue.usage(&texts, &|index| texts.get(index).is_some_and(|text| is_all_unknown(text)));
        let runs = usage.as_ref().and_then(|usage| {
            // Every command of git may run hooks.
            let of_git = usage.program.form.runs.filter(|runs| runs.how == How::Git);
            Some((usage, usage.form.runs.or(of_git).map(|runs| runs.0)?))
        });
        let printed = match runs {
            Some((usage, runs)) => match runs.how {
                How::Shell => Some(shell_program::run(self, shell, invocation, program)),
                How::Crontab => Some(shell_program::crontab(self, shell, invocation)),
                How::Ssh => Some(remote::run(self, shell, invocation, (program, usage))),
                How::Ansible => Some(remote::ansible(self, shell, invocation, usage)),
                How::Xargs => Some(batch::xargs(self, shell, invocation, usage)),
                How::Parallel => Some(batch::parallel(self, shell, invocation, usage)),
                How::Find => Some(batch::find(self, shell, invocation, false)),
                How::Fd => Some(batch::find(self, shell, invocation, true)),
                How::Make => Some(tasks::make(self, shell, invocation, (program, usage))),
                How::Package => Some(tasks::package(self, shell, invocation, (program, usage))),
                How::Just => Some(tasks::just(self, shell, invocation, (program, usage))),
                How::RunParts => Some(tasks::run_parts(self, shell, invocation, usage)),
                How::Git => Some(git::run(self, shell, invocation, usage)),
                How::UnitFile => Some(unit::run(self, shell, invocation, usage)),
                How::Code(language) => Some(interpreter::run(self, shell, invocation, (program, language))),
                How::Command | How::Joined | How::Typed => {
                    wrapper::run(self, shell, invocation, (program, usage, runs))
                }
            },
            None => None,
        };
        let printed = printed.unwrap_or_else(|| {
            let is_playbook =
                |usage: &Usage| usage.form.does.is_some_and(|does| does.to.kind == TargetKind::Playbook);
            let mut command = self.command_of(shell, invocation);
            if let Some(usage) =
                usage.as_ref().filter(|usage| is_playbook(usage) && self.disk_of(shell).is_some())
            {
                let value = usage.value();
                let mut words = Scanner::new(&texts, usage.rest, &value).filter_map(|item| match item {
                    Item::Positional(index) => texts.get(index).copied(),
                    _ => None,
                });
                // The file of several ones is not clear.
                let only = words.next().filter(|_| words.next().is_none());
                command.stated = only.and_then(|path| self.read_data(shell, path));
            }
            self.push(Node::Command(Box::new(command)));
            output::of(self, shell, invocation, program)
        });
        (printed, Flow::On)
    }

    /// Runs words as a program that another program starts, within the limits on depth and work.
    pub fn run_program(&mut self, shell: &Shell, invocation: &Invocation) -> String {
        if self.depth_reached() || self.exhausted() {
            let words = invocation.texts().join(" ");
            self.leave_out(shell, &words);
            return self.unknowns.plain("…");
        }
        self.spend(1);
        self.depth += 1;
        // `sudo cd` does nothing, but scripts contain `nohup command x` and `sudo exec x`.
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
