//! The description of a program: the types of the catalogue.
//!
//! The values are constants: `build.rs` compiles in the built-in families; an operator's own programs come from
//! `hosts.yaml` and live as long as the process. The build script uses this file, too, so it only depends on plain
//! types.

use std::fmt;
use std::ops::Deref;

use crate::model::verb::Verb;

/// A list that is compiled in, or created once for the life of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct List<T: 'static>(pub &'static [T]);

impl<T> List<T> {
    /// The empty list.
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

/// Formats the list as a Rust expression, for the build script.
impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List(&{:?})", self.0)
    }
}

/// An optional fact that few forms have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part<T: 'static>(pub &'static T);

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

/// Formats the fact as a Rust expression.
impl<T: fmt::Debug> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part(&{:?})", self.0)
    }
}

/// Options as written, `-n` or `--namespace`.
pub type Options = List<&'static str>;

/// A program, with all of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its key in the catalogue.
    pub key: &'static str,
    /// Names without a folder, or globs such as `mkfs.*`; a glob with a `/` matches whole paths: `*/init.d/*`.
    pub names: List<&'static str>,
    /// Whether an unknown program name may be this program.
    pub guess: Guess,
    /// Further texts that identify the program in the name of a variable: `$COMPOSE`.
    pub hints: List<&'static str>,
    /// Options that take a value, before the verb, and after a verb that lists none; `None` if they are not known.
    pub value: Option<Options>,
    /// Options whose value is the host that it acts on.
    pub host: Options,
    /// Environment variables that name this host.
    pub host_variables: List<&'static str>,
    /// Words that name this host.
    pub host_words: Option<HostWords>,
    /// Where the text that it prints comes from.
    pub prints: Option<Prints>,
    /// Whether it runs or loads what its working directory configures: `.git/config`, `json.py`.
    pub loads_folder: bool,
    /// The form without a verb, or with an unlisted verb.
    pub form: Form,
    /// Its subcommands.
    pub verbs: List<VerbForm>,
    /// The ways to write them: first those whose first word is a glob, then all others, sorted by their first word.
    pub ways: List<Way>,
    /// Commands that it runs beside its own work: `tar --checkpoint-action=exec=…`.
    pub commands: List<Commands>,
    /// Rules of `policy.never` that apply to it.
    pub never: List<Denial>,
    /// Beginnings of its commands, after the name, that change something in any case.
    pub prefixes: List<&'static str>,
    /// Commands that only read, by the words of the command that they replace; `*` stands for all others.
    pub instead: List<(&'static str, &'static str)>,
}

/// Words that name the host that a program acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostWords {
    /// The first word.
    First,
    /// Every word with a colon before its first slash: `nas:/srv`.
    Remote,
}

/// Where the text that a program prints comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    /// From its standard input or its files.
    Input,
    /// From an address.
    Answers,
    /// It is the names of files.
    FileNames,
    /// It contains the IDs of processes.
    ProcessIds,
}

impl Program {
    /// Its forms: those with a verb, then the one without.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        self.verbs.iter().map(|verb| &verb.form).chain([&self.form])
    }

    /// The ways to write a verb that may begin with this word, globs last.
    pub fn ways(&self, word: &str) -> impl Iterator<Item = (&VerbForm, &List<&'static str>)> {
        let before = |than: &str| self.ways.partition_point(|way| self.sorted_by(*way) < than);
        let globs = self.ways.get(..before("\0")).unwrap_or_default();
        let same = self.ways.get(before(word)..).unwrap_or_default();
        let same = same.iter().take_while(move |way| self.sorted_by(**way) == word);
        same.chain(globs).filter_map(|way| {
            let verb = self.verbs.get(way.verb)?;
            Some((verb, verb.paths.get(way.path)?))
        })
    }

    /// The first word of a way to write a verb; empty for a glob.
    fn sorted_by(&self, way: Way) -> &'static str {
        let path = self.verbs.get(way.verb).and_then(|verb| verb.paths.get(way.path));
        path.and_then(|path| path.first().copied()).filter(|first| !first.contains('*')).unwrap_or_default()
    }

    /// The program with the ways to write its verbs.
    #[must_use]
    pub fn with_ways(mut self) -> Self {
        let paths =
            |(verb, form): (usize, &VerbForm)| (0..form.paths.len()).map(move |path| Way { verb, path });
        let mut ways: Vec<Way> = self.verbs.iter().enumerate().flat_map(paths).collect();
        ways.sort_by_key(|way| self.sorted_by(*way));
        self.ways = List(Vec::leak(ways));
        self
    }

    /// Whether it carries out an action in some form.
    pub fn acts(&self) -> bool {
        self.forms().any(|form| form.does.is_some() || form.then.is_some())
    }
}

/// Commands in one place of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commands {
    /// The place.
    pub place: Place,
    /// Patterns of its text. The last `*` stands for the script, each `*` before it for any text. Text after the last
    /// `*` ends the script, ` ...` adds the words of the command line after its first word.
    pub patterns: List<&'static str>,
}

/// A place of a command line that may contain a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The values of an option.
    OptionValue(&'static str),
    /// Each word.
    EachWord,
    /// Each line of standard input.
    InputLine,
    /// An environment variable.
    Variable(&'static str),
}

/// A subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbForm {
    /// The ways to write it, each a list of words: `rollout restart`. `*` matches any word, which is stored.
    pub paths: List<List<&'static str>>,
    /// The form with this verb.
    pub form: Form,
}

/// One way to write a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The index of the verb.
    pub verb: usize,
    /// The index among its paths.
    pub path: usize,
}

/// One form of a program: with a verb, or without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Options after the verb that take a value; `None`: those of the program.
    pub value: Option<Options>,
    /// Options with which it changes nothing: `--help`, `--dry-run`.
    pub quiet: Options,
    /// Values of options with which it changes nothing.
    pub quiet_values: List<OptionValues>,
    /// The effect if it carries out no action; `None` for the effect of the command that it runs, otherwise unknown.
    pub effect: Option<Part<EffectTerms>>,
    /// The action that it carries out.
    pub does: Option<Part<Does>>,
    /// The command that it runs.
    pub runs: Option<Part<Runs>>,
    /// The program whose verbs follow: `docker compose`.
    pub then: Option<&'static str>,
    /// The files that it reads and writes.
    pub files: Option<Part<Files>>,
    /// The use of standard input.
    pub stdin: Stdin,
    /// Whether it prints the names of everything that runs.
    pub lists: Option<Lists>,
}

/// The conditions on which a program prints the names of everything that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists {
    /// The number of words after the verb; more words select something.
    pub words: usize,
    /// Options of which one is required, if there are any.
    pub with: Options,
}

/// How a program uses standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// As text or data, or not at all.
    Text,
    /// As a shell script, if no command is given.
    Script,
    /// As SQL.
    Statements,
}

/// An option and some of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionValues {
    /// The option as written.
    pub option: &'static str,
    /// The values.
    pub values: List<&'static str>,
}

/// The effect of a form, and its conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectTerms {
    /// The effect if every condition is met.
    pub stated: Stated,
    /// The other options, if the list is complete: with an unlisted option, the effect is unknown.
    pub flags: Option<Options>,
    /// Options with which it changes something.
    pub changes_with: Options,
    /// Options of which one is required; without one, it changes something.
    pub reads_with: Options,
    /// Values of options, as globs, with which the effect is unknown.
    pub unknown_values: List<OptionValues>,
    /// The maximum number of words; with more, it changes something.
    pub most_words: Option<usize>,
    /// Options with which any number of words may be given.
    pub any_words_with: Options,
    /// Options whose value is SQL or code in the program's language.
    pub statements: Options,
    /// Globs for the words: each word must match one of them, and none of those that begin with `!`; otherwise, it
    /// changes something.
    pub words: List<&'static str>,
    /// The analysis that must prove that it only reads.
    pub check: Option<Check>,
}

impl EffectTerms {
    /// It only reads, unconditionally.
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

/// The stated effect of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// It changes nothing.
    Looks,
    /// It changes only the files that it writes.
    WritesFiles,
    /// It changes something.
    ChangesSomething,
    /// The effect is unknown.
    CannotBeSaid,
}

/// An analysis that decides whether a program only reads.
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
    /// SQL, including the words after the first one.
    SqlWords,
    /// A request to the API of a forge, by the options of `gh api`.
    ForgeApi,
    /// A script in Flux.
    Flux,
    /// A command of Redis or a similar store, in words or on standard input.
    KeyValue,
    /// Code of `mongosh`.
    Mongo,
    /// Lines that query a daemon over a socket.
    Socket,
    /// The commands that `sftp` reads from standard input.
    SftpBatch,
    /// The commands that `view` gets in `-c`.
    ExCommands,
}

/// Whether an unknown program name, such as `$X`, may be this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// If the following words fit.
    Always,
    /// If the name of the variable contains the name of the program.
    ByName,
    /// Never.
    NotGuessed,
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Does {
    /// The operation.
    pub verb: Verb,
    /// Other operations, by the options that select them.
    pub with: List<VerbWith>,
    /// The target and its position.
    pub to: Target,
    /// Options of which one is required: `rm -f`.
    pub needs: Options,
    /// Globs of which the first word must match one: `pod`, `pod/*`.
    pub first: List<&'static str>,
    /// Options with which the action applies to everything at once.
    pub all: Options,
    /// Options that select targets in place of names.
    pub selects: Options,
    /// Options that state a title.
    pub title: Options,
    /// The recipients of a message.
    pub recipients: Option<Part<Recipients>>,
}

/// An operation that options select: `s6-svc -d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbWith {
    /// The operation.
    pub verb: Verb,
    /// Options of which one selects it.
    pub options: Options,
}

/// The target of an action: a kind, and the position of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The kind.
    pub kind: TargetKind,
    /// The words that name it.
    pub at: Words,
}

/// The kind of a target.
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
    /// A daemon, or a program that a supervisor runs; in a container, it belongs to the service of the container.
    Process,
    /// A virtual machine or a system container.
    Guest,
    /// A Kubernetes workload: `KIND NAME…` or `KIND/NAME…`.
    Workload,
    /// A helm release.
    Release,
    /// An Ansible playbook.
    Playbook,
    /// The recipients that `recipients` describes.
    People,
    /// The recipients in apprise's arguments and configuration.
    Apprise,
    /// The addresses of HTTP requests.
    Requests,
    /// No target.
    NoTarget,
}

/// A selection of words of a command line, without options and their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// None.
    Nowhere,
    /// All words from this one on, counted from 0.
    From(usize),
    /// This word, counted from 0.
    Only(usize),
    /// The last word.
    Last,
    /// The words that `*` in the verb matches.
    Starred,
    /// The last part of the program's own path.
    OwnName,
    /// This name, whichever words follow.
    Constant(&'static str),
    /// The values of an option, or of one of several, as in `-n|--name`.
    ValueOf(&'static str),
}

/// The recipients of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipients {
    /// The operators, by the configured notification targets.
    pub operators: bool,
    /// Whether words are recipients; without one, nothing is sent.
    pub words: bool,
    /// Options that name recipients.
    pub options: Options,
    /// Options whose value is a header line of the message.
    pub headers: Options,
    /// Options with which the message states the recipients.
    pub in_message: Options,
    /// Options with which a file states the recipients.
    pub in_file: Options,
}

/// How a program takes the command that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub struct Runs {
    /// The form of the command.
    pub how: How,
    /// The number of words before the command, such as a time limit or a container; `None` if its words are never a
    /// command.
    pub after: Option<usize>,
    /// Options of which one is required for the words to be a command.
    pub words_need: Options,
    /// Options whose value is a script.
    pub script: Options,
    /// Options whose value contains words of the command: `env -S`.
    pub split: Options,
    /// Options that the command follows immediately: `nix develop -c`.
    pub at_once: Options,
    /// Options with which the words are not joined.
    pub exact: Options,
    /// Options with which the words are keys for a running shell.
    pub typed: Options,
    /// Whether `NAME=value` words may precede the command.
    pub assigns: bool,
    /// Whether the command runs in a container, a virtual machine or another root, without this machine's directories
    /// and variables.
    pub inside: bool,
    /// What the command runs in, and the position of its name.
    pub within: Option<Target>,
    /// Whether the command gets the whole environment.
    pub environment: bool,
    /// Whether the command runs repeatedly.
    pub repeats: bool,
    /// Options with which the command runs repeatedly.
    pub timers: Options,
    /// Options whose value is the working directory of the command.
    pub dir: Options,
    /// Whether a `--` after the first word of the command is removed: `minikube kubectl -- get pods`.
    pub drops_dashes: bool,
    /// Options with which standard input is a script if no command is given.
    pub stdin_with: Options,
}

/// The form of a command in the words of the program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A program and its arguments.
    Command,
    /// Words that are joined and read by a shell.
    Joined,
    /// Keys for a running shell.
    Typed,
    /// A shell: `-c SCRIPT`, a file, standard input.
    Shell,
    /// A script on another host, as for ssh.
    Ssh,
    /// An Ansible module.
    Ansible,
    /// The lines of a crontab.
    Crontab,
    /// A command that runs for the words on standard input, as for xargs.
    Xargs,
    /// A command that runs for each word on standard input or after `:::`, as for parallel.
    Parallel,
    /// A command that runs for each found file, after `-exec`.
    Find,
    /// A command that runs for each found file, after `-x`.
    Fd,
    /// The code of another language.
    Code(Language),
    /// The recipes of a makefile.
    Make,
    /// The scripts of a `package.json`.
    Package,
    /// The recipes of a justfile.
    Just,
    /// Every program in a folder, as for run-parts.
    RunParts,
    /// An alias of git, or its hooks.
    Git,
    /// What a unit of systemd runs, beside the action.
    UnitFile,
}

/// A language whose code is searched for commands that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// JavaScript for Node.js.
    Node,
    /// JavaScript for Deno and Bun.
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
    /// Options whose value is a file that is written.
    pub outputs: Options,
    /// Options whose value is read and may be shown.
    pub inputs: Options,
    /// Options whose value is a key that the program uses and does not show.
    pub keys: Options,
    /// Options of which one is required for words to be written: `sed -i`.
    pub writes_with: Options,
    /// Options with which nothing is written: `ssh-keygen -l`.
    pub keeps: Options,
    /// Options with which everything below a word is written: `rm -r`.
    pub deep: Options,
    /// Options with which the first word is a file, too: `sed -e`.
    pub first_is_file: Options,
    /// A specific way to name files, apart from words and options.
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

/// A specific way to name files.
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
    /// Folders that a container mounts, and `cp` into and out of it.
    Engine,
    /// A folder named after the last part of an address, or the word after it.
    Clone,
    /// Everything in the working directory is written.
    WorkingTree,
    /// Who may use a file, or a folder and with it everything below it.
    Rights,
    /// A mount point, and a folder that gets a second path.
    Mount,
    /// A database, by its SQL.
    Sqlite,
    /// The files that the code names.
    InCode,
    /// Variables of the environment, which it prints.
    Environment,
    /// Files below folders, with `-r` or the like.
    TextSearch,
    /// The scripts of the command that it explains.
    Explained,
}

/// A rule of `policy.never` and the words after the program that it denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// The name of the rule.
    pub rule: &'static str,
    /// Patterns of the denied words, of which one must match.
    pub patterns: List<&'static str>,
}
