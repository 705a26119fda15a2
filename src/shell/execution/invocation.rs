//! A simple command after expansion, and its place in the tree.

use crate::catalogue::program::{How, Part, Program, Runs, Stdin};
use crate::shell::evaluator::Evaluator;
use crate::shell::script::{Command, Construct, Node, Redirection};
use crate::shell::state::Shell;
use crate::shell::text::{Field, Origin, is_known};

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub fields: Vec<Field>,
    pub redirections: Vec<Redirection>,
    pub stdin: Option<String>,
}

impl Invocation {
    /// The same surroundings with other words.
    pub fn with(&self, fields: Vec<Field>) -> Self {
        Self { fields, redirections: Vec::new(), stdin: self.stdin.clone() }
    }

    pub fn word(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|field| field.text.as_str())
    }

    pub fn texts(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.text.as_str()).collect()
    }
}

impl Evaluator {
    /// Keeps a command as a leaf of the tree.
    pub fn leaf(&mut self, shell: &Shell, invocation: &Invocation) {
        let command = self.finished(shell, invocation);
        self.push(Node::Command(Box::new(command)));
    }

    /// The command as it will be read by rules and people.
    pub fn finished(&mut self, shell: &Shell, invocation: &Invocation) -> Command {
        let words = invocation.fields.iter().map(|field| self.unknowns.word(field)).collect();
        let longest =
            if invocation.word(0).and_then(|name| self.catalogue.find(name)).is_some_and(reads_statements) {
                64 * 1024
            } else {
                4096
            };
        let stdin = invocation.stdin.as_ref().filter(|text| text.len() < longest || !is_known(text));
        let stdin =
            stdin.map(|text| self.unknowns.word(&Field { text: text.clone(), origin: Origin::Printed }));
        Command { words, stdin, redirections: invocation.redirections.clone(), ..Self::command_in(shell) }
    }

    /// Collects what a wrapper runs under the wrapper's own command.
    pub fn through(
        &mut self,
        shell: &Shell,
        invocation: &Invocation,
        label: String,
        run: impl FnOnce(&mut Self) -> String,
    ) -> String {
        // The words are copied for every wrapper in a chain.
        self.spend(invocation.fields.len() / 8 * 4);
        let mut command = self.finished(shell, invocation);
        command.through = label;
        let (printed, nodes) = self.apart(run);
        // A wrapper counts even with nothing below it: rules look at its words.
        self.push(Node::Group(Construct::Through(Box::new(command)), nodes));
        printed
    }
}

/// True for programs that do what their standard input states: rules look at all of it.
fn reads_statements(program: &Program) -> bool {
    let code = |runs: Part<Runs>| matches!(runs.how, How::Code(_));
    program.form.stdin == Stdin::Statements || program.form.runs.is_some_and(code)
}
