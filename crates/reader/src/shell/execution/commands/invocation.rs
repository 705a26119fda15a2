//! Simple commands after expansion, and how they enter the tree.

use crate::catalogue::lookup::Usage;
use crate::catalogue::program::{How, Part, Program, Runs, Stdin};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::script::{Command, Construct, Node, Redirection};
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_known};

/// The maximum size of the words of a command.
pub const LONGEST: usize = 256 * 1024;

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub fields: Vec<Field>,
    pub redirections: Vec<Redirection>,
    pub stdin: Option<String>,
    /// Whether its standard input is not redirected.
    pub inherits_stdin: bool,
}

/// A program that is started, with the form that its words use.
pub(crate) struct Started<'a> {
    pub shell: &'a Shell,
    pub invocation: &'a Invocation,
    /// Its name without a folder.
    pub program: &'a str,
    pub usage: &'a Usage,
    /// Its words.
    pub texts: &'a [&'a str],
}

impl Invocation {
    /// An invocation without redirections.
    pub fn of(fields: Vec<Field>, stdin: Option<String>) -> Self {
        Self { fields, redirections: Vec::new(), stdin, inherits_stdin: true }
    }

    /// An invocation of other words with this standard input and without redirections.
    pub fn with(&self, fields: Vec<Field>) -> Self {
        Self { fields, redirections: Vec::new(), ..self.clone() }
    }

    /// Whether it reads from the standard input of its shell.
    pub fn shares_stdin(&self, shell: &Shell) -> bool {
        self.inherits_stdin && self.stdin == shell.stdin
    }

    pub fn word(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|field| field.text.as_str())
    }

    /// The words after the name.
    pub fn args(&self) -> std::slice::Iter<'_, Field> {
        self.from(1).iter()
    }

    /// The words from an index on.
    pub fn from(&self, index: usize) -> &[Field] {
        self.fields.get(index..).unwrap_or_default()
    }

    /// The number of bytes of its words.
    pub fn size(&self) -> usize {
        self.fields.iter().map(|field| field.text.len()).sum()
    }

    pub fn texts(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.text.as_str()).collect()
    }
}

impl Evaluator {
    /// Adds a command to the tree.
    pub fn leaf(&mut self, shell: &Shell, invocation: &Invocation) {
        let command = self.command_of(shell, invocation);
        self.push(Node::Command(Box::new(command)));
    }

    /// Converts an invocation into a command of the tree.
    pub fn command_of(&mut self, shell: &Shell, invocation: &Invocation) -> Command {
        let words = if invocation.size() > LONGEST {
            self.complain(Complaint::ManyWords);
            let any = Field::computed(self.unknowns.foreign("$(computed …)".to_owned()));
            let name = invocation.fields.iter().take(1).filter(|name| name.text.len() <= LONGEST);
            name.chain([&any]).map(|field| self.unknowns.word(field)).collect()
        } else {
            invocation.fields.iter().map(|field| self.unknowns.word(field)).collect()
        };
        let longest =
            if invocation.word(0).and_then(|name| self.catalogue.find(name)).is_some_and(reads_statements) {
                64 * 1024
            } else {
                4096
            };
        let stdin = invocation.stdin.as_ref().filter(|text| text.len() < longest || !is_known(text));
        let stdin = stdin.map(|text| self.unknowns.word(&Field::computed(text.clone())));
        Command { words, stdin, redirections: invocation.redirections.clone(), ..self.command_in(shell) }
    }

    /// Adds a wrapper to the tree, with the nodes that `run` finds below it, and returns the result of `run`.
    pub fn through<T>(
        &mut self,
        shell: &Shell,
        invocation: &Invocation,
        label: impl Into<String>,
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        // A chain of wrappers copies the words once for each of them.
        self.spend(invocation.fields.len() / 8 * 4);
        let mut command = self.command_of(shell, invocation);
        command.through = label.into();
        let (printed, nodes) = self.collected(run);
        // A wrapper is added even without nodes below it: rules match its words.
        self.push(Node::Group(Construct::Through(Box::new(command)), nodes));
        printed
    }
}

/// True for programs that run their standard input, all of which rules have to see.
fn reads_statements(program: &Program) -> bool {
    let code = |runs: Part<Runs>| matches!(runs.how, How::Code(_));
    program.form.stdin == Stdin::Statements || program.form.runs.is_some_and(code)
}
