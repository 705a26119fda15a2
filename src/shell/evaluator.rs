//! One reading of a text: what was found so far, and what the reading may still cost.
//!
//! The files above add to [`Evaluator`] what walks the grammar's tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grammar::here::{HereDocument, restore};
use super::script::{Command, Construct, Node, Script, Unread};
use super::state::Shell;
use super::text::Unknowns;
use crate::catalogue::Catalogue;

/// Scripts inside scripts, calls and wrappers deeper than this are not followed.
const DEEPEST: usize = 40;
/// Work beyond this, about one unit a command or 64 bytes, is not done: an expansion bomb.
const MOST_WORK: usize = 14_000;
/// Script text beyond this, counted again at every level at which it is read, is not read.
const MOST_TEXT: usize = 200 * 1024;

/// Where the flow goes after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Break,
    Continue,
    Return,
    Exit,
}

/// What a part of a script printed, and where the flow goes.
pub(crate) type Ran = (String, Flow);

/// One reading: what was found so far and what it may still cost.
#[derive(Default)]
pub(crate) struct Evaluator {
    /// The programs that are known.
    pub catalogue: Catalogue,
    pub unknowns: Unknowns,
    pub depth: usize,
    /// Here-documents, by the numbers that stand for them in texts.
    pub documents: Vec<HereDocument>,
    /// Texts of files that the script writes and may run, by host and path.
    pub files: BTreeMap<String, String>,
    nodes: Vec<Vec<Node>>,
    complaints: Vec<String>,
    work: usize,
    text: usize,
    /// Functions being called, with their arguments.
    pub calls: Vec<(String, Vec<String>)>,
    /// How many calls there were.
    pub called: usize,
    /// Set when a call was not followed because the same one is under way.
    pub recursed: bool,
}

impl Evaluator {
    pub fn new(catalogue: Catalogue) -> Self {
        Self { catalogue, nodes: vec![Vec::new()], ..Self::default() }
    }

    /// The tree and the complaints, at the end of the reading.
    pub fn into_script(mut self) -> Script {
        Script {
            nodes: self.nodes.pop().unwrap_or_default(),
            complaints: self.complaints,
            catalogue: self.catalogue,
        }
    }

    pub fn complain(&mut self, complaint: impl Into<String>) {
        let complaint = complaint.into();
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

    /// Counts text that is read as a script; false when it is more than is read.
    pub fn admits_text(&mut self, len: usize) -> bool {
        self.text = self.text.saturating_add(len);
        self.text <= MOST_TEXT
    }

    pub fn depth_reached(&mut self) -> bool {
        let reached = self.depth >= DEEPEST;
        if reached {
            self.complain("it nests too deeply");
        }
        reached
    }

    pub fn push(&mut self, node: Node) {
        if let Some(nodes) = self.nodes.last_mut() {
            nodes.push(node);
        }
    }

    /// Collects what `run` finds under a construct of its own; nothing found leaves no trace.
    pub fn inside<T>(&mut self, construct: Construct, run: impl FnOnce(&mut Self) -> T) -> T {
        let (result, nodes) = self.apart(run);
        if !nodes.is_empty() {
            self.push(Node::Group(construct, nodes));
        }
        result
    }

    /// Runs and hands back what was found instead of keeping it.
    pub fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (T, Vec<Node>) {
        self.nodes.push(Vec::new());
        let result = run(self);
        (result, self.nodes.pop().unwrap_or_default())
    }

    /// A command with the surroundings that the shell gives it.
    pub fn command_in(shell: &Shell) -> Command {
        Command {
            hosts: Arc::clone(&shell.hosts),
            via: Arc::clone(&shell.via),
            cwd: shell.cwd.clone(),
            env: Arc::clone(&shell.env),
            repeats: shell.repeats,
            ..Command::default()
        }
    }

    /// Keeps a text that would run and could not be read.
    pub fn unread(&mut self, shell: &Shell, text: &str) {
        self.unread_text(shell, text, false);
    }

    /// Keeps what makes a text that would run and is not known.
    pub fn unread_maker(&mut self, shell: &Shell, text: &str) {
        self.unread_text(shell, text, true);
    }

    fn unread_text(&mut self, shell: &Shell, text: &str, maker: bool) {
        let text = restore(&self.unknowns.show(text), &self.documents);
        self.push(Node::Unread(Unread {
            text,
            maker,
            hosts: Arc::clone(&shell.hosts),
            via: Arc::clone(&shell.via),
            cwd: shell.cwd.clone(),
            repeats: shell.repeats,
        }));
    }
}
