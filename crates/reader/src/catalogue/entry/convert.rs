//! From the YAML form of a program's description to the program.

use std::collections::BTreeMap;
use std::fmt;

use super::super::options::{ABBREVIATES, ONE_DASH};
use super::super::program::{
    Check, Commands, Denial, Does, EffectTerms, FileHow, Files, Form, Guess, HostWords, How, Language, List,
    Lists, OptionValues, Options, Part, Place, Prints, Program, Recipients, Runs, Stated, Stdin, Target,
    TargetKind, VerbForm, VerbWith, Words,
};
use super::{
    CheckWire, EntryWire, FilesWire, GuessWire, HostWordsWire, Keys, PrintsWire, StatedWire, StdinWire,
    Texts, VerbWire,
};
use crate::model::verb::Verb;

/// Why a description is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryError {
    /// The mistake.
    pub what: String,
    /// The remedy: what to write instead.
    pub remedy: String,
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

impl std::error::Error for EntryError {}

fn wrong<T>(what: impl Into<String>, remedy: impl Into<String>) -> Result<T, EntryError> {
    Err(EntryError { what: what.into(), remedy: remedy.into() })
}

impl EntryWire {
    /// The description as constants, kept for the life of the process.
    pub fn into_program(self, key: &str) -> Result<Program, EntryError> {
        let mut keys = *self.0;
        if keys.one_dash {
            keys.value.get_or_insert_default().0.push(ONE_DASH.to_owned());
            for (_, verb) in &mut keys.verbs.0 {
                verb.0.value.iter_mut().for_each(|value| value.0.push(ONE_DASH.to_owned()));
            }
        }
        if let Some(flags) = &keys.abbreviates {
            let marks = flags.0.iter().filter_map(|flag| flag.strip_prefix("--"));
            let marks = marks.map(|flag| format!("{ABBREVIATES}{flag}")).chain([ABBREVIATES.to_owned()]);
            keys.value.get_or_insert_default().0.extend(marks);
        }
        let mut verbs = Vec::new();
        for (words, entry) in &keys.verbs.0 {
            verbs.push(verb(words, &entry.0)?);
        }
        Ok(Program {
            key: text(key),
            names: if keys.names.is_empty() { list(vec![text(key)]) } else { texts(&keys.names) },
            guess: match keys.guess {
                Some(GuessWire::Always) => Guess::Always,
                Some(GuessWire::Never) => Guess::NotGuessed,
                Some(GuessWire::ByName) | None => Guess::ByName,
            },
            value: keys.value.as_ref().map(options).transpose()?,
            hints: texts(&keys.hints),
            host: options(&keys.host)?,
            host_variables: texts(&keys.host_variables),
            host_words: keys.host_words.map(|words| match words {
                HostWordsWire::First => HostWords::First,
                HostWordsWire::Remote => HostWords::Remote,
            }),
            prints: keys.prints.map(|prints| match prints {
                PrintsWire::Input => Prints::Input,
                PrintsWire::Answers => Prints::Answers,
                PrintsWire::FileNames => Prints::FileNames,
                PrintsWire::ProcessIds => Prints::ProcessIds,
            }),
            loads_folder: keys.loads_folder,
            commands: commands(&keys.commands)?,
            never: list(
                keys.never
                    .iter()
                    .map(|(rule, patterns)| Denial { rule: text(rule), patterns: texts(patterns) })
                    .collect(),
            ),
            prefixes: texts(&keys.prefixes),
            instead: list(keys.instead.iter().map(|(verb, command)| (text(verb), text(command))).collect()),
            form: form(&keys)?,
            verbs: list(verbs),
            ways: List::EMPTY,
        }
        .with_ways())
    }
}

/// Leaks a text: constants are created once, at build time or when a process reads its policy.
fn text(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

fn list<T>(items: Vec<T>) -> List<T> {
    if items.is_empty() { List::EMPTY } else { List(Vec::leak(items)) }
}

fn part<T>(value: T) -> Part<T> {
    Part(Box::leak(Box::new(value)))
}

fn texts(Texts(items): &Texts) -> List<&'static str> {
    list(items.iter().map(|item| text(item)).collect())
}

fn options(items: &Texts) -> Result<Options, EntryError> {
    match items.0.iter().find(|item| !item.starts_with('-') || item.len() < 2) {
        Some(item) => wrong(format!("`{item}` is not an option"), "options begin with `-`"),
        None => Ok(texts(items)),
    }
}

fn commands(places: &BTreeMap<String, Texts>) -> Result<List<Commands>, EntryError> {
    let commands = places.iter().map(|(written, patterns)| {
        let place = match written.as_str() {
            "word" => Place::EachWord,
            "stdin" => Place::InputLine,
            option if option.len() > 1 && option.starts_with('-') => Place::OptionValue(text(option)),
            variable if variable.len() > 1 && variable.starts_with('$') => {
                Place::Variable(text(variable.get(1..).unwrap_or_default()))
            }
            _ => {
                return wrong(
                    format!("`{written}` is not a place of a command"),
                    "write an option, `word`, `stdin` or a variable such as `$PAGER`",
                );
            }
        };
        match patterns.0.iter().find(|pattern| !pattern.contains('*')) {
            Some(pattern) => {
                wrong(format!("`{pattern}` has no place for a script"), "write `*` where the script stands")
            }
            None => Ok(Commands { place, patterns: texts(patterns) }),
        }
    });
    Ok(list(commands.collect::<Result<_, _>>()?))
}

fn verb(words: &str, keys: &Keys) -> Result<VerbForm, EntryError> {
    let program_keys = [
        ("names", keys.names.is_empty()),
        ("guess", keys.guess.is_none()),
        ("hints", keys.hints.is_empty()),
        ("one_dash", !keys.one_dash),
        ("abbreviates", keys.abbreviates.is_none()),
        ("host", keys.host.is_empty()),
        ("host_variables", keys.host_variables.is_empty()),
        ("host_words", keys.host_words.is_none()),
        ("prints", keys.prints.is_none()),
        ("loads_folder", !keys.loads_folder),
        ("verbs", keys.verbs.is_empty()),
        ("commands", keys.commands.is_empty()),
        ("never", keys.never.is_empty()),
        ("prefixes", keys.prefixes.is_empty()),
        ("instead", keys.instead.is_empty()),
        ("matches", keys.matches.is_empty()),
        ("differs", keys.differs.is_empty()),
    ];
    if let Some((key, _)) = program_keys.iter().find(|(_, absent)| !absent) {
        return wrong(
            format!("`{key}` is in the verb `{words}`"),
            "it is a key of the program; write it beside `verbs`",
        );
    }
    let mut paths = Vec::new();
    for way in words.split('|') {
        let path: Vec<&'static str> = way.split_whitespace().map(text).collect();
        if path.is_empty() || path.iter().any(|word| word.starts_with('-')) {
            return wrong(
                format!("`{words}` is not a verb"),
                "write words such as `restart`, `rollout restart` or `stop | kill`",
            );
        }
        paths.push(list(path));
    }
    Ok(VerbForm { paths: list(paths), form: form(keys)? })
}

fn form(keys: &Keys) -> Result<Form, EntryError> {
    Ok(Form {
        value: keys.value.as_ref().map(options).transpose()?,
        quiet: options(&keys.quiet)?,
        quiet_values: option_values(&keys.quiet_values),
        effect: effect(keys)?,
        does: does(keys)?,
        runs: runs(keys)?,
        then: keys.then.as_deref().map(text),
        files: files(keys)?,
        stdin: match keys.stdin {
            Some(StdinWire::Script) => Stdin::Script,
            Some(StdinWire::Statements) => Stdin::Statements,
            Some(StdinWire::Text) | None => Stdin::Text,
        },
        lists: match keys.lists {
            Some(words) => Some(Lists { words, with: options(&keys.lists_with)? }),
            None => None,
        },
    })
}

fn effect(keys: &Keys) -> Result<Option<Part<EffectTerms>>, EntryError> {
    let terms = EffectTerms {
        stated: match keys.effect {
            Some(StatedWire::Reads) => Stated::Looks,
            Some(StatedWire::Writes) => Stated::WritesFiles,
            Some(StatedWire::Changes) => Stated::ChangesSomething,
            Some(StatedWire::Unknown) | None => Stated::CannotBeSaid,
        },
        flags: keys.flags.as_ref().map(options).transpose()?,
        changes_with: options(&keys.changes_with)?,
        reads_with: options(&keys.reads_with)?,
        unknown_values: option_values(&keys.unknown_values),
        most_words: keys.most_words,
        any_words_with: options(&keys.any_words_with)?,
        statements: options(&keys.statements)?,
        words: texts(&keys.words),
        check: keys.check.map(|check| match check {
            CheckWire::SedScript => Check::SedScript,
            CheckWire::AwkProgram => Check::AwkProgram,
            CheckWire::Sql => Check::Sql,
            CheckWire::FindExpression => Check::FindExpression,
            CheckWire::ArchiveMode => Check::ArchiveMode,
            CheckWire::HttpRequest => Check::HttpRequest,
            CheckWire::AnsibleModule => Check::AnsibleModule,
            CheckWire::SqlWords => Check::SqlWords,
            CheckWire::Flux => Check::Flux,
            CheckWire::ForgeApi => Check::ForgeApi,
            CheckWire::KeyValue => Check::KeyValue,
            CheckWire::Mongo => Check::Mongo,
            CheckWire::Socket => Check::Socket,
            CheckWire::SftpBatch => Check::SftpBatch,
            CheckWire::ExCommands => Check::ExCommands,
        }),
    };
    let is_stated = keys.effect.is_some();
    // A program that runs another one may have its own conditions.
    let conditions = EffectTerms { stated: Stated::CannotBeSaid, ..EffectTerms::PLAIN };
    if !is_stated && keys.runs.is_none() && terms != conditions {
        return wrong("conditions of an effect without the effect", "add `effect: reads`");
    }
    let terms = if is_stated { terms } else { EffectTerms { stated: Stated::Looks, ..terms } };
    Ok((is_stated || terms != EffectTerms::PLAIN).then(|| part(terms)))
}

fn option_values(values: &BTreeMap<String, Texts>) -> List<OptionValues> {
    list(
        values
            .iter()
            .map(|(option, values)| OptionValues { option: text(option), values: texts(values) })
            .collect(),
    )
}

fn does(keys: &Keys) -> Result<Option<Part<Does>>, EntryError> {
    let Some(verb) = keys.does else {
        let idle =
            keys.to.is_none() && keys.needs.is_empty() && keys.first.is_empty() && keys.recipients.is_none();
        return if idle {
            Ok(None)
        } else {
            wrong("`to`, `needs`, `first` and `recipients` belong to an action", "add `does`")
        };
    };
    let verb = verb_of(verb);
    let to = match (&keys.to, verb) {
        (Some(to), _) => target(to)?,
        (None, Verb::Create | Verb::Loosen) => Target { kind: TargetKind::NoTarget, at: Words::Nowhere },
        (None, Verb::Send) => Target { kind: TargetKind::People, at: Words::Nowhere },
        (None, _) => {
            return wrong(
                format!("`does: {}` without `to`", verb.as_str()),
                "add the target, such as `to: service 1`",
            );
        }
    };
    let recipients = keys.recipients.as_ref().map(|wire| {
        Ok(part(Recipients {
            operators: wire.operators,
            words: wire.words,
            options: options(&wire.options)?,
            headers: options(&wire.headers)?,
            in_message: options(&wire.in_message)?,
            in_file: options(&wire.in_file)?,
        }))
    });
    let with = keys
        .does_with
        .iter()
        .map(|(wire, selecting)| Ok(VerbWith { verb: verb_of(*wire), options: options(selecting)? }));
    Ok(Some(part(Does {
        verb,
        with: list(with.collect::<Result<_, _>>()?),
        to,
        needs: options(&keys.needs)?,
        first: texts(&keys.first),
        all: options(&keys.all)?,
        selects: options(&keys.selects)?,
        title: options(&keys.title)?,
        recipients: recipients.transpose()?,
    })))
}

/// The operation of an action.
const fn verb_of(wire: VerbWire) -> Verb {
    match wire {
        VerbWire::Restart => Verb::Restart,
        VerbWire::Stop => Verb::Stop,
        VerbWire::Start => Verb::Start,
        VerbWire::Scale => Verb::Scale,
        VerbWire::Deploy => Verb::Deploy,
        VerbWire::Rollback => Verb::Rollback,
        VerbWire::Uninstall => Verb::Uninstall,
        VerbWire::Create => Verb::Create,
        VerbWire::Send => Verb::Send,
        VerbWire::Loosen => Verb::Loosen,
    }
}

fn target(written: &str) -> Result<Target, EntryError> {
    let (kind, position) = kind_and_position(written);
    let kind = match kind {
        "service" => TargetKind::Service,
        "container" => TargetKind::Container,
        "compose" => TargetKind::Compose,
        "project" => TargetKind::Project,
        "unit" => TargetKind::Unit,
        "process" => TargetKind::Process,
        "guest" => TargetKind::Guest,
        "workload" => TargetKind::Workload,
        "release" => TargetKind::Release,
        "playbook" => TargetKind::Playbook,
        "recipients" => TargetKind::People,
        "apprise" => TargetKind::Apprise,
        "requests" => TargetKind::Requests,
        "nothing" => TargetKind::NoTarget,
        _ => {
            return wrong(
                format!("`{written}` is not a target"),
                "write `service`, `container`, `compose`, `project`, `unit`, `process`, `workload`, `guest`, `release` or `playbook` and a position, such as `service 1`",
            );
        }
    };
    Ok(Target { kind, at: words(position, written)? })
}

/// `container...` → `container`, `...`.
fn kind_and_position(written: &str) -> (&str, &str) {
    let end = written.find(|c: char| c.is_whitespace() || c == '.').unwrap_or(written.len());
    let (kind, position) = written.split_at(end);
    (kind, position.trim())
}

fn words(position: &str, written: &str) -> Result<Words, EntryError> {
    let number = |text: &str| text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    Ok(match position {
        "..." => Words::From(0),
        "" => Words::Nowhere,
        "last" => Words::Last,
        "*" => Words::Starred,
        "name" => Words::OwnName,
        _ if position.starts_with('-') => Words::ValueOf(text(position)),
        _ if position.len() > 1 && position.starts_with('=') => Words::Constant(text(&position[1..])),
        _ => {
            let (digits, all) =
                position.strip_suffix("...").map_or((position, false), |digits| (digits, true));
            match number(digits) {
                Some(number) if all => Words::From(number),
                Some(number) => Words::Only(number),
                None => {
                    return wrong(
                        format!("`{written}` names no words"),
                        "write a position: `...` (every word), `2...`, `1`, `last`, an option such as `--name` or `-n|--name`, or a name such as `=unbound`",
                    );
                }
            }
        }
    })
}

fn runs(keys: &Keys) -> Result<Option<Part<Runs>>, EntryError> {
    let Some(how) = &keys.runs else {
        let idle = keys.after.is_none() && keys.script.is_empty() && keys.stdin_with.is_empty();
        return if idle {
            Ok(None)
        } else {
            wrong("`after`, `script` and `stdin_with` belong to a program that runs a command", "add `runs`")
        };
    };
    let how = match how.as_str() {
        "command" => How::Command,
        "joined" => How::Joined,
        "typed" => How::Typed,
        "shell" => How::Shell,
        "ssh" => How::Ssh,
        "ansible" => How::Ansible,
        "crontab" => How::Crontab,
        "xargs" => How::Xargs,
        "parallel" => How::Parallel,
        "find" => How::Find,
        "fd" => How::Fd,
        "make" => How::Make,
        "package" => How::Package,
        "just" => How::Just,
        "run_parts" => How::RunParts,
        "git" => How::Git,
        "unit" => How::UnitFile,
        "code python" => How::Code(Language::Python),
        "code perl" => How::Code(Language::Perl),
        "code ruby" => How::Code(Language::Ruby),
        "code node" => How::Code(Language::Node),
        "code deno" => How::Code(Language::Deno),
        "code awk" => How::Code(Language::Awk),
        "code php" => How::Code(Language::Php),
        "code lua" => How::Code(Language::Lua),
        _ => {
            return wrong(
                format!("`runs: {how}` is not a way to run a command"),
                "write `runs: command` or `runs: joined`",
            );
        }
    };
    Ok(Some(part(Runs {
        how,
        after: match keys.after {
            None => Some(0),
            Some(-1) => None,
            Some(count) => match usize::try_from(count) {
                Ok(count) => Some(count),
                Err(_) => {
                    return wrong(
                        format!("`after: {count}` is not a number of words"),
                        "write 0 or more, or -1",
                    );
                }
            },
        },
        words_need: options(&keys.words_need)?,
        script: options(&keys.script)?,
        split: options(&keys.split)?,
        at_once: options(&keys.at_once)?,
        exact: options(&keys.exact)?,
        typed: options(&keys.typed)?,
        assigns: keys.assigns,
        inside: keys.inside,
        within: keys.within.as_deref().map(target).transpose()?,
        environment: keys.environment,
        repeats: keys.repeats,
        timers: options(&keys.timers)?,
        dir: options(&keys.dir)?,
        drops_dashes: keys.drops_dashes,
        stdin_with: options(&keys.stdin_with)?,
    })))
}

fn files(keys: &Keys) -> Result<Option<Part<Files>>, EntryError> {
    let file_words = |written: &Option<String>, otherwise: Words| match written.as_deref() {
        None => Ok(otherwise),
        Some("none") => Ok(Words::Nowhere),
        Some(written) => match kind_and_position(written) {
            ("word", position) => words(position, written),
            _ => wrong(
                format!("`{written}` names no words"),
                "write `word...`, `word 2...`, `word 1`, `word last` or `none`",
            ),
        },
    };
    let files = Files {
        reads: file_words(&keys.reads, Words::From(0))?,
        writes: file_words(&keys.writes, Words::Nowhere)?,
        outputs: options(&keys.outputs)?,
        inputs: options(&keys.inputs)?,
        keys: options(&keys.secrets)?,
        writes_with: options(&keys.writes_with)?,
        keeps: options(&keys.keeps)?,
        deep: options(&keys.deep)?,
        first_is_file: options(&keys.first_is_file)?,
        how: keys.files.map(|how| match how {
            FilesWire::Copy => FileHow::Copy,
            FilesWire::Dd => FileHow::Dd,
            FilesWire::Archive => FileHow::Archive,
            FilesWire::Downloads => FileHow::Downloads,
            FilesWire::Search => FileHow::Search,
            FilesWire::Engine => FileHow::Engine,
            FilesWire::Clone => FileHow::Clone,
            FilesWire::WorkingTree => FileHow::WorkingTree,
            FilesWire::Rights => FileHow::Rights,
            FilesWire::Mount => FileHow::Mount,
            FilesWire::Sqlite => FileHow::Sqlite,
            FilesWire::InCode => FileHow::InCode,
            FilesWire::Environment => FileHow::Environment,
            FilesWire::TextSearch => FileHow::TextSearch,
            FilesWire::Explained => FileHow::Explained,
        }),
    };
    // `reads: word...` differs from a missing key.
    Ok((files != Files::PLAIN || keys.reads.is_some()).then(|| part(files)))
}
