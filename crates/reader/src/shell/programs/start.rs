//! Chooses how to follow a program: as a shell, an interpreter, a wrapper, or a plain command.

use super::code::{embedded, interpreter, sed_commands};
use super::{batch, git, globbed, parallel, remote, shell_program, stated, tasks, unit, wrapper};
use crate::catalogue::base_name;
use crate::catalogue::options::{Item, Scanner};
use crate::catalogue::program::{Check, How};
use crate::languages::names::shell as names;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::execution::commands::builtins;
use crate::shell::execution::commands::invocation::{Invocation, Started};
use crate::shell::execution::output::printed as output;
use crate::shell::script::Node;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_all_unknown};

impl Evaluator {
    /// Runs words as a program and ignores functions and builtins.
    pub fn start(&mut self, shell: &Shell, invocation: &Invocation) -> Ran {
        let name = invocation.word(0).unwrap_or_default();
        if let Some(shell_name) = self.own_shell(name) {
            let mut one = invocation.clone();
            if let Some(first) = one.fields.first_mut() {
                *first = Field::literal(shell_name);
            }
            return self.start(shell, &one);
        }
        let program = base_name(name);
        if let Some(printed) = self.run_script_file(shell, invocation, name) {
            return (printed, Flow::On);
        }
        let texts = invocation.texts();
        let usage =
            self.catalogue.usage(&texts, &|index| texts.get(index).is_some_and(|text| is_all_unknown(text)));
        // The program before `then` has its own: `k0s kubectl`.
        if usage.is_none() {
            if globbed::is_pattern(name) && globbed::run(self, shell, invocation) {
                return (String::new(), Flow::On);
            }
            // The shell finds no such program, as far as is known.
            let handler = shell.functions.get("command_not_found_handle").filter(|_| !name.contains('/'));
            if let Some(body) = handler.cloned() {
                self.call(&mut shell.clone(), "command_not_found_handle", &body, &words_after(invocation));
            }
        }
        let described = usage.as_ref().map(|usage| usage.before.map_or(usage.program, |(outer, _)| outer));
        if let Some(program) = described.filter(|program| !program.commands.is_empty()) {
            embedded::run(self, shell, invocation, program);
        }
        let texts = texts.as_slice();
        let started = usage.as_ref().map(|usage| Started { shell, invocation, program, usage, texts });
        let followed = started.as_ref().and_then(|started| self.follow(started)).map(|printed| {
            // What it runs prints nothing; what it says itself is not known.
            if printed.is_empty() { self.unknowns.foreign(format!("$({program})")) } else { printed }
        });
        if followed.is_some() && !self.files.is_empty() {
            let command = self.command_of(shell, invocation);
            self.doubt_files(shell, invocation, &command, program);
        }
        let printed = followed.unwrap_or_else(|| {
            let mut command = self.command_of(shell, invocation);
            self.forget_changed(shell, invocation, &command, program);
            if let Some(started) = &started {
                command.stated = stated::read(self, started, &command);
            }
            self.push(Node::Command(Box::new(command)));
            output::of(self, shell, invocation, program)
        });
        (printed, Flow::On)
    }

    /// Follows a program that runs other programs; `None` for any other one.
    fn follow(&mut self, started: &Started<'_>) -> Option<String> {
        let Started { shell, invocation, usage, .. } = *started;
        if usage.form.effect.is_some_and(|terms| terms.check == Some(Check::SedScript)) {
            sed_commands::run(self, started);
        }
        // Every command of git may run hooks.
        let of_git = usage.program.form.runs.filter(|runs| runs.how == How::Git);
        let runs = usage.form.runs.or(of_git)?.0;
        Some(match runs.how {
            How::Shell => shell_program::run(self, started),
            How::Crontab => shell_program::crontab(self, shell, invocation),
            How::Ssh => self.outputs_of(started, |this, started| Some(remote::run(this, started)))?,
            How::Ansible => self.outputs_of(started, |this, started| Some(remote::ansible(this, started)))?,
            How::Xargs => batch::xargs(self, started),
            How::Parallel => parallel::parallel(self, started, runs),
            How::Find | How::Fd => batch::find(self, started),
            How::Make => tasks::make(self, started),
            How::Package => tasks::package(self, started),
            How::Just => tasks::just(self, started),
            How::Task => tasks::task(self, started),
            How::Mise => tasks::mise(self, started),
            How::RunParts => tasks::run_parts(self, started),
            How::Git => git::run(self, started),
            How::Unit => unit::run(self, started),
            How::Code(language) => {
                if let Some(printed) = tasks::script_of_code(self, started) {
                    return Some(printed);
                }
                let printed = interpreter::run(self, started, language);
                if !self.files.is_empty() {
                    let command = self.command_of(shell, invocation);
                    self.forget_changed(shell, invocation, &command, started.program);
                }
                printed
            }
            How::Command | How::Joined | How::Typed => {
                return self.outputs_of(started, |this, started| wrapper::run(this, started, runs));
            }
        })
    }

    /// What a program prints that runs another one: a terminal, and all but listed programs, mix its errors into its output.
    fn outputs_of(
        &mut self,
        started: &Started<'_>,
        run: impl FnOnce(&mut Self, &Started<'_>) -> Option<String>,
    ) -> Option<String> {
        let printed = run(self, started)?;
        let is_apart = names::SEPARATING.has(started.usage.program.key) && !asks_for_terminal(started);
        Some(if is_apart { printed } else { self.with_errors(printed) })
    }

    /// The shell that `$SHELL` and `$BASH` name, if the script does not set them.
    pub fn own_shell(&self, name: &str) -> Option<&'static str> {
        let unknown = if is_all_unknown(name) { self.unknowns.only_mark(name)? } else { return None };
        matches!(unknown.source.as_str(), "$SHELL" | "${SHELL}" | "$BASH" | "${BASH}").then_some("bash")
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

/// The call of the handler of unknown programs: the words of the command are its arguments.
fn words_after(invocation: &Invocation) -> Invocation {
    let name = Field::literal("command_not_found_handle");
    invocation.with(std::iter::once(name).chain(invocation.fields.iter().cloned()).collect())
}

/// Whether an option asks for a terminal. Behind the name of a host or container, there may be options, too.
fn asks_for_terminal(started: &Started<'_>) -> bool {
    let Started { usage, texts, .. } = *started;
    let names_place = usage.program.key == "ssh" || names::CONTAINING.has(usage.program.key);
    let mut words = 0;
    let mut own = Scanner::new(texts, usage.rest, &usage.form.valued).take_while(|item| {
        words += usize::from(matches!(item, Item::Positional(_)));
        words <= usize::from(names_place) && !matches!(item, Item::Dashes(_))
    });
    own.any(|item| match item {
        Item::Option(name, value) => {
            let value = value.and_then(|at| texts.get(at.index)?.get(at.offset..)).unwrap_or_default();
            name.is_any(names::MIXING_OPTIONS.0) || value.to_ascii_lowercase().starts_with("requesttty")
        }
        Item::Positional(_) | Item::Dashes(_) => false,
    })
}
