//! The state of one reading: the commands found, the complaints, and the limits on depth and work.
//!
//! The methods that walk the syntax tree are in `expansion`, `execution` and `programs`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use brush_parser::ast;

use super::grammar::here::{HereDocument, restore};
use super::leaving::Leaving;
use super::on_disk::OnDisk;
use super::programs::code::reading::Reading;
use super::script::{Command, Construct, Environment, Node, Script, Unread};
use super::shared::Shared;
use super::state::{ALWAYS_SET, Local, MOST_MISSED, Shell, Sink, Value, Variable};
use super::text::{Field, Origin, Unknowns};
use crate::catalogue::Catalogue;
use crate::catalogue::program::Language;
use crate::shell::Complaint;

/// Maximum nesting of scripts, function calls and wrappers; deeper ones are kept as unread text.
const DEEPEST: usize = 40;
/// Upper bound on work, in units of about one command or 64 bytes of text; an expansion bomb exceeds it.
const MOST_WORK: usize = 9_000;
/// Upper bound on script text in bytes; a text nested in another counts at both levels.
const MOST_TEXT: usize = 200 * 1024;

/// Maximum number of functions that are read as text because a text that is not followed may call them.
const MOST_LEFT_OUT: usize = 256;

/// Upper bound on exported variables passed to commands.
const MOST_EXPORTED: usize = 256;

/// How control flow continues after a command.
/// In the order of how much is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Flow {
    #[default]
    On,
    Continue,
    Break,
    Return,
    Exit,
}

/// Whether other commands than `read` have read from a standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Sharing {
    #[default]
    Alone,
    /// A program has run that may have read from it.
    Possible,
    /// A filter has, to its end.
    Certain,
    /// A subshell or a filter has, and may have left the rest.
    Partial,
}

/// The output of a part of a script, and how control flow continues after it.
pub(crate) type Ran = (String, Flow);

/// The state of one reading.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub(crate) struct Evaluator {
    /// The known programs.
    pub catalogue: Catalogue,
    pub unknowns: Unknowns,
    pub depth: usize,
    /// Here-documents, at the indexes that replace them in the text.
    pub documents: Vec<HereDocument>,
    /// Contents of files that the script writes, by host and path.
    pub files: Rc<BTreeMap<String, String>>,
    /// Files and folders that have two names.
    pub links: Vec<(String, String)>,
    /// The files that get errors, or have a number.
    pub shared_files: BTreeSet<String>,
    /// The disk of this machine, and what was read from it.
    pub on_disk: OnDisk,
    /// Commands that wait for their input.
    pub sinks: Vec<Sink>,
    /// Whether the last command succeeded; `None` where that is not certain.
    pub status: Option<bool>,
    /// The states with which ways leave the parts in progress.
    pub leaving: Leaving,
    /// What was printed on ways that leave a part early while others go on.
    pub left_early: Vec<String>,
    /// What the traps of this shell run, and how many are followed at the moment.
    pub trapped: Vec<Vec<Node>>,
    pub traps_around: usize,
    nodes: Vec<Vec<Node>>,
    /// The exported variables of the last command, and what they are as words.
    environment: (Vec<Rc<Variable>>, Arc<Environment>),
    pub complaints: Vec<Complaint>,
    work: usize,
    text: usize,
    /// The function calls in progress, outermost first, with their arguments and the identity of the body.
    pub calls: Vec<(String, Vec<String>, usize)>,
    /// What the callers of the function in progress have made local, outermost first.
    pub scopes: Vec<Shared<BTreeMap<String, Local>>>,
    /// Whether a text that was expanded since this was reset is [`Origin::Computed`].
    pub is_computed: bool,
    /// Whether a text asks for the last word of the command before: `$_`.
    pub asks_for_last_word: bool,
    /// The script uses what the reader follows well enough for what may run, but not for what does not.
    pub is_involved: bool,
    /// The script has descriptors, traps or the like, by which a part of it prints more than the reader knows.
    pub leaks: bool,
    /// It reads a part that does not run.
    pub is_idle: bool,
    /// The script sends signals.
    pub signals: bool,
    /// Whether another command has read from the standard input of the part in progress.
    pub stdin: Sharing,
    /// Whether the last line that `read` has read was complete. It fails for any other one, though it sets its variables.
    pub has_whole_line: bool,
    /// Function calls so far.
    pub call_count: usize,
    /// Command substitutions so far.
    pub substitutions: usize,
    /// Functions that are read as text.
    left_out: Vec<Rc<ast::FunctionBody>>,
    /// The programs of the texts that were parsed.
    pub programs: BTreeMap<String, Rc<ast::Program>>,
    /// The readings of pieces of code.
    pub code: Vec<(Language, String, Rc<Reading>)>,
    /// The folder from which the code of a file loads modules, until the code is read.
    pub code_folder: Option<String>,
    /// True after a call was not followed because it recurses.
    pub recursed: bool,
}

impl Evaluator {
    pub fn new(catalogue: Catalogue) -> Self {
        Self { catalogue, nodes: vec![Vec::new()], ..Self::default() }
    }

    /// Ends the reading.
    pub fn into_script(mut self) -> Script {
        Script {
            nodes: self.nodes.pop().unwrap_or_default(),
            complaints: self.complaints,
            cwd: None,
            has_doubtful_file: self.on_disk.is_doubtful,
            looks_at_files: !self.on_disk.read.is_empty(),
            files: self.on_disk.reached,
            catalogue: self.catalogue,
        }
    }

    pub fn complain(&mut self, complaint: Complaint) {
        if self.complaints.len() < 32 && !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    pub fn spend(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
    }

    pub fn exhausted(&self) -> bool {
        self.work > MOST_WORK
    }

    /// Counts `len` bytes of script text; false when [`MOST_TEXT`] is exceeded.
    pub fn admits_text(&mut self, len: usize) -> bool {
        self.text = self.text.saturating_add(len);
        self.text <= MOST_TEXT
    }

    pub fn depth_reached(&mut self) -> bool {
        let reached = self.depth >= DEEPEST;
        if reached {
            self.complain(Complaint::Deep);
        }
        reached
    }

    pub fn push(&mut self, node: Node) {
        if let Some(nodes) = self.nodes.last_mut() {
            nodes.push(node);
        }
    }

    /// States of the last node, a wrapper, that its program is a script whose text stands below it.
    pub fn mark_script(&mut self) {
        if let Some(Node::Group(Construct::Through(command), _)) =
            self.nodes.last_mut().and_then(|nodes| nodes.last_mut())
        {
            command.is_script = true;
        }
    }

    /// Groups the nodes that `run` finds under `construct`; without nodes there is no group.
    pub fn inside<T>(&mut self, construct: Construct, run: impl FnOnce(&mut Self) -> T) -> T {
        let (result, nodes) = self.collected(run);
        if !nodes.is_empty() {
            self.push(Node::Group(construct, nodes));
        }
        result
    }

    /// Returns the nodes that `run` finds instead of adding them to the tree.
    pub fn collected<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (T, Vec<Node>) {
        self.nodes.push(Vec::new());
        let result = run(self);
        (result, self.nodes.pop().unwrap_or_default())
    }

    /// The output of several runs, as far as the limit on work allows.
    pub fn each<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut run: impl FnMut(&mut Self, T) -> String,
    ) -> String {
        let mut printed = String::new();
        for item in items {
            if self.exhausted() {
                break;
            }
            printed.push_str(&run(self, item));
        }
        printed
    }

    /// Whether a node that was found so far meets a condition.
    pub fn has_node<'n>(&'n self, mut is: impl FnMut(&'n Node) -> bool) -> bool {
        let mut left: Vec<&Node> = self.nodes.iter().flatten().collect();
        while let Some(node) = left.pop() {
            if is(node) {
                return true;
            }
            if let Node::Group(_, children) = node {
                left.extend(children);
            }
        }
        false
    }

    /// A command without words, with the host, directory and environment of the shell.
    pub fn command_in(&mut self, shell: &Shell) -> Command {
        let mut missed = Arc::clone(&shell.missed);
        if !shell.folders.is_empty() {
            Arc::make_mut(&mut missed).extend(shell.folders.iter().cloned());
        }
        if missed.len() > MOST_MISSED {
            self.complain(Complaint::ManyFolders);
        }
        let env = self.environment(shell);
        // Each command is judged by each of its variables.
        self.spend(env.len() / 8);
        Command {
            hosts: Arc::clone(&shell.hosts),
            via: Arc::clone(&shell.via),
            cwd: shell.cwd.clone(),
            missed,
            env,
            is_elsewhere: shell.is_elsewhere,
            repeats: shell.repeats,
            ..Command::default()
        }
    }

    /// The exported variables, as commands get them.
    fn environment(&mut self, shell: &Shell) -> Arc<Environment> {
        let is_always = |name: &str| ALWAYS_SET.contains(&name);
        // A local variable without a value hides none of its caller from commands.
        let passed = |(name, own): (&'_ Rc<str>, &'_ Rc<Variable>)| {
            let local = shell.locals.get(&**name).filter(|_| own.value == Value::Unset);
            let variable = local.map_or(Some(own), |local| local.variable.as_ref())?;
            let is_passed = is_always(name) || variable.exported && variable.value != Value::Unset;
            is_passed.then(|| (Rc::clone(name), Rc::clone(variable)))
        };
        let exported = || shell.variables.iter().filter_map(passed);
        if !exported().map(|(_, variable)| Rc::as_ptr(&variable)).eq(self
            .environment
            .0
            .iter()
            .map(Rc::as_ptr))
        {
            if exported().count() > MOST_EXPORTED {
                self.complain(Complaint::ManyValues);
            }
            let kept =
                exported().enumerate().filter(|(at, (name, _))| *at < MOST_EXPORTED || is_always(name));
            let words = kept.map(|(_, (name, variable))| {
                let field =
                    Field { text: variable.value.text(), origin: Origin::Assigned, ..Field::default() };
                Arc::new((name.to_string(), self.unknowns.word(&field)))
            });
            let words = Arc::new(words.collect());
            self.environment = (exported().map(|(_, variable)| variable).collect(), words);
        }
        Arc::clone(&self.environment.1)
    }

    /// Adds a text that would run but cannot be read.
    pub fn unread(&mut self, shell: &Shell, text: &str) {
        self.unread_text(shell, text, false);
    }

    /// Adds a text that is not followed because it exceeds a limit. It may call any of the functions.
    pub fn leave_out(&mut self, shell: &Shell, text: &str) {
        self.unread(shell, text);
        for body in shell.functions.values() {
            let is_new = !self.left_out.iter().any(|seen| Rc::ptr_eq(seen, body));
            if is_new && self.left_out.len() < MOST_LEFT_OUT {
                self.left_out.push(Rc::clone(body));
                self.unread(shell, &body.to_string());
            }
        }
    }

    /// Whether a word of the text is the name of a program that acts.
    pub fn mentions_action(&self, text: &str) -> bool {
        let between = |c: char| c.is_whitespace() || "\"'`;|&()".contains(c);
        text.split(between).any(|word| self.catalogue.find(word).is_some_and(|program| program.acts))
    }

    /// Adds a text that would run; `maker` is true for the command whose unknown output would run.
    pub fn unread_text(&mut self, shell: &Shell, text: &str, maker: bool) {
        let text = restore(&self.unknowns.show(text), &self.documents);
        let command = self.command_in(shell);
        let unread = Node::Unread(Unread { text, maker, ..(&command).into() });
        // Each word of a command may be the reason why it is not read.
        if self.nodes.last().and_then(|nodes| nodes.last()) != Some(&unread) {
            self.push(unread);
        }
    }
}
