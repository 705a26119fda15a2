//! Reads a text as a script. "Run" means to follow what a shell would do; no program is started.

use std::rc::Rc;

use brush_parser::ast::Program;

use crate::catalogue::Catalogue;
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::disk::Disk;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::execution::ways::Ways;
use crate::shell::grammar::error::SyntaxError;
use crate::shell::grammar::parse::parse;
use crate::shell::marks::without_marks;
use crate::shell::script::{Node, Script};
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Unknowns, is_known};
use crate::terms::plain_text::first_words;

/// Maximum number of attempts to parse parts of a text that cannot be parsed as a whole.
const MOST_SALVAGES: usize = 48;
/// Maximum number of lines in a part that is parsed on its own.
const LONGEST_STATEMENT: usize = 12;

/// Reads a script with the built-in catalogue. `cwd` is the working directory in which it would start; `None`
/// when it is unknown.
pub fn read(text: &str, cwd: Option<&str>) -> Script {
    read_with(text, cwd, Catalogue::default())
}

/// Reads a script with the given catalogue. `cwd` is the working directory in which it would start; `None`
/// when it is unknown.
pub fn read_with(text: &str, cwd: Option<&str>, catalogue: Catalogue) -> Script {
    read_on(text, cwd, catalogue, None)
}

/// Reads a script with the given catalogue, and the scripts that it runs on a disk. `cwd` is the working directory in
/// which it would start; `None` when it is unknown. Without a disk, no file is read.
pub fn read_on(text: &str, cwd: Option<&str>, catalogue: Catalogue, disk: Option<Rc<dyn Disk>>) -> Script {
    let text = without_marks(text);
    // Folders are compared by their text, and those that `cd` leads to have no separator at their end.
    let folded = |path: &str| format!("/{}", path.trim_matches('/'));
    let cwd = cwd.map(|path| if path.starts_with('/') { folded(path) } else { path.to_owned() });
    let mut evaluator = Evaluator::new(catalogue);
    evaluator.on_disk.disk = disk;
    let mut shell = Shell { cwd: cwd.clone(), args_unknown: true, ..Shell::default() };
    // The client's shell expands aliases, although it is not interactive.
    shell.aliases.enabled = true;
    evaluator.client_startup(&mut shell);
    evaluator.run_text(&mut shell, &text);
    evaluator.run_sinks(0);
    evaluator.doubt_subscripts(&shell, &text);
    if evaluator.exhausted() {
        evaluator.complain(Complaint::ManySteps);
        evaluator.unread(&shell, &text);
    }
    Script { cwd, ..evaluator.into_script() }
}

/// Whether a text may evaluate values as arithmetic.
fn evaluates(text: &str) -> bool {
    // `${x:y}` and `${x:y:z}`.
    let slices = text.split("${").skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || "_@*[]".contains(c));
        rest.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '$'))
    });
    slices || names::ARITHMETIC.are_in(text)
}

impl Evaluator {
    /// Adds the substitutions in subscripts (`x='a[$(y)]'`) that variables hold as unread text, if they act and were not
    /// followed: bash runs them wherever it evaluates such a variable as arithmetic.
    fn doubt_subscripts(&mut self, shell: &Shell, text: &str) {
        if !(text.contains("[$(") || text.contains("[`")) || !evaluates(text) {
            return;
        }
        let mut inside: Vec<String> = Vec::new();
        for (_, variable) in shell.variables.iter() {
            let Value::Scalar(value) = &variable.value else { continue };
            for (start, end) in [("[$(", ')'), ("[`", '`')] {
                let Some((name, rest)) = value.split_once(start) else { continue };
                if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    inside.extend(rest.split(end).next().map(str::to_owned));
                }
            }
        }
        for script in inside {
            if self.mentions_action(&script) && !self.has_followed(&script) {
                self.complain(Complaint::Runs(short(&script)));
                self.unread(shell, &script);
            }
        }
    }

    /// Whether a command with these words is in the tree.
    fn has_followed(&self, words: &str) -> bool {
        let words: Vec<&str> = words.split_whitespace().collect();
        self.has_node(|node| matches!(node, Node::Command(command) if command.texts() == words))
    }

    /// Adds what the unknown parts of a script may be, as far as that is not a word each.
    fn doubt_parts(&mut self, shell: &Shell, text: &str) {
        for old in self.unknowns.doubtful_in(text) {
            // The text of a file that may have changed, with more behind it.
            self.complain(Complaint::Runs(short(&old)));
            self.run_script(&mut shell.clone(), &old);
        }
        if self.may_be_any(shell, text) {
            // What is filled in may be more than a word.
            let shown = self.unknowns.show(text.trim());
            self.complain(Complaint::Runs(short(&shown)));
            self.unread(shell, &shown);
        }
    }

    /// Adds a script as unread text that changes in another way than by an assignment what a name runs.
    fn doubt_names(&mut self, shell: &Shell, text: &str) {
        let is_assigned = |rest: &str| {
            let element = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            rest.starts_with("=(")
                || rest.starts_with("+=(")
                || element.is_some_and(|(_, rest)| rest.starts_with('='))
        };
        let mut places = names::BY_NAME.iter().flat_map(|name| text.split(name).skip(1));
        if places.any(|rest| !is_assigned(rest)) || names::PATH_SETTERS.are_in(text) {
            self.unread(shell, text);
        }
    }

    /// Runs a text as the script of a shell of its own and returns its output.
    pub fn run_text(&mut self, shell: &mut Shell, text: &str) -> String {
        self.apart(|this| {
            let (printed, _) = this.run_script(shell, text);
            this.run_exit_traps(shell, None);
            printed
        })
    }

    /// Runs a text that may be one of several: once for each.
    fn run_each_text(&mut self, shell: &mut Shell, text: &str) -> Option<Ran> {
        self.unknowns.first_choice(text)?;
        let choice = |text: &String, unknowns: &Unknowns| unknowns.first_choice(text);
        let texts = self.combinations(shell, text.to_owned(), choice, |text, mark, candidate, _| {
            text.replace(mark, candidate)
        });
        let mut ways = Ways::default();
        let mut found = Vec::new();
        for (is_inherited, text) in texts {
            if self.exhausted() {
                break;
            }
            let ((), nodes) = self.collected(|this| {
                ways.run(this, shell.clone(), |this, shell| this.run_script(shell, &text));
            });
            found.push((is_inherited, nodes));
        }
        self.status = None;
        self.push_alternatives(found);
        Some(ways.end(self, shell))
    }

    pub fn run_script(&mut self, shell: &mut Shell, text: &str) -> Ran {
        if text.trim().is_empty() || self.exhausted() {
            return (String::new(), Flow::On);
        }
        if text.contains('\0') {
            // Some shells leave it out, some end there.
            self.complain(Complaint::Runs(short(text)));
            return self.run_script(shell, &text.replace('\0', ""));
        }
        self.doubt_names(shell, text);
        // One plain command has no conditions.
        if !self.programs.is_empty() || text.contains([';', '&', '|', '(', '\n']) {
            self.is_involved |= names::INVOLVED.are_in(text);
            self.leaks |= names::LEAKS.are_in(text);
            self.signals |= text.contains("kill");
        }
        self.asks_for_last_word |= text.contains('$') && (text.contains("$_") || text.contains("${_"));
        if self.on_disk.disk.is_some() && !is_known(text) {
            let loaded = self.loaded(shell, text);
            if loaded != text {
                return self.run_script(shell, &loaded);
            }
        }
        if !is_known(text)
            && let Some(ran) = self.run_each_text(shell, text)
        {
            return ran;
        }
        if self.unknowns.only_mark(text).is_some() {
            let shown = self.unknowns.show(text.trim());
            self.complain(Complaint::Runs(short(&shown)));
            let unknown = self.unknowns.only_mark(text).cloned().unwrap_or_default();
            let repeating = Shell { repeats: shell.repeats || unknown.repeats, ..shell.clone() };
            if let Some(text) = unknown.made_from {
                if unknown.is_doubtful {
                    self.run_script(&mut shell.clone(), &text);
                }
                let text = self.loaded(shell, &text);
                self.unread(&repeating, &text);
            }
            self.unread_text(&repeating, text, true);
            return (self.unknowns.plain(shown), Flow::On);
        }
        if !is_known(text) {
            self.doubt_parts(shell, text);
        }
        self.spend(1);
        let admitted = self.admits_text(text.len());
        if self.depth_reached() || !admitted {
            self.complain(Complaint::MuchText);
            self.leave_out(shell, text);
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let ran = match self.parsed(text) {
            Ok(program) => {
                let (ran, rest) = self.sequence(&program.complete_commands, |this, list| {
                    shell.aliases.active = shell.aliases.defined.clone();
                    this.line(shell, list)
                });
                for list in rest {
                    self.not_taken(shell, |this, inner| drop(this.line(inner, list)));
                }
                ran
            }
            Err(problem) => {
                let shown = self.unknowns.show(text);
                self.complain(Complaint::Syntax { text: short(&shown), problem });
                self.salvage(shell, text);
                (self.unknowns.plain("…"), Flow::On)
            }
        };
        self.depth -= 1;
        ran
    }

    /// Parses a text, once for all of its runs.
    pub fn parsed(&mut self, text: &str) -> Result<Rc<Program>, SyntaxError> {
        if let Some(program) = self.programs.get(text) {
            return Ok(Rc::clone(program));
        }
        let program = Rc::new(parse(text, &mut self.documents)?);
        self.programs.insert(text.to_owned(), Rc::clone(&program));
        Ok(program)
    }

    /// Runs the lines of a broken text that can be parsed on their own, and adds the others as unread text.
    fn salvage(&mut self, shell: &mut Shell, text: &str) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut from = 0;
        let mut left = MOST_SALVAGES;
        // What stands in a loop or a function may run more than once.
        let repeats = text.contains("()") || names::LOOPS.are_in(text);
        let around = Shell { repeats: shell.repeats || repeats, ..shell.clone() };
        while from < lines.len() {
            let most = lines.len().min(from + LONGEST_STATEMENT);
            let whole = (from + 1..=most).filter(|upto| *upto - from < lines.len()).find_map(|upto| {
                let statement: String = lines.get(from..upto)?.concat();
                left = left.checked_sub(1)?;
                parse(&statement, &mut self.documents).is_ok().then_some((upto, statement))
            });
            match whole {
                Some((upto, statement)) => {
                    self.run_script(shell, &statement);
                    from = upto;
                }
                None if left == 0 || lines.len() == 1 => break,
                None => {
                    self.unread(&around, lines.get(from).copied().unwrap_or_default());
                    from += 1;
                }
            }
        }
        let rest: String = lines.get(from..).unwrap_or_default().concat();
        if !rest.trim().is_empty() {
            self.unread(&around, &rest);
        }
    }
}

/// The whole words of at most 40 characters of a text for a complaint; the whole text may contain secrets.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 40;
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let mut short = first_words(line, LONGEST);
    if line.len() < text.len() && !short.ends_with('…') {
        short.push('…');
    }
    short
}
