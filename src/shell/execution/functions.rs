//! Calls of functions; a recursion that does not end is cut and repeats.

use std::rc::Rc;

use brush_parser::ast;

use super::invocation::Invocation;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::script::{Construct, Node};
use crate::shell::state::Shell;

/// Calls nested deeper than this are taken for endless.
const DEEPEST_CALLS: usize = 12;

/// More calls than this are not followed: two calls of itself in a function double at every level.
const MOST_CALLS: usize = 512;

impl Evaluator {
    pub fn call(
        &mut self,
        shell: &mut Shell,
        name: &str,
        body: &Rc<ast::FunctionBody>,
        invocation: &Invocation,
    ) -> Ran {
        let args: Vec<String> = invocation.fields.iter().skip(1).map(|field| field.text.clone()).collect();
        let same = self.calls.iter().any(|(called, with)| called == name && *with == args);
        self.called += 1;
        if self.called == MOST_CALLS {
            self.complain("it calls more functions than can be followed");
        }
        if same || self.calls.len() >= DEEPEST_CALLS || self.called > MOST_CALLS {
            self.recursed = true;
            // Left empty: it is where the reading ends.
            self.push(Node::Group(Construct::Call(name.to_owned()), Vec::new()));
            return (self.unknowns.plain(format!("$({name})")), Flow::On);
        }
        self.calls.push((name.to_owned(), args));
        let outer = std::mem::replace(
            &mut shell.args,
            Rc::new(invocation.fields.get(1..).unwrap_or_default().to_vec()),
        );
        let stdin = std::mem::replace(&mut shell.stdin, invocation.stdin.clone());
        let recursed = std::mem::take(&mut self.recursed);
        let ((printed, flow), mut nodes) =
            self.apart(|this| this.redirected(shell, &body.0, body.1.as_ref()));
        if self.recursed {
            repeat(&mut nodes);
        }
        self.recursed |= recursed && !self.calls.is_empty();
        self.calls.pop();
        if self.calls.is_empty() {
            self.recursed = false;
        }
        if !nodes.is_empty() {
            self.push(Node::Group(Construct::Call(name.to_owned()), nodes));
        }
        shell.args = outer;
        shell.stdin = stdin;
        (printed, if flow == Flow::Exit { Flow::Exit } else { Flow::On })
    }
}

/// What an endless recursion does, it does any number of times.
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
