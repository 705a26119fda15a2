//! Lists (`a; b`), chains (`a && b`) and pipelines (`a | b`).

use std::rc::Rc;

use brush_parser::ast;

use super::output::redirect::Redirected;
use super::ways::Ways;
use crate::languages::names::shell as names;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::marks::WRITES;
use crate::shell::script::{Command, Construct, Node, Redirection};
use crate::shell::state::Shell;

impl Evaluator {
    pub fn list(&mut self, shell: &mut Shell, list: &ast::CompoundList) -> Ran {
        self.items(shell, &list.0)
    }

    fn items(&mut self, shell: &mut Shell, items: &[ast::CompoundListItem]) -> Ran {
        let (ran, rest) =
            self.sequence(items, |this, ast::CompoundListItem(and_or, separator)| match separator {
                ast::SeparatorOperator::Sequence => this.and_or(shell, and_or),
                ast::SeparatorOperator::Async => {
                    let mut inner = shell.forked();
                    let (printed, _) = this.apart(|this| {
                        let ran = this.and_or(&mut inner, and_or);
                        this.run_exit_traps(&inner, Some(shell));
                        ran
                    });
                    this.status = None;
                    (printed, Flow::On)
                }
            });
        if !rest.is_empty() {
            self.not_taken(shell, |this, inner| drop(this.items(inner, rest)));
        }
        ran
    }

    /// Runs the parts of a script one after the other, until one of them leaves it. Returns those behind it, too.
    pub fn sequence<'p, T>(
        &mut self,
        parts: &'p [T],
        mut run: impl FnMut(&mut Self, &'p T) -> Ran,
    ) -> (Ran, &'p [T]) {
        let mut printed = String::new();
        let mut rest = parts;
        while let Some((part, behind)) = rest.split_first() {
            if self.exhausted() {
                break;
            }
            rest = behind;
            let (text, flow) = run(self, part);
            printed.push_str(&text);
            if flow != Flow::On {
                return ((printed, flow), rest);
            }
        }
        ((printed, Flow::On), &[])
    }

    /// Runs `a && b || c`. Each part begins with the states in which those before it have succeeded, or failed.
    fn and_or(&mut self, shell: &mut Shell, and_or: &ast::AndOrList) -> Ran {
        let (mut printed, flow) = self.pipeline(shell, &and_or.first);
        if flow != Flow::On || and_or.additional.is_empty() {
            return (printed, flow);
        }
        let mut left = Ways::default();
        let mut succeeded = (self.status != Some(false)).then(|| shell.clone());
        let mut failed = (self.status != Some(true)).then(|| shell.clone());
        for next in &and_or.additional {
            if self.exhausted() {
                break;
            }
            let (start, pipeline, after) = match next {
                ast::AndOr::And(pipeline) => (&mut succeeded, pipeline, None),
                ast::AndOr::Or(pipeline) => (&mut failed, pipeline, Some("or else")),
            };
            let Some(mut state) = start.take() else {
                let state = succeeded.as_ref().or(failed.as_ref()).unwrap_or(shell).clone();
                self.not_taken(&state, |this, inner| drop(this.pipeline(inner, pipeline)));
                continue;
            };
            state.end(after.is_none());
            if let Some(succeeded) = succeeded.as_mut().filter(|_| after.is_some()) {
                succeeded.end(true);
            }
            let files = Rc::clone(&self.files);
            let ran = match after {
                None => self.pipeline(&mut state, pipeline),
                Some(name) => {
                    self.inside(Construct::Branch(name), |this| this.pipeline(&mut state, pipeline))
                }
            };
            // It may not run.
            if succeeded.is_some() || failed.is_some() {
                self.join_files(&files);
            }
            if ran.1 != Flow::On {
                left.add(self, state, ran);
                continue;
            }
            printed.push_str(&ran.0);
            if self.status != Some(false) {
                self.join_into(&mut succeeded, state.clone());
            }
            if self.status != Some(true) {
                self.join_into(&mut failed, state);
            }
        }
        self.status = match (&succeeded, &failed) {
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            _ => None,
        };
        let status = self.status;
        for state in succeeded.into_iter().chain(failed) {
            left.add(self, state, (String::new(), Flow::On));
        }
        let (text, flow) = left.end(self, shell);
        self.status = status;
        printed.push_str(&text);
        (printed, flow)
    }

    fn pipeline(&mut self, shell: &mut Shell, pipeline: &ast::Pipeline) -> Ran {
        if let [only] = pipeline.seq.as_slice() {
            let ran = self.command(shell, only);
            if pipeline.bang {
                self.status = self.status.map(|held| !held);
                if let Some(moved) = &mut shell.moved {
                    let moved = Rc::make_mut(moved);
                    moved.is_negated = !moved.is_negated;
                }
            }
            return ran;
        }
        let last = pipeline.seq.len().saturating_sub(1);
        let printed = self.inside(Construct::Pipeline, |this| {
            let mut flows_on = None;
            for (index, command) in pipeline.seq.iter().enumerate() {
                let mut stage = shell.forked();
                if let Some(text) = flows_on.take() {
                    stage.stdin = Some(text);
                }
                let outer = std::mem::take(&mut this.left_early);
                let sharing = std::mem::take(&mut this.stdin);
                let before = stage.stdin.clone();
                let printed = this.apart(|this| this.command(&mut stage, command).0);
                let early = std::mem::replace(&mut this.left_early, outer);
                let own = std::mem::replace(&mut this.stdin, sharing);
                if index == 0 {
                    this.stdin = this.stdin.max(own);
                    this.note_forked(before.as_deref(), &stage);
                }
                let printed = if index == last || is_printer(&stage, command) {
                    printed
                } else {
                    this.gathered(printed)
                };
                flows_on = Some(if early.is_empty() { printed } else { this.unless_left(printed, early) });
                if index == last && shell.last_pipes {
                    stage.stdin.clone_from(&shell.stdin);
                    this.join(shell, &stage);
                }
            }
            flows_on.unwrap_or_default()
        });
        self.status = None;
        (printed, Flow::On)
    }

    fn command(&mut self, shell: &mut Shell, command: &ast::Command) -> Ran {
        self.spend(1);
        if self.exhausted() {
            return (String::new(), Flow::On);
        }
        if self.depth_reached() {
            self.leave_out(shell, &command.to_string());
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        self.status = None;
        shell.moved = None;
        let ran = match command {
            ast::Command::Simple(simple) => {
                let ran =
                    self.in_each_way(shell, || simple.to_string(), |this, shell| this.simple(shell, simple));
                if !shell.traps.is_empty() {
                    self.run_traps(shell);
                }
                ran
            }
            ast::Command::Compound(compound, redirects) => {
                self.redirected(shell, compound, redirects.as_ref())
            }
            ast::Command::Function(function) => {
                // It replaces the builtin, whose assignments are followed.
                if names::DECLARING.has(&function.fname.value) {
                    self.unread(shell, &function.to_string());
                }
                shell.define(&function.fname.value, Rc::new(function.body.clone()));
                (String::new(), Flow::On)
            }
            ast::Command::ExtendedTest(test, redirects) => {
                let is_redirected = redirects.is_some();
                self.in_each_way(
                    shell,
                    || test.to_string(),
                    |this, shell| {
                        let redirected = this.redirections(shell, redirects.iter().flat_map(|list| &list.0));
                        let holds = this.extended_test(shell, &test.expr);
                        this.status = holds.filter(|_| !is_redirected);
                        (this.behind(&redirected, String::new()), Flow::On)
                    },
                )
            }
        };
        self.depth -= 1;
        if self.is_involved {
            self.status = None;
        }
        ran
    }

    /// Runs a compound command with its redirections.
    pub fn redirected(
        &mut self,
        shell: &mut Shell,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
    ) -> Ran {
        let Some(redirects) = redirects else { return self.compound(shell, compound) };
        let waiting = self.sinks.len();
        let redirected = self.redirections(shell, &redirects.0);
        // If a file cannot be opened, the command does not run.
        let without = may_fail(&redirected).then(|| shell.clone());
        if !redirected.files.is_empty() {
            // A command without words represents the files that are opened.
            let files = redirected.files.clone();
            let command = Command { redirections: files, ..self.command_in(shell) };
            self.push(Node::Command(Box::new(command)));
        }
        let before = shell.stdin.clone();
        if redirected.stdin.is_some() {
            shell.stdin.clone_from(&redirected.stdin);
        }
        let outer = redirected.stdin.is_some().then(|| std::mem::take(&mut self.stdin));
        let (printed, flow) = self.compound(shell, compound);
        let status = self.status;
        shell.stdin = before;
        self.stdin = outer.unwrap_or(self.stdin);
        self.consume(shell, &redirected, false);
        let stored = self.gathered(printed.clone());
        self.store_output(shell, &redirected, &stored);
        self.feed_files(&redirected, &printed);
        self.run_sinks(waiting);
        self.status = status;
        let printed = self.behind(&redirected, printed);
        let flow = self.unless_it_fails(shell, without, flow);
        (printed, flow)
    }
}

/// Whether a command is one program that prints, so that nothing else prints into its output.
fn is_printer(shell: &Shell, command: &ast::Command) -> bool {
    let ast::Command::Simple(simple) = command else { return false };
    let name = simple.word_or_name.as_ref().map_or("", |word| word.value.as_str());
    prints(shell, name) && !simple.to_string().contains(WRITES)
}

/// Whether a text is a pipeline of programs that print.
pub(crate) fn are_printers(shell: &Shell, text: &str) -> bool {
    let is_printer = |stage: &str| prints(shell, stage.split_whitespace().next().unwrap_or_default());
    !text.contains([';', '&', '\n', '(', '{', '`', '>']) && text.split('|').all(is_printer)
}

fn prints(shell: &Shell, name: &str) -> bool {
    (names::PRINTERS.has(name) || names::FILTERS.has(name)) && !shell.functions.contains_key(name)
}

/// Whether a file may not be there, or may not be written.
pub(crate) fn may_fail(redirected: &Redirected) -> bool {
    let is_certain =
        |file: &Redirection| matches!(file.path.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr");
    redirected.copies || !redirected.files.iter().all(is_certain)
}
