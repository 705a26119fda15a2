//! What is known of a program: the terms of the catalogue.
//!
//! The values are constants: the built-in families are compiled in by `build.rs`, an operator's own programs come from
//! `hosts.yaml` and live as long as the process. The build script uses this file, too: it depends on
//! nothing but plain types.

use std::fmt;
use std::ops::Deref;

use crate::model::verb::Verb;

/// A list that is written out in the program, or was made once for the life of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct List<T: 'static>(pub &'static [T]);

impl<T> List<T> {
    /// The list without items.
    pub const EMPTY: Self = Self(&[]);
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0
    }
}

/// As an expression in Rust: the build script writes the catalogue so.
impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List(&{:?})", self.0)
    }
}

/// One fact of several parts that few forms have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part<T: 'static>(pub &'static T);

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

/// As an expression in Rust.
impl<T: fmt::Debug> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part(&{:?})", self.0)
    }
}

/// Options as they are written, `-n` or `--namespace`.
pub type Options = List<&'static str>;

/// A program under all of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its key in the catalogue.
    pub key: &'static str,
    /// Names without a folder; globs such as `mkfs.*`, and of whole paths where they hold a `/`: `*/init.d/*`.
    pub names: List<&'static str>,
    /// Whether a program name that is not known may be taken for it.
    pub guess: Guess,
    /// Other words by which such a name tells the program: `$COMPOSE`.
    pub hints: List<&'static str>,
    /// Options that take a value, before the verb and after one that lists none; `None`: not known.
    pub value: Option<Options>,
    /// Options whose value is the host that it works on.
    pub host: Options,
    /// Environment variables that name that host.
    pub host_variables: List<&'static str>,
    /// What it does without a verb, or with one that is not listed.
    pub form: Form,
    /// Its subcommands.
    pub verbs: List<VerbForm>,
    /// Rules of `policy.never` that hold for it.
    pub never: List<Denial>,
    /// Beginnings of its commands, after the name, that change something in any case.
    pub prefixes: List<&'static str>,
    /// Commands that only read, by the words of the command that they replace; `*` stands for all others.
    pub instead: List<(&'static str, &'static str)>,
}

/// A subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbForm {
    /// The ways to write it, each a list of words: `rollout restart`. `*` stands for any word, which is kept.
    pub paths: List<List<&'static str>>,
    /// What it does.
    pub form: Form,
}

/// One form of a program's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Options after the verb that take a value; `None`: those of the program.
    pub value: Option<Options>,
    /// Options with which it changes nothing: `--help`, `--dry-run`.
    pub quiet: Options,
    /// Values of options with which it changes nothing.
    pub quiet_values: List<OptionValues>,
    /// What it does to the world where it carries out no action; `None`: what the command does that it runs, else unknown.
    pub effect: Option<Part<EffectTerms>>,
    /// The action that it carries out.
    pub does: Option<Part<Does>>,
    /// The command that it runs.
    pub runs: Option<Part<Runs>>,
    /// The program whose verbs follow: `docker compose`.
    pub then: Option<&'static str>,
    /// The files that it reads and writes.
    pub files: Option<Part<Files>>,
    /// What it does with standard input.
    pub stdin: Stdin,
    /// It prints the names of what runs.
    pub lists: Option<Lists>,
}

/// How a program prints the names of everything that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists {
    /// With this many words behind the verb; with more it is asked for something.
    pub words: usize,
    /// With one of these options, where there are any.
    pub with: Options,
}

/// What a program does with standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// It reads it as text or as data, or not at all.
    Text,
    /// It runs it as a shell script where no command is given.
    Script,
    /// It carries out its statements: SQL.
    Statements,
}

/// An option and the values of it that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionValues {
    /// As it is written.
    pub option: &'static str,
    /// The values.
    pub values: List<&'static str>,
}

/// What a form does to the world, and on which conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectTerms {
    /// What it does where every condition holds.
    pub stated: Stated,
    /// The other options that it has, if they are all listed: with one that is not, the effect is unknown.
    pub flags: Option<Options>,
    /// Options with which it changes something.
    pub changes_with: Options,
    /// Options of which one must be given; without one it changes something.
    pub reads_with: Options,
    /// Values of options, as globs, with which the effect is unknown.
    pub unknown_values: List<OptionValues>,
    /// With more words than these it changes something.
    pub most_words: Option<usize>,
    /// Options with which any number of words may be given.
    pub any_words_with: Options,
    /// Options whose value is SQL or code of the program's own.
    pub statements: Options,
    /// Globs of which each word must match one, or none of those that begin with `!`; else it changes something.
    pub words: List<&'static str>,
    /// What has to be understood before it is known to read.
    pub check: Option<Check>,
}

impl EffectTerms {
    /// It looks, on no condition.
    pub const PLAIN: Self = Self {
        stated: Stated::Looks,
        flags: None,
        changes_with: List::EMPTY,
        reads_with: List::EMPTY,
        unknown_values: List::EMPTY,
        most_words: None,
        any_words_with: List::EMPTY,
        statements: List::EMPTY,
        words: List::EMPTY,
        check: None,
    };
}

/// What a form is stated to do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// It looks and changes nothing.
    Looks,
    /// It changes the files that it writes, and nothing else.
    WritesFiles,
    /// It changes something.
    ChangesSomething,
    /// It cannot be said.
    CannotBeSaid,
}

/// A language or an expression that decides whether a program only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The script of `sed`.
    SedScript,
    /// The program of `awk`.
    AwkProgram,
    /// SQL, in words, options and on standard input.
    Sql,
    /// The expression of `find`.
    FindExpression,
    /// The mode of an archiver: listing reads.
    ArchiveMode,
    /// The method, the data and the address of an HTTP request.
    HttpRequest,
    /// The module of `ansible` and its arguments.
    AnsibleModule,
    /// SQL, in the words behind the first one, too.
    SqlWords,
    /// A request to the API of a forge, by the options of `gh api`.
    ForgeApi,
    /// A script in Flux.
    Flux,
    /// A command of Redis and its kin, in words or on standard input.
    KeyValue,
    /// Code of `mongosh`.
    Mongo,
    /// Lines for a daemon that is asked over a socket.
    Socket,
    /// The commands that `sftp` reads from standard input.
    SftpBatch,
    /// The commands that `view` gets in `-c`.
    ExCommands,
}

/// Whether a program name that is not known, such as `$X`, may be taken for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Whenever the words that follow fit.
    Always,
    /// Where the variable's name holds the name of the program.
    ByName,
    /// Not at all.
    NotGuessed,
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Does {
    /// What is done.
    pub verb: Verb,
    /// To what, and where that stands.
    pub to: Target,
    /// Options of which one must be given: `rm -f`.
    pub needs: Options,
    /// Globs of which the first word must match one: `pod`, `pod/*`.
    pub first: List<&'static str>,
    /// Options with which it is done to everything at once.
    pub all: Options,
    /// Options that state a title.
    pub title: Options,
    /// Who gets a message.
    pub recipients: Option<Part<Recipients>>,
}

/// The kind of thing that an action is done to, and where its name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The kind.
    pub kind: TargetKind,
    /// Which words name it.
    pub at: Words,
}

/// What an action is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A service, by any of its names in the inventory.
    Service,
    /// A container.
    Container,
    /// Compose services, or the project where none is named.
    Compose,
    /// A compose or swarm project.
    Project,
    /// A systemd or init unit.
    Unit,
    /// A Kubernetes workload: `KIND NAME…` or `KIND/NAME…`.
    Workload,
    /// A helm release.
    Release,
    /// An Ansible playbook.
    Playbook,
    /// The people that `recipients` describes.
    People,
    /// Those that apprise's arguments and configuration name.
    Apprise,
    /// The addresses of HTTP requests.
    Requests,
    /// Nothing with a name.
    NoTarget,
}

/// Which words of a command line are meant; options and their values do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// None.
    Nowhere,
    /// All from this one on, counted from 0.
    From(usize),
    /// This one, counted from 0.
    Only(usize),
    /// The last one.
    Last,
    /// Those that `*` in the verb stands for.
    Starred,
    /// The last part of the program's own path.
    OwnName,
    /// The values of an option.
    ValueOf(&'static str),
}

/// Who gets a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipients {
    /// The operators, by the configured notification targets.
    pub operators: bool,
    /// Words that are no options are recipients, and without one nothing is sent.
    pub words: bool,
    /// Options that name recipients.
    pub options: Options,
    /// Options that hold a line of the message's head.
    pub headers: Options,
    /// Options with which the recipients stand in the message.
    pub in_message: Options,
    /// Options with which the recipients stand in a file.
    pub in_file: Options,
}

/// How a program takes the command that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub struct Runs {
    /// In which form the command stands.
    pub how: How,
    /// Words that come before the command: a time limit, a container. `None`: its words are never a command.
    pub after: Option<usize>,
    /// One of these options must be given; without one the words are no command.
    pub words_need: Options,
    /// Options whose value is a script.
    pub script: Options,
    /// Options whose value is words of the command: `env -S`.
    pub split: Options,
    /// Options after which the command follows at once: `nix develop -c`.
    pub at_once: Options,
    /// Options with which the words are not joined.
    pub exact: Options,
    /// Options with which the words are keys for a shell that is there already.
    pub typed: Options,
    /// `NAME=value` words may come before the command.
    pub assigns: bool,
    /// It runs where nothing of this machine's directories and variables is known.
    pub inside: bool,
    /// It hands the whole environment on.
    pub environment: bool,
    /// It runs the command again and again.
    pub repeats: bool,
    /// Options with which it runs the command again and again.
    pub timers: Options,
    /// Options whose value is the directory in which it runs.
    pub dir: Options,
    /// A `--` after the first word of the command is its own: `minikube kubectl -- get pods`.
    pub drops_dashes: bool,
    /// Options with which standard input is a script when no command is given.
    pub stdin_with: Options,
}

/// The form in which a command stands in the words of the program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A program and its arguments.
    Command,
    /// Words that are joined and read by a shell.
    Joined,
    /// Keys for a shell that is there already.
    Typed,
    /// A shell: `-c SCRIPT`, a file, standard input.
    Shell,
    /// On another host, as ssh does it.
    Ssh,
    /// An Ansible module.
    Ansible,
    /// The lines of a crontab.
    Crontab,
    /// Once for the words on standard input.
    Xargs,
    /// Once for each word on standard input or behind `:::`.
    Parallel,
    /// Once for each file found, after `-exec`.
    Find,
    /// Once for each file found, after `-x`.
    Fd,
    /// The code of another language.
    Code(Language),
}

/// A language whose code is looked through for commands that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// JavaScript as Node.js runs it.
    Node,
    /// JavaScript as Deno and Bun run it.
    Deno,
    /// awk.
    Awk,
    /// PHP.
    Php,
    /// Lua.
    Lua,
}

/// The files that a form reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// Words that are read.
    pub reads: Words,
    /// Words that are written.
    pub writes: Words,
    /// Options whose value is written.
    pub outputs: Options,
    /// Options whose value is read and may be shown.
    pub inputs: Options,
    /// Options whose value is a key that the program uses and does not show.
    pub keys: Options,
    /// Options of which one must be given for words to be written: `sed -i`.
    pub writes_with: Options,
    /// Options with which nothing is written: `ssh-keygen -l`.
    pub keeps: Options,
    /// Options with which all below a word is written: `rm -r`.
    pub deep: Options,
    /// Options with which the first word is a file, too: `sed -e`.
    pub first_is_file: Options,
    /// A way of naming files that words and options do not tell.
    pub how: Option<FileHow>,
}

impl Files {
    /// Every word may be a file that is read, and nothing is written.
    pub const PLAIN: Self = Self {
        reads: Words::From(0),
        writes: Words::Nowhere,
        outputs: List::EMPTY,
        inputs: List::EMPTY,
        keys: List::EMPTY,
        writes_with: List::EMPTY,
        keeps: List::EMPTY,
        deep: List::EMPTY,
        first_is_file: List::EMPTY,
        how: None,
    };
}

/// A way of naming files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileHow {
    /// Sources and a target, or `-t TARGET`.
    Copy,
    /// `if=` and `of=`.
    Dd,
    /// An archive that is unpacked.
    Archive,
    /// Files named after the last part of an address, with `-O`.
    Downloads,
    /// Starting points, `-delete`, `-exec`, `-fprint`.
    Search,
    /// Folders that a container gets, `cp` into and out of it.
    Engine,
    /// Everything in the working directory is written.
    WorkingTree,
    /// Who may use a file, or a folder and with it everything below it.
    Rights,
    /// A database, by its SQL.
    Sqlite,
    /// The files that the code names.
    InCode,
    /// Variables of the environment, which it prints.
    Environment,
    /// Files below folders, with `-r` or the like.
    TextSearch,
}

/// A rule of `policy.never` and the words after the program that it denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// The rule's name.
    pub rule: &'static str,
    /// Patterns; one of them is enough.
    pub patterns: List<&'static str>,
}
