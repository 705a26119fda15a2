//! Function calls. A recursion is followed once and marked as repeating.

use std::rc::Rc;

use brush_parser::ast;

use super::invocation::Invocation;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::script::{Construct, Node};
use crate::shell::shared::Shared;
use crate::shell::state::{Shell, Value};
use crate::shell::text::Origin;
use crate::shell::{Command, Complaint};

/// Maximum nesting of calls; deeper ones are not followed.
const DEEPEST_CALLS: usize = 16;

/// Maximum number of calls in one reading: a function that calls itself twice doubles them at every level.
const MOST_CALLS: usize = 512;

impl Evaluator {
    /// Whether a function is in progress in this shell.
    pub fn is_in_function(&self, shell: &Shell) -> bool {
        shell.in_function && !self.calls.is_empty()
    }

    /// Calls a function. Behind the first level of a recursion other values decide than on it: there, both ways are read.
    pub fn call(
        &mut self,
        shell: &mut Shell,
        name: &str,
        body: &Rc<ast::FunctionBody>,
        invocation: &Invocation,
    ) -> Ran {
        if self.is_involved {
            return self.call_once(shell, name, body, invocation);
        }
        let (before, files) = (shell.clone(), Rc::clone(&self.files));
        let (waiting, trapped) = (self.sinks.len(), self.trapped.len());
        let (ran, nodes) = self.collected(|this| this.call_once(shell, name, body, invocation));
        if self.is_involved {
            (*shell, self.files) = (before, files);
            self.sinks.truncate(waiting);
            self.trapped.truncate(trapped);
            return self.call_once(shell, name, body, invocation);
        }
        for node in nodes {
            self.push(node);
        }
        ran
    }

    fn call_once(
        &mut self,
        shell: &mut Shell,
        name: &str,
        body: &Rc<ast::FunctionBody>,
        invocation: &Invocation,
    ) -> Ran {
        if !invocation.redirections.is_empty() {
            let redirections = invocation.redirections.clone();
            let command = Command { redirections, ..self.command_in(shell) };
            self.push(Node::Command(Box::new(command)));
        }
        let args: Vec<String> = invocation.args().map(|field| field.text.clone()).collect();
        // A function may have defined another one with its own name.
        let identity = Rc::as_ptr(body) as usize;
        let is_same = |(called, with, of): &(String, Vec<String>, usize)| {
            called == name && *with == args && *of == identity
        };
        let same = self.calls.iter().any(is_same);
        self.call_count += 1;
        let beyond = self.calls.len() >= DEEPEST_CALLS || self.call_count > MOST_CALLS;
        if beyond && !self.is_idle {
            self.complain(Complaint::ManyCalls);
            let words = invocation.texts().join(" ");
            self.leave_out(shell, &words);
        }
        let is_in_progress = self.is_idle && self.calls.iter().any(|(called, ..)| called == name);
        if same || beyond || is_in_progress {
            self.recursed = true;
            self.is_involved |= same;
            // An empty group: the call is not followed.
            self.push(Node::Group(Construct::Call(name.to_owned()), Vec::new()));
            return (self.unknowns.foreign(format!("$({name})")), Flow::On);
        }
        self.calls.push((name.to_owned(), args, identity));
        let outer = (shell.args.clone(), shell.args_unknown, shell.args_choices.clone());
        self.name_calls(shell);
        shell.set_args(Some(Shared::new(invocation.from(1).to_vec())));
        // What a function reads from the input that it shares with its caller is gone for both.
        let inherits = invocation.shares_stdin(shell);
        let stdin = std::mem::replace(&mut shell.stdin, invocation.stdin.clone());
        self.scopes.push(std::mem::take(&mut shell.locals));
        let (in_function, in_loop) = (shell.in_function, shell.in_loop);
        (shell.in_function, shell.in_loop) = (true, false);
        let recursed = std::mem::take(&mut self.recursed);
        self.leaving.lines.push(None);
        let ((printed, flow), mut nodes) = self.collected(|this| {
            this.until_return(shell, |this, shell| this.redirected(shell, &body.0, body.1.as_ref()))
        });
        if self.recursed {
            repeat(&mut nodes);
        }
        self.recursed |= recursed && !self.calls.is_empty();
        self.calls.pop();
        let is_outermost = self.calls.is_empty();
        if self.calls.is_empty() {
            self.recursed = false;
        }
        if !nodes.is_empty() {
            self.push(Node::Group(Construct::Call(name.to_owned()), nodes));
        }
        let mut failed = self.leaving.lines.pop().flatten();
        let locals = self.scopes.pop().unwrap_or_default();
        for shell in std::iter::once(&mut *shell).chain(failed.as_mut()) {
            let mut with_more = shell.locals.values().any(|local| !local.is_certain).then(|| shell.clone());
            shell.end_locals(false);
            if let Some(with_more) = &mut with_more {
                with_more.end_locals(true);
                self.join(shell, with_more);
            }
            shell.locals = locals.clone();
            if is_outermost {
                shell.take("FUNCNAME");
            } else {
                self.name_calls(shell);
            }
            (shell.in_function, shell.in_loop) = (in_function, in_loop);
            (shell.args, shell.args_unknown, shell.args_choices) = outer.clone();
            if !inherits {
                shell.stdin.clone_from(&stdin);
            }
        }
        if let Some(failed) = failed {
            self.may_fail(&failed);
        }
        self.status = None;
        (printed, if flow == Flow::Exit { Flow::Exit } else { Flow::On })
    }
}

impl Evaluator {
    /// States the functions in progress, the innermost first, in `FUNCNAME`.
    fn name_calls(&mut self, shell: &mut Shell) {
        let names = self.calls.iter().rev().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
        let names = names.into_iter().chain([self.unknowns.plain("main")]);
        let items = names.enumerate().map(|(at, name)| (at.to_string(), name)).collect();
        shell.set("FUNCNAME", Value::Array(items), Origin::Literal);
    }
}

/// Marks all commands in `nodes` as repeating.
fn repeat(nodes: &mut [Node]) {
    for node in nodes {
        match node {
            Node::Group(construct, children) => {
                if let Construct::Through(command) = construct {
                    command.repeats = true;
                }
                repeat(children);
            }
            Node::Command(command) => command.repeats = true,
            Node::Unread(unread) => unread.repeats = true,
        }
    }
}
