//! Walks the grammar's tree the way a shell would, without running anything.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brush_parser::ast;

use super::lift::{HereDocument, restore};
use super::script::{Command, Construct, Node, Script, Unread};
use super::state::{Shell, Value};
use super::text::{Origin, Unknown, Unknowns, is_known, without_marks};

/// Scripts inside scripts, calls and wrappers deeper than this are not followed.
const DEEPEST: usize = 40;
/// Work beyond this, about one unit a command or 64 bytes, is not done: an expansion bomb.
const MOST_WORK: usize = 14_000;
/// Tries to find statements in a text that cannot be read as a whole.
const MOST_SALVAGES: usize = 48;
/// Lines that such a statement may have.
const LONGEST_STATEMENT: usize = 12;
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

/// One reading: what was found so far and what it may still cost.
pub(crate) struct Evaluator {
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

/// What a part of a script printed, and where the flow goes.
pub(crate) type Ran = (String, Flow);

/// Reads a text as the shell would. `cwd` is where it would start.
pub fn read(text: &str, cwd: Option<&str>) -> Script {
    let text = without_marks(text);
    let mut evaluator = Evaluator {
        unknowns: Unknowns::default(),
        depth: 0,
        documents: Vec::new(),
        files: BTreeMap::new(),
        nodes: vec![Vec::new()],
        complaints: Vec::new(),
        work: 0,
        text: 0,
        calls: Vec::new(),
        called: 0,
        recursed: false,
    };
    let mut shell = Shell { cwd: cwd.map(str::to_owned), args_unknown: true, ..Shell::default() };
    // The client's shell expands aliases, although it is not interactive.
    shell.aliases.enabled = true;
    evaluator.run_text(&mut shell, &text);
    if evaluator.exhausted() {
        evaluator.complain("it does more than can be followed");
        evaluator.unread(&shell, &text);
    }
    let nodes = evaluator.nodes.pop().unwrap_or_default();
    Script { nodes, complaints: evaluator.complaints }
}

impl Evaluator {
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
    fn unread_maker(&mut self, shell: &Shell, text: &str) {
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

    /// Runs a text as a script in the given shell and returns what it prints.
    pub fn run_text(&mut self, shell: &mut Shell, text: &str) -> String {
        self.run_script(shell, text).0
    }

    pub fn run_script(&mut self, shell: &mut Shell, text: &str) -> Ran {
        if text.trim().is_empty() || self.exhausted() {
            return (String::new(), Flow::On);
        }
        if self.unknowns.only_mark(text).is_some() {
            let shown = self.unknowns.show(text.trim());
            self.complain(format!("what `{}` runs is not known", short(&shown)));
            let made_from = self.unknowns.only_mark(text).and_then(|unknown| unknown.made_from.clone());
            if let Some(text) = made_from {
                self.unread(shell, &text);
            }
            self.unread_maker(shell, text);
            return (self.unknowns.plain(shown), Flow::On);
        }
        self.spend(1);
        self.text = self.text.saturating_add(text.len());
        if self.depth_reached() || self.text > MOST_TEXT {
            self.complain("it holds more text than can be followed");
            self.unread(shell, text);
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let ran = match super::parse::parse(text, &mut self.documents) {
            Ok(program) => {
                let mut printed = String::new();
                let mut flow = Flow::On;
                for list in &program.complete_commands {
                    shell.aliases.active = Rc::clone(&shell.aliases.defined);
                    let (text, next) = self.list(shell, list);
                    printed.push_str(&text);
                    flow = next;
                    if flow != Flow::On {
                        break;
                    }
                }
                (printed, flow)
            }
            Err(problem) => {
                let shown = self.unknowns.show(text);
                self.complain(format!("cannot read `{}`: {problem}", short(&shown)));
                self.salvage(shell, text);
                (self.unknowns.plain("…"), Flow::On)
            }
        };
        self.depth -= 1;
        ran
    }

    /// Reads the lines of a broken text that can be read by themselves, and keeps the others.
    fn salvage(&mut self, shell: &mut Shell, text: &str) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut from = 0;
        let mut left = MOST_SALVAGES;
        while from < lines.len() {
            let most = lines.len().min(from + LONGEST_STATEMENT);
            let whole = (from + 1..=most).filter(|upto| *upto - from < lines.len()).find_map(|upto| {
                let statement: String = lines.get(from..upto)?.concat();
                left = left.checked_sub(1)?;
                super::parse::parse(&statement, &mut self.documents).is_ok().then_some((upto, statement))
            });
            match whole {
                Some((upto, statement)) => {
                    self.run_script(shell, &statement);
                    from = upto;
                }
                None if left == 0 || lines.len() == 1 => break,
                None => {
                    self.unread(shell, lines.get(from).copied().unwrap_or_default());
                    from += 1;
                }
            }
        }
        let rest: String = lines.get(from..).unwrap_or_default().concat();
        if !rest.trim().is_empty() {
            self.unread(shell, &rest);
        }
    }

    pub fn list(&mut self, shell: &mut Shell, list: &ast::CompoundList) -> Ran {
        let mut printed = String::new();
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            if self.exhausted() {
                break;
            }
            let (text, flow) = match separator {
                ast::SeparatorOperator::Sequence => self.and_or(shell, and_or),
                ast::SeparatorOperator::Async => (self.and_or(&mut shell.clone(), and_or).0, Flow::On),
            };
            printed.push_str(&text);
            if flow != Flow::On {
                return (printed, flow);
            }
        }
        (printed, Flow::On)
    }

    fn and_or(&mut self, shell: &mut Shell, and_or: &ast::AndOrList) -> Ran {
        let (mut printed, flow) = self.pipeline(shell, &and_or.first);
        if flow != Flow::On {
            return (printed, flow);
        }
        for next in &and_or.additional {
            if self.exhausted() {
                break;
            }
            let mut branch = shell.clone();
            match next {
                ast::AndOr::And(pipeline) => {
                    let (text, flow) = self.pipeline(&mut branch, pipeline);
                    printed.push_str(&text);
                    if flow == Flow::On {
                        let cwd = branch.cwd.clone();
                        self.merge(shell, vec![branch]);
                        // The usual chain succeeds: `cd there && …`.
                        shell.cwd = cwd;
                    }
                }
                ast::AndOr::Or(pipeline) => {
                    let (text, flow) = self
                        .inside(Construct::Branch("or else"), |this| this.pipeline(&mut branch, pipeline));
                    printed.push_str(&text);
                    if flow == Flow::On {
                        branch.cwd.clone_from(&shell.cwd);
                        self.merge(shell, vec![branch]);
                    }
                }
            }
        }
        (printed, Flow::On)
    }

    fn pipeline(&mut self, shell: &mut Shell, pipeline: &ast::Pipeline) -> Ran {
        if let [only] = pipeline.seq.as_slice() {
            return self.command(shell, only);
        }
        let printed = self.inside(Construct::Pipeline, |this| {
            let mut flows_on = None;
            for command in &pipeline.seq {
                let mut stage = shell.clone();
                if let Some(text) = flows_on.take() {
                    stage.stdin = Some(text);
                }
                flows_on = Some(this.command(&mut stage, command).0);
            }
            flows_on.unwrap_or_default()
        });
        (printed, Flow::On)
    }

    fn command(&mut self, shell: &mut Shell, command: &ast::Command) -> Ran {
        self.spend(1);
        if self.exhausted() {
            return (String::new(), Flow::On);
        }
        if self.depth_reached() {
            self.unread(shell, &command.to_string());
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let ran = match command {
            ast::Command::Simple(simple) => self.simple(shell, simple),
            ast::Command::Compound(compound, redirects) => {
                self.redirected(shell, compound, redirects.as_ref())
            }
            ast::Command::Function(function) => {
                let name = function.fname.value.clone();
                Rc::make_mut(&mut shell.functions).insert(name, Rc::new(function.body.clone()));
                (String::new(), Flow::On)
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirections(shell, redirects.iter().flat_map(|list| &list.0));
                self.extended_test(shell, &test.expr);
                (String::new(), Flow::On)
            }
        };
        self.depth -= 1;
        ran
    }

    /// A test runs nothing itself, but its words may hold command substitutions.
    fn extended_test(&mut self, shell: &mut Shell, test: &ast::ExtendedTestExpr) {
        match test {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.extended_test(shell, left);
                self.extended_test(shell, right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.extended_test(shell, inner);
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.text(shell, &word.value);
            }
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.text(shell, &left.value);
                self.text(shell, &right.value);
            }
        }
    }

    /// A compound command with its redirections.
    pub fn redirected(
        &mut self,
        shell: &mut Shell,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
    ) -> Ran {
        let Some(redirects) = redirects else { return self.compound(shell, compound) };
        let redirected = self.redirections(shell, &redirects.0);
        if !redirected.files.is_empty() {
            // The files that are opened for all of it, as a command without words.
            let files = redirected.files.clone();
            self.push(Node::Command(Box::new(Command { redirections: files, ..Self::command_in(shell) })));
        }
        let before = shell.stdin.clone();
        if redirected.stdin.is_some() {
            shell.stdin.clone_from(&redirected.stdin);
        }
        let (printed, flow) = self.compound(shell, compound);
        shell.stdin = before;
        self.written(shell, &redirected, &printed);
        (if redirected.silent { String::new() } else { printed }, flow)
    }

    /// After branches: what differs between them may be any of it.
    pub fn merge(&mut self, shell: &mut Shell, branches: Vec<Shell>) {
        for branch in branches {
            if !Rc::ptr_eq(&branch.variables, &shell.variables) {
                self.merge_variables(shell, &branch);
            }
            if !Rc::ptr_eq(&branch.functions, &shell.functions) {
                let functions = Rc::make_mut(&mut shell.functions);
                for (name, body) in branch.functions.iter() {
                    functions.insert(name.clone(), Rc::clone(body));
                }
            }
            if branch.cwd != shell.cwd {
                shell.cwd = None;
            }
            if shell.env != branch.env {
                shell.env = branch.env;
            }
            if shell.args.is_empty() {
                shell.args = branch.args;
            }
        }
    }

    fn merge_variables(&mut self, shell: &mut Shell, branch: &Shell) {
        self.spend(1 + branch.variables.len() / 16);
        for (name, theirs) in branch.variables.iter() {
            let merged = match shell.get(name) {
                Some(ours) if ours == theirs => continue,
                // Set in one branch only: `[ -n "$X" ] || X=default`.
                None => theirs.value.clone(),
                Some(ours) => {
                    let mut candidates = self.candidates(&ours.value);
                    for candidate in self.candidates(&theirs.value) {
                        if !candidates.contains(&candidate) {
                            candidates.push(candidate);
                        }
                    }
                    let known = candidates.iter().all(|text| is_known(text)) && candidates.len() <= 8;
                    let unknown = Unknown {
                        source: format!("${name}"),
                        candidates: if known { candidates } else { Vec::new() },
                        ..Unknown::default()
                    };
                    Value::Scalar(self.unknowns.mark(unknown))
                }
            };
            let exported = theirs.exported;
            shell.set(name, merged, Origin::Assigned);
            if exported {
                shell.export(name);
            }
        }
    }

    /// The texts that a value can be.
    fn candidates(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Unset => vec![String::new()],
            Value::Scalar(text) => match self.unknowns.only_mark(text) {
                Some(unknown) if !unknown.candidates.is_empty() => unknown.candidates.clone(),
                _ => vec![text.clone()],
            },
            Value::Array(items) => {
                vec![items.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")]
            }
        }
    }
}

/// The beginning of a text, for complaints: never all of it, which may hold secrets.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(LONGEST).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}
