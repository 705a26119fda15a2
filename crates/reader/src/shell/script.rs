//! The result of a reading: a tree of constructs with simple commands as leaves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::text::Word;
use crate::catalogue::Catalogue;
use crate::catalogue::options::At;
use crate::shell::Complaint;
use crate::terms::plain_text::{first_words, whereabouts};

/// The maximum number of words of a suspected command that are read.
const MOST_SUSPECTED: usize = 24;
/// The maximum number of commands with the same words that are compared.
const MOST_COMPARED: usize = 4;

/// Everything that one text would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// The top level, in the order of the text.
    pub nodes: Vec<Node>,
    /// What could not be read, one sentence each.
    pub complaints: Vec<Complaint>,
    /// The working directory in which it starts, if that is known.
    pub cwd: Option<String>,
    /// Files of this machine whose text is part of the script: absolute paths, and the links that lead to them.
    pub files: Vec<String>,
    /// True where a script is named relative to a folder that may be another one when it runs.
    pub has_doubtful_file: bool,
    /// True where a file of this machine decides what runs, whether it could be read or not.
    pub looks_at_files: bool,
    /// The known programs.
    pub catalogue: Catalogue,
}

/// A part of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A construct and what it contains.
    Group(Construct, Vec<Self>),
    /// A simple command that would run.
    Command(Box<Command>),
    /// Text that would run but cannot be read.
    Unread(Unread),
}

/// The name of a part that does not run, as the script itself decides. Its actions do not count, but all rules hold there.
pub const NOT_TAKEN: &str = "not taken";

/// The name of the way with a value that only the environment gives: in `docker restart ${NAME:-web}`, that of `$NAME`.
pub const INHERITED: &str = "as the environment says";

/// The beginning of the note on the rounds of a loop over everything that a program lists; its variable follows.
pub const EACH: &str = "a round for each $";

/// The construct of a group of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Construct {
    /// `a | b`.
    Pipeline,
    /// `( … )`.
    Subshell,
    /// `{ …; }`.
    Group,
    /// `if`.
    If,
    /// `case`.
    Case,
    /// One way through an `if` or a `case`, or what follows `&&` or `||`.
    Branch(&'static str),
    /// A command whose words may have one of several values: one of the groups in it runs.
    OneOf,
    /// A loop, with a note on its rounds.
    Loop(String),
    /// A call of the function of this name.
    Call(String),
    /// `$( … )` or backquotes.
    Substitution,
    /// `<( … )` or `>( … )`.
    ProcessSubstitution,
    /// A trap, with its signals.
    Trap(String),
    /// A script in an option, a word, a variable or the standard input of this program.
    Embedded(String),
    /// A command that runs what is below it: `sudo`, `ssh host`, `bash -c`.
    Through(Box<Command>),
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipeline => f.write_str("pipeline"),
            Self::Subshell => f.write_str("subshell"),
            Self::Group => f.write_str("group"),
            Self::If => f.write_str("if"),
            Self::Case => f.write_str("case"),
            Self::OneOf => f.write_str("one of"),
            Self::Branch(which) => f.write_str(which),
            Self::Loop(rounds) => write!(f, "loop, {rounds}"),
            Self::Call(name) => write!(f, "function {name}"),
            Self::Substitution => f.write_str("command substitution"),
            Self::ProcessSubstitution => f.write_str("process substitution"),
            Self::Trap(signal) => write!(f, "trap on {signal}"),
            Self::Embedded(program) => write!(f, "command that {program} runs"),
            Self::Through(command) => write!(f, "through {}", command.through),
        }
    }
}

/// How a redirection opens its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `<`.
    Read,
    /// `>`, `>|`, `&>`.
    Write,
    /// `>>`, `&>>`.
    Append,
    /// `<>`.
    ReadWrite,
}

/// A file that the shell opens for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// How it is opened.
    pub mode: Mode,
    /// Its path as written.
    pub path: Word,
    /// Its path with marks.
    pub(crate) marked: String,
}

/// What was found for the commands so far. A loop has the same command many times.
#[derive(Debug)]
pub struct Found<'a, T> {
    /// By the words; the same words act differently elsewhere.
    by_words: BTreeMap<Vec<&'a str>, Vec<(&'a Command, T)>>,
}

impl<'a, T> Found<'a, T> {
    /// What was found for an equal command.
    pub fn get(&self, command: &'a Command) -> Option<&T> {
        let last = self.by_words.get(&command.texts())?.iter().rev().take(MOST_COMPARED);
        last.into_iter().find(|(other, _)| *other == command).map(|(_, found)| found)
    }

    /// States what was found.
    pub fn add(&mut self, command: &'a Command, found: T) {
        self.by_words.entry(command.texts()).or_default().push((command, found));
    }
}

impl<T> Default for Found<'_, T> {
    fn default() -> Self {
        Self { by_words: BTreeMap::new() }
    }
}

/// Variables with their values. Commands share those that were exported before.
pub type Environment = Vec<Arc<(String, Word)>>;

/// A simple command that would run, with its host, directory and environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub struct Command {
    /// Program and arguments.
    pub words: Vec<Word>,
    /// Hosts from the outermost to the one where it runs; empty for this machine.
    pub hosts: Arc<Vec<String>>,
    /// Names of the wrappers that run it, outermost first.
    pub via: Arc<Vec<String>>,
    /// Working directory; `None` when it is unknown.
    pub cwd: Option<String>,
    /// The working directories if a `cd` before it has failed.
    pub missed: Arc<Vec<Option<String>>>,
    /// Variables set for this command alone, or exported earlier in the text.
    pub env: Arc<Environment>,
    /// Files that the shell opens for it.
    pub redirections: Vec<Redirection>,
    /// Its standard input, when that is part of the text or the output of a listing program.
    pub stdin: Option<Word>,
    /// True on another machine or in a container, where the environment is another one.
    pub is_elsewhere: bool,
    /// True where it may run any number of times.
    pub repeats: bool,
    /// For a wrapper: its label in the tree, such as `ssh ie01`. Empty for other commands.
    pub through: String,
    /// The files of this machine that state its targets.
    pub stated: Option<Box<Stated>>,
    /// True where its program is a script whose text stands below it in the tree.
    pub is_script: bool,
    /// For code of another language: true where all commands that it starts were determined, and stand below it in the tree.
    pub is_followed: bool,
}

impl Command {
    /// The words as texts.
    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }

    /// The value of an option.
    pub fn value(&self, at: At) -> Option<Word> {
        self.words.get(at.index).map(|word| word.tail(at.offset))
    }

    /// The words, or their ends, at these places.
    pub fn words_at(&self, places: &[At]) -> impl Iterator<Item = Word> {
        places.iter().filter_map(|at| Some(self.words.get(at.index)?.tail(at.offset)))
    }

    /// This command as one that runs where `outer` does.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        let both = |outer: &Arc<Vec<String>>, inner: &Arc<Vec<String>>| {
            Arc::new(outer.iter().chain(inner.iter()).cloned().collect::<Vec<_>>())
        };
        Self {
            hosts: both(&outer.hosts, &self.hosts),
            via: both(&outer.via, &self.via),
            env: Arc::new(outer.env.iter().chain(self.env.iter()).cloned().collect()),
            is_elsewhere: self.is_elsewhere || outer.is_elsewhere,
            repeats: self.repeats || outer.repeats,
            ..self.clone()
        }
    }

    /// This command where no `cd` before it has failed.
    #[must_use]
    pub fn settled(&self) -> Self {
        Self { missed: Arc::default(), ..self.clone() }
    }

    /// Where it runs, for a sentence about it: ", on ie01 through ssh, sudo"; empty for a plain command here.
    pub fn whereabouts(&self) -> String {
        whereabouts(self.host(), &self.via)
    }

    /// The host where it runs, as written; `None` for this machine.
    pub fn host(&self) -> Option<&str> {
        self.hosts.last().map(String::as_str)
    }

    /// The value of a variable in the environment of the command.
    pub fn variable(&self, name: &str) -> Option<&Word> {
        self.values(name).last()
    }

    /// The values that a variable in the environment of the command may have. An empty one stands for none, too.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &Word> {
        self.env.iter().filter(move |entry| entry.0 == name).map(|entry| &entry.1)
    }
}

/// Files of this machine that state the targets of a command: a playbook, or those of a compose project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Stated {
    /// The folder of a compose project that was found, where the command names no file.
    pub folder: Option<String>,
    /// The texts of the files, in the order in which they are merged.
    pub texts: Vec<String>,
    /// The texts of files whose services these extend.
    pub bases: Vec<String>,
    /// The name of a compose project in its environment file.
    pub project: Option<String>,
    /// True for a file that the same text writes.
    pub is_written: bool,
    /// True where the command names a file whose text is not here.
    pub is_partial: bool,
}

/// Text that would run as a script but cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// The text.
    pub text: String,
    /// True when the text is a command whose unknown output would run: `awk … | sh`.
    pub maker: bool,
    /// Hosts from the outermost to the one where it runs; empty for this machine.
    pub hosts: Arc<Vec<String>>,
    /// Names of the wrappers that run it, outermost first.
    pub via: Arc<Vec<String>>,
    /// Working directory; `None` when it is unknown.
    pub cwd: Option<String>,
    /// True where it may run an unknown number of times.
    pub repeats: bool,
}

/// An empty text where the command runs.
impl From<&Command> for Unread {
    fn from(command: &Command) -> Self {
        let (hosts, via) = (Arc::clone(&command.hosts), Arc::clone(&command.via));
        Self { hosts, via, cwd: command.cwd.clone(), repeats: command.repeats, ..Self::default() }
    }
}

/// The judgement of a suspected command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// It is a command: its words are not searched again.
    Confirmed,
    /// It is not a command.
    Dropped,
    /// The search can end: enough was found.
    Enough,
}

/// The text with each variable as one word: the name in `${name}` and the key in `$h{key}` or `$h[key]` are no words of a command.
fn without_subscripts(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut pieces = text.split('$');
    let mut left = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        left.push('$');
        let braced = piece.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, mut rest) = match braced.filter(|(name, _)| !name.is_empty() && name.chars().all(is_name))
        {
            Some(braced) => braced,
            None => piece.split_at(piece.find(|c| !is_name(c)).unwrap_or(piece.len())),
        };
        left.push_str(name);
        let is_key = |key: &str| key.trim_matches(['\'', '"']).chars().all(is_name);
        let key = |rest: &'_ str| -> Option<usize> {
            let key = rest.strip_prefix("->").unwrap_or(rest);
            let in_braces = key.strip_prefix('{').and_then(|key| key.split_once('}'));
            let (key, after) = in_braces.or_else(|| key.strip_prefix('[')?.split_once(']'))?;
            is_key(key).then_some(rest.len() - after.len())
        };
        while let Some(len) = key(rest).filter(|_| !name.is_empty()) {
            rest = rest.get(len..).unwrap_or_default();
        }
        left.push_str(rest);
    }
    left
}

impl Unread {
    /// Passes each position of the text with the name of a program to `see`, as a suspected command.
    pub fn suspect(&self, is_program: impl Fn(&str) -> bool, mut see: impl FnMut(Command) -> Suspicion) {
        let ends_command = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '`');
        let between = |c: char| c.is_whitespace() || r#""',[]{}<>\="#.contains(c);
        let text = without_subscripts(&self.text);
        for part in text.split(ends_command).filter(|part| !part.trim_start().starts_with('#')) {
            let words: Vec<&str> = part.split(between).filter(|word| !word.is_empty()).collect();
            let mut at = 0;
            while let Some(word) = words.get(at) {
                let suspected = if is_program(word) {
                    let end = (at + MOST_SUSPECTED).min(words.len());
                    see(self.command(words.get(at..end).unwrap_or_default()))
                } else {
                    Suspicion::Dropped
                };
                match suspected {
                    Suspicion::Confirmed => at += MOST_SUSPECTED,
                    Suspicion::Dropped => at += 1,
                    Suspicion::Enough => return,
                }
            }
        }
    }

    /// A command of these words; a word with a dollar sign is unknown.
    fn command(&self, words: &[&str]) -> Command {
        let word = |text: &&str| if text.contains('$') { Word::unknown(*text) } else { Word::literal(*text) };
        Command {
            words: words.iter().map(word).collect(),
            hosts: Arc::clone(&self.hosts),
            via: Arc::clone(&self.via),
            cwd: self.cwd.clone(),
            repeats: self.repeats,
            ..Command::default()
        }
    }
}

impl Script {
    /// Visits every node, parents before children, in the order of the text.
    pub fn visit<'a>(&'a self, mut see: impl FnMut(&'a Node)) {
        self.visit_within(|node, _| see(node));
    }

    /// Visits every node with the constructs around it, outermost first; parents before children, in the order of the text.
    pub fn visit_within<'a>(&'a self, mut see: impl FnMut(&'a Node, &[&'a Construct])) {
        // Not recursive: the tree may be deep.
        let mut left: Vec<(usize, &Node)> = self.nodes.iter().rev().map(|node| (0, node)).collect();
        let mut around = Vec::new();
        while let Some((depth, node)) = left.pop() {
            around.truncate(depth);
            see(node, &around);
            if let Node::Group(construct, children) = node {
                around.push(construct);
                left.extend(children.iter().rev().map(|child| (depth + 1, child)));
            }
        }
    }

    /// The simple commands without wrappers, in the order of the text.
    pub fn commands(&self) -> Vec<&Command> {
        let mut found: Vec<&Command> = Vec::new();
        self.visit(|node| {
            if let Node::Command(command) = node {
                found.push(command);
            }
        });
        found
    }

    /// The tree as text: one line for each node, indented by two blanks for each level.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.visit_within(|node, around| {
            let line = match node {
                Node::Group(construct, _) => construct.to_string(),
                Node::Command(command) => command.to_string(),
                Node::Unread(unread) => format!("unread: {}", one_line(&unread.text)),
            };
            lines.push("  ".repeat(around.len()) + &line);
        });
        lines
    }
}

/// The command and its host on one line.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words.iter().map(|word| one_line(&word.text)).collect();
        f.write_str(&words.join(" "))?;
        for redirection in &self.redirections {
            let sign = match redirection.mode {
                Mode::Read => "<",
                Mode::Write => ">",
                Mode::Append => ">>",
                Mode::ReadWrite => "<>",
            };
            write!(f, " {sign} {}", one_line(&redirection.path.text))?;
        }
        if let Some(host) = self.host() {
            write!(f, "   [on {host}]")?;
        }
        f.write_str(if self.repeats { "   [repeats]" } else { "" })
    }
}

/// The text without line breaks, as many whole words as fit into 120 characters.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line = first_words(text, LONGEST).replace(char::is_control, " ");
    if line.is_empty() {
        line.push_str("''");
    }
    line
}
