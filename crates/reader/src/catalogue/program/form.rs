//! The form of a program: what it does with a verb, or without one.

use super::change::Stated;
use super::files::Files;
use super::keys;
use super::list::{Map, Options, Part, Texts};
use super::role::Role;
use super::runs::Runs;
use super::words::{Target, TargetKind};
use crate::terms::class::Class;
use crate::terms::verb::Verb;

keys::keys! {
    /// One form of a program: with a verb, or without one.
    pub struct Form {
        /// Options that take a value, such as `-n`, `--namespace`; `-p*` takes it in the same word only. Default for a verb: those of the program.
        pub value: Option<Options>,
        /// Options by their roles, such as `{folder: [-t, --target-directory], recursive: [-r]}`. Default for a verb: those of the program.
        pub options: Map<Role, Options>,
        /// Options with which it changes nothing, such as `--help` and `--dry-run`.
        pub quiet: Options,
        /// Values of options with which it changes nothing, by option.
        pub quiet_values: Map<&'static str, Texts>,
        /// Program whose verbs follow, by its key.
        pub then: Option<&'static str>,
        /// How it uses standard input: as data (`text`), as a shell script if no command is given (`script`), or as SQL (`statements`). Default: `text`.
        #[default(Stdin::Text)]
        pub stdin: Stdin,
        /// Whether it fetches or builds other versions, which `docker compose up` in the same command then puts in place. Default: `false`.
        pub fetches: bool,
        /// Number of words with which it prints the names of everything that runs.
        pub lists: Option<usize>,
        /// Options of which one is required for it to print these names.
        pub lists_with: Options,
    }
    beside {
        /// The effect if it carries out no action; `None` for the effect of the command that it runs, otherwise unknown.
        pub effect: Option<Part<EffectTerms>>,
        /// The action that it carries out.
        pub does: Option<Part<Does>>,
        /// The command that it runs.
        pub runs: Option<Part<Runs>>,
        /// The files that it reads and writes.
        pub files: Option<Part<Files>>,
        /// All options that take a value: the listed ones, those whose value is a file, and those whose role has a value.
        pub valued: Options,
        /// All described options that take no value.
        pub flags: Options,
    }

    /// The effect of a form, and its conditions.
    pub struct EffectTerms {
        /// Effect on the world of a command that carries out no action: `reads`, `writes` (only the files that it writes), `unknown`, or the class of what it changes: `plain`, or one that is always denied, such as `power`. Default: the effect of the command that it runs, otherwise `unknown`.
        #[key = "effect"]
        #[default(Stated::Reads)]
        pub stated: Stated,
        /// Complete list of the harmless options without a value: with an option that is not listed under any key, the effect is unknown. Without this key, only the options in `changes_with` change something.
        pub flags: Option<Options>,
        /// Options with which it changes something, by the class of the change, such as `{plain: [--repair]}`; `-*` for all options that are not listed, where these run no other program.
        #[key = "changes_with"]
        pub classes: Map<Class, Options>,
        /// Options of which one is required for it to only read; without one, it changes something.
        pub reads_with: Options,
        /// Class of what it changes without an option of `reads_with`. Default: `other`.
        pub otherwise: Option<Class>,
        /// Values of options, as globs, with which the effect is unknown, by option, or `-*` for every option; without a glob, the option itself.
        pub unknown_values: Map<&'static str, Texts>,
        /// Values of options, as globs, with which it changes something, by option: those of `unknown_values` of which the effect is known.
        pub changing_values: Map<&'static str, Texts>,
        /// Maximum number of words; with more, it changes something.
        pub most_words: Option<usize>,
        /// Options with which any number of words may be given. Where they are stated, `most_words` also holds in a dry run.
        pub any_words_with: Options,
        /// Globs for the words: each word must match one of them, and none of those that begin with `!`; otherwise, it changes something.
        pub words: Texts,
        /// Globs of words with which the effect is unknown; if all begin with `!`, of the words with which it is known.
        pub unknown_words: Texts,
        /// Options whose value is a statement in SQL.
        pub statements: Options,
        /// Analysis that must prove that the command only reads.
        pub check: Option<Check>,
    }
    beside {
        /// All options with which it changes something.
        pub changes_with: Options,
    }

    /// An action.
    pub struct Does {
        /// Action that it carries out. `create` creates a pull request, `send` sends a message, `loosen` weakens opsctl's own limits.
        #[key = "does"]
        #[default(Verb::Restart)]
        pub verb: Verb,
        /// Target of the action: a kind and a position, such as `service 1`, `container...` or `unit --unit`, or a kind and a name, such as `process =unbound`. Required for most actions.
        #[default(Target::unnamed(TargetKind::Nothing))]
        pub to: Target,
        /// Other actions that options select, by action, such as `{stop: [-d], start: [-u]}`.
        #[key = "does_with"]
        pub with: Map<Verb, Options>,
        /// Options of which one is required for it to carry out the action.
        pub needs: Options,
        /// Globs of which the first word must match one for it to carry out the action.
        pub first: Texts,
        /// Globs of which some word must match one for it to carry out the action, such as `*=*`.
        pub some: Texts,
        /// Options with which the action applies to everything at once, which is denied where `hosts.yaml` does not state what that is.
        pub all: Options,
        /// Options that select targets in place of names, such as `--latest` and `--filter name=x`.
        pub selects: Options,
        /// Options whose value is the title of a pull request.
        pub title: Options,
        /// Recipients of the message, for `does: send`.
        pub recipients: Option<Part<Recipients>>,
    }

    /// Recipients of a message.
    pub struct Recipients {
        /// Whether the operators are recipients. Default: `false`.
        pub operators: bool,
        /// Whether the name of the program is the recipient: what it sends goes where its settings or a page that others read state. Default: `false`.
        pub program: bool,
        /// Whether the words are recipients; without one, nothing is sent. Default: `false`.
        pub words: bool,
        /// Options whose value is a recipient.
        pub options: Options,
        /// Options whose value is a header line of the message.
        pub headers: Options,
        /// Options with which the message states the recipients.
        pub in_message: Options,
        /// Options with which a file states the recipients.
        pub in_file: Options,
    }
}

impl EffectTerms {
    /// Whether a change of the form has a class that is always denied.
    pub(super) fn has_class(&self) -> bool {
        let stated = matches!(self.stated, Stated::Changes(class) if class.is_denied(true));
        stated
            || !self.reads_with.is_empty()
            || !self.words.is_empty()
            || self.most_words.is_some()
            || self.otherwise.is_some_and(|class| class.is_denied(true))
            || self.classes.iter().any(|(class, _)| class.is_denied(true))
            || self.check.is_some()
    }
}

/// How a program uses standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// As text or data, or not at all.
    Text,
    /// As a shell script, if no command is given.
    Script,
    /// As SQL.
    Statements,
}

/// An analysis that decides whether a program only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// A condition of SQL, in options.
    SqlCondition,
    /// A script in Flux.
    Flux,
    /// A request to the API of a forge, by the options of `gh api`.
    ForgeApi,
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
    /// The commands that an editor gets on standard input.
    EditorScript,
}

keys::choices! { Stdin Check Verb Class }
