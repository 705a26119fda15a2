//! The description of a program: one type for the YAML files of the catalogue, for `programs` in `hosts.yaml` and for the
//! constants that the build script compiles in.
//!
//! An operator's own programs live as long as the process. The build script uses this folder, too, so it only depends on
//! plain types.

mod change;
pub mod constant;
mod files;
mod form;
pub(super) mod keys;
pub(super) mod list;
mod read;
mod role;
mod roles;
mod runs;
mod words;

pub use change::Stated;
pub use files::{FileHow, Files};
pub use form::{Check, Does, EffectTerms, Form, Recipients, Stdin};
pub use keys::{Keys, Read, Value};
pub use list::{List, Map, Options, Part, Scripts, Texts};
pub use role::Role;
pub use runs::{After, How, Language, Runs};
pub use words::{Target, TargetKind, Words};

use constant::{Constant, Statics, plain};

keys::keys! {
    /// A program, or one of its verbs; see [programs.md](programs.md). A value that is only one word is the `effect`. The keys `names` to `abbreviates` belong to a program, all others to a program and to its verbs.
    pub struct Program {
        /// Names of the program, without a folder. Default: its key. Built-in programs may have globs, such as `mkfs.*` and `*/init.d/*`.
        pub names: Texts,
        /// Whether an unknown program name, such as `$X`, may be this program: `always`, `by_name` (if the name of the variable contains a name of the program) or `never`. Default: `by_name`.
        #[default(Guess::ByName)]
        pub guess: Guess,
        /// Further texts that identify the program in the name of a variable, such as `compose`.
        pub hints: Texts,
        /// Options whose value is the host that the program acts on.
        pub host: Options,
        /// Environment variables that name this host.
        pub host_variables: Texts,
        /// Options, and variables as `$NAME`, whose value is the address of a server that it asks for what happens elsewhere. At tiers that change something, it must be that of a listed host.
        pub servers: Texts,
        /// Words that name this host: `first`, or `remote` for each word such as `nas:/srv`.
        pub host_words: Option<HostWords>,
        /// Where the text that it prints comes from: from its standard input or its files (`input`), from an address (`answers`), or it is names of files (`file_names`) or contains IDs of processes (`process_ids`).
        pub prints: Option<Prints>,
        /// Whether it runs or loads what its working directory configures, such as `.git/config`. Default: `false`.
        pub loads_folder: bool,
        /// Subcommands, by the words that select them. `a | b c` are alternatives, `*` matches any word. A verb is a map or only its effect.
        pub verbs: List<VerbForm>,
        /// Commands that it runs beside its own work, by their place: an option, `word`, `stdin` (each line) or `$VARIABLE`, each with patterns in which the last `*` stands for the script. A script whose commands neither act, run others nor have rules is left out.
        pub commands: Map<Place, Scripts>,
        /// Rules of `policy.never` that apply to the program, by name, with patterns of the words after the program.
        pub never: Map<&'static str, Texts>,
        /// Patterns of the words after the program with which it prints secrets, by a command to use instead (empty if there is none), or `redacted` where it may run, because secrets in its output are replaced.
        pub shows: Map<&'static str, Texts>,
        /// Beginnings of its commands, after the name, that change something in any case. At a tier that may not change anything, the client denies them before the hook does.
        pub prefixes: Texts,
        /// Commands that only read, to suggest instead of commands that change something, by the words after the name; `"*"` for all others.
        pub instead: Map<&'static str, &'static str>,
        /// Commands that the description must apply to: they carry out an action or run another command; for a program that does neither, they only read. Required in `hosts.yaml`, and checked when the file is read.
        pub matches: Texts,
        /// Commands that the description must not apply to. Checked when the file is read.
        pub differs: Texts,
        /// Whether its long options have one dash, such as `-out=FILE`.
        pub one_dash: bool,
        /// Whether its long options may be abbreviated, such as `--start-at` for `--start-at-task`: the options without a value that are the beginning of one with a value, such as `--become`. Default: they may not.
        pub abbreviates: Option<Options>,
    }
    beside {
        /// Its key in the catalogue.
        pub key: &'static str,
        /// Options that take a value, before the verb, and after a verb that lists none; `None` if they are not known.
        pub value: Option<Options>,
        /// The form without a verb, or with an unlisted verb.
        pub form: Form,
        /// The ways to write its verbs: first those whose first word is a glob, then all others, sorted by their first word.
        pub ways: List<Way>,
        /// Whether it carries out an action in some form.
        pub acts: bool,
        /// Whether some change of it has a class that is always denied.
        pub classed: bool,
    }
}

/// Whether an unknown program name, such as `$X`, may be this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Guess {
    /// If the following words fit.
    Always,
    /// If the name of the variable contains the name of the program.
    ByName,
    /// Never.
    Never,
}

/// Words that name the host that a program acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostWords {
    /// The first word.
    First,
    /// Every word with a colon before its first slash: `nas:/srv`.
    Remote,
}

/// Where the text that a program prints comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
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

keys::choices! { Guess HostWords Prints }
keys::plain! { Program }
plain! { Place, "Place::"; }

/// A subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbForm {
    /// The ways to write it, each a list of words: `rollout restart`. `*` matches any word, which is stored.
    pub paths: List<Texts>,
    /// The form with this verb.
    pub form: Form,
}

impl Constant for VerbForm {
    fn type_name() -> String {
        "VerbForm".to_owned()
    }

    fn expression(&self, statics: &mut Statics) -> String {
        let (paths, form) = (self.paths.expression(statics), self.form.expression(statics));
        format!("VerbForm {{ paths: {paths}, form: {form} }}")
    }
}

/// One way to write a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The index of the verb.
    pub verb: usize,
    /// The index among its paths.
    pub path: usize,
}

plain! { Way, ""; }

impl Program {
    /// Its forms: those with a verb, then the one without.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        self.verbs.iter().map(|verb| &verb.form).chain([&self.form])
    }

    /// The ways to write a verb that may begin with this word, globs last.
    pub fn ways(&self, word: &str) -> impl Iterator<Item = (&VerbForm, &Texts)> {
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

    /// The program with the ways to write its verbs, and whether it acts.
    #[must_use]
    pub fn with_ways(mut self) -> Self {
        let paths =
            |(verb, form): (usize, &VerbForm)| (0..form.paths.len()).map(move |path| Way { verb, path });
        let mut ways: Vec<Way> = self.verbs.iter().enumerate().flat_map(paths).collect();
        ways.sort_by_key(|way| self.sorted_by(*way));
        self.ways = List::keep(ways);
        let acts = self.forms().any(|form| form.does.is_some() || form.then.is_some());
        let classed = self.forms().filter_map(|form| form.effect).any(|terms| terms.has_class());
        self.acts = acts;
        self.classed = classed;
        self
    }
}
