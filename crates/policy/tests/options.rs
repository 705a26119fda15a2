//! Options of every program, in every spelling and place: none of them hides the file that a command reads or writes.
#![cfg(test)]

use std::collections::BTreeSet;
use std::thread;

use opsctl_policy::files::values::{self, Kind};
use opsctl_policy::files::{self, Access, guarded::Locations};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::options::{ABBREVIATES, ONE_DASH};
use opsctl_reader::catalogue::program::{Form, Program, Role};
use opsctl_reader::shell::{self, Construct, Node};

/// A file that may not be written, and one that may not be read.
const PROTECTED: &str = "/etc/sudoers";
const SECRET: &str = "/app/.env";
/// What stands beside them: files, and the value of each option.
const PLAIN: &str = "/tmp/x";
const VALUE: &str = "/tmp/v";

/// A form of a program, with one way of writing it.
#[derive(Clone, Copy)]
struct Case {
    program: &'static Program,
    path: &'static [&'static str],
    form: &'static Form,
}

fn cases() -> Vec<Case> {
    let of = |program: &'static Program| {
        let verbs =
            program.verbs.iter().map(move |verb| Case { program, path: verb.paths[0].0, form: &verb.form });
        verbs.chain([Case { program, path: &[], form: &program.form }])
    };
    Catalogue::default().programs().flat_map(of).collect()
}

/// What a command does to files.
fn accesses(words: &[String]) -> Vec<Access> {
    let script = shell::read(&words.join(" "), Some("/app"));
    let mut found = Vec::new();
    script.visit(|node| {
        if let Node::Command(command) | Node::Group(Construct::Through(command), _) = node {
            let inner = matches!(node, Node::Command(_));
            found.extend(files::accesses(command, inner, script.catalogue, &UnknownMachine));
        }
    });
    found
}

/// The rules about files that a command breaks.
fn broken(words: &[String]) -> BTreeSet<&'static str> {
    let script = shell::read(&words.join(" "), Some("/app"));
    let locations = || Locations {
        project: "/app".into(),
        home: Some("/home/agent".into()),
        ledger: "/state/claudeops.db".into(),
        state: "/state".into(),
        hosts: vec!["/app/hosts.yaml".into()],
        ..Locations::default()
    };
    let reasons = files::objections(&script, &Rules::default(), &locations, &UnknownMachine);
    reasons.into_iter().map(|reason| reason.rule).collect()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Case {
    fn head(self) -> Vec<String> {
        let name = match self.program.names[0] {
            // The name alone is a word of the shell.
            "time" => "/usr/bin/time".to_owned(),
            glob if glob.contains('/') => glob.replace('*', "/etc").replacen("//", "/", 1),
            name => name.replace("[0-9]*", "3").replace('*', "x"),
        };
        let verb =
            self.path.iter().map(|word| if *word == "*" { "x".to_owned() } else { word.replace('*', "9") });
        std::iter::once(name).chain(verb).collect()
    }

    /// The options without a value with which the form reads or writes other files, and none.
    fn modes(self) -> Vec<Vec<String>> {
        let files = self.form.files.or(self.program.form.files);
        let needed = files.iter().flat_map(|files| [files.writes_with.first(), files.first_is_file.first()]);
        let roles = if self.form.options.is_empty() { self.program.form.options } else { self.form.options };
        let roles =
            roles.iter().filter(|(role, _)| !role.has_value()).filter_map(|(_, options)| options.first());
        let modes: BTreeSet<&str> =
            needed.flatten().chain(roles).copied().filter(|option| !option.contains('=')).collect();
        std::iter::once(vec![]).chain(modes.into_iter().map(|mode| vec![mode.to_owned()])).collect()
    }

    /// The words behind the verb that read or write a guarded file.
    fn bases(self) -> Vec<Vec<String>> {
        let words = [
            vec![PROTECTED],
            vec![PLAIN, PROTECTED],
            vec![PROTECTED, PLAIN],
            vec![SECRET],
            vec![PLAIN, SECRET],
        ];
        let bases = self.modes().into_iter().flat_map(|mode| {
            words.iter().map(move |words| mode.iter().cloned().chain(owned(words)).collect::<Vec<_>>())
        });
        bases.collect()
    }

    /// Whether the words are a command with this option.
    fn runs_words_with(self, option: &str) -> bool {
        self.form.runs.is_some_and(|runs| runs.words_need.contains(&option))
    }

    /// The options with a value.
    fn options(self) -> Vec<&'static str> {
        let valued = self.form.valued.iter().copied();
        valued.filter(|option| *option != ONE_DASH && !option.starts_with(ABBREVIATES)).collect()
    }

    fn has_role(self, option: &str, roles: &[Role]) -> bool {
        let own = if self.form.options.is_empty() { self.program.form.options } else { self.form.options };
        own.iter().any(|(role, options)| roles.contains(role) && options.contains(&option))
    }

    /// The spellings of an option with its value.
    fn spellings(self, option: &str) -> Vec<Vec<String>> {
        let value = if self.has_role(option, &[Role::TakesTwo]) {
            vec![VALUE.to_owned(), VALUE.to_owned()]
        } else {
            vec![VALUE.to_owned()]
        };
        let apart = |name: &str| [vec![name.to_owned()], value.clone()].concat();
        let joined = |text: String| [vec![text], value[1..].to_vec()].concat();
        if let Some(attached) = option.strip_suffix('*') {
            return vec![joined(format!("{attached}{VALUE}"))];
        }
        let long = option.len() > 2;
        let mut found = vec![apart(option)];
        if !long {
            found.push(joined(format!("{option}{VALUE}")));
        } else if self.program.key != "find" {
            found.push(joined(format!("{option}={VALUE}")));
        }
        if long && self.form.valued.contains(&ABBREVIATES) && option.starts_with("--") {
            let known: BTreeSet<&str> =
                self.form.valued.iter().chain(self.form.flags.iter()).copied().collect();
            let is_unique = |short: &&str| {
                known
                    .iter()
                    .filter(|one| {
                        one.trim_start_matches("--*").trim_start_matches("--").starts_with(&short[2..])
                    })
                    .count()
                    == 1
            };
            let shortest = (4..option.len()).map(|end| &option[..end]).find(is_unique);
            found.extend(shortest.map(apart));
            found.extend(shortest.map(|short| joined(format!("{short}={VALUE}"))));
        }
        found
    }
}

/// Options that state themselves what is read or written, in place of the words.
const REPLACING: [Role; 6] =
    [Role::Folder, Role::Source, Role::Archive, Role::NamesOutput, Role::Names, Role::Excludes];

/// The commands in which an option hides a guarded file, and the number of commands.
fn hidden(case: Case) -> (Vec<String>, usize) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let head = case.head();
    for base in case.bases() {
        let plain = [head.clone(), base.clone()].concat();
        let expected = broken(&plain);
        if expected.is_empty() {
            continue;
        }
        let guarded = |access: &Access| access.path.contains(PROTECTED) || access.path.contains(SECRET);
        let needed: Vec<Access> = accesses(&plain).into_iter().filter(guarded).collect();
        for option in case.options() {
            if case.has_role(option, &REPLACING) || case.runs_words_with(option) {
                continue;
            }
            for spelling in case.spellings(option) {
                for place in 0..=base.len() {
                    let (before, behind) = base.split_at(place);
                    let words = [head.as_slice(), before, &spelling, behind].concat();
                    count += 1;
                    // The same accesses have the same verdict.
                    let given = accesses(&words);
                    if needed.iter().all(|access| given.contains(access)) {
                        continue;
                    }
                    let found = broken(&words);
                    if !expected.is_subset(&found) {
                        wrong.push(format!("{}: {expected:?}, found {found:?}", words.join(" ")));
                    }
                }
            }
        }
    }
    (wrong, count)
}

/// The spellings of options in which a guarded file is allowed as their value, and the number of commands.
fn allowed(case: Case) -> (Vec<String>, usize) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let Some(files) = case.form.files.or(case.program.form.files) else { return (wrong, count) };
    let head = case.head();
    let outputs = files.outputs.iter().map(|option| (*option, PROTECTED, "protect"));
    let inputs = files.inputs.iter().map(|option| (*option, SECRET, "secret"));
    for (option, file, rule) in outputs.chain(inputs) {
        let attached = option.strip_suffix('=');
        for spelling in case.spellings(attached.unwrap_or(option)) {
            let spelling: Vec<String> = spelling.iter().map(|word| word.replace(VALUE, file)).collect();
            if attached.is_some() && spelling.len() > 1 {
                continue;
            }
            for words in [vec![], vec![PLAIN.to_owned()]] {
                // Behind its first word stand the options of the command that a program runs.
                let last = if case.form.runs.is_some() { 0 } else { words.len() };
                for place in 0..=last {
                    let (before, behind) = words.split_at(place);
                    let words = [head.as_slice(), before, &spelling, behind].concat();
                    count += 1;
                    if !broken(&words).contains(rule) {
                        wrong.push(format!("{}: not {rule}", words.join(" ")));
                    }
                }
            }
        }
    }
    (wrong, count)
}

/// Checks every form of every program, on two threads.
fn walk(check: fn(Case) -> (Vec<String>, usize), floor: usize) {
    let cases = cases();
    let parts = cases.chunks(cases.len().div_ceil(2)).map(<[Case]>::to_vec);
    let check = |part: Vec<Case>| thread::spawn(move || part.into_iter().map(check).collect::<Vec<_>>());
    let threads: Vec<_> = parts.map(check).collect();
    let results: Vec<_> = threads.into_iter().flat_map(|one| one.join().unwrap()).collect();
    let count: usize = results.iter().map(|(_, count)| count).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|(wrong, _)| wrong).collect();
    println!("{count} spellings");
    assert!(wrong.is_empty(), "{} of {count} spellings:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > floor, "only {count} spellings");
}

#[test]
fn no_option_hides_a_guarded_file() {
    walk(hidden, 100_000);
}

#[test]
fn no_spelling_of_an_option_writes_or_reads_a_guarded_file() {
    walk(allowed, 1_000);
}

/// Whether the catalogue states what the value of an option is, and that is no file that is written.
fn is_listed(case: Case, option: &str) -> bool {
    [case.form, &case.program.form].iter().any(|form| {
        let is_of_role = form
            .options
            .iter()
            .any(|(role, options)| !matches!(role, Role::Flag | Role::Written) && options.contains(&option));
        let is_read =
            form.files.is_some_and(|files| files.inputs.contains(&option) || files.keys.contains(&option));
        is_of_role || is_read
    })
}

/// The options of a form whose names suggest that they write a file, with which none is written.
fn unwritten(case: Case) -> (Vec<String>, usize) {
    let head = case.head();
    let writes = |option: &&str| {
        let name = option.trim_start_matches('-').to_ascii_lowercase();
        option.len() > 2 && !name.starts_with("no-") && values::suggested(&name) == Kind::Writes
    };
    let is_whole = !head.contains(&";".to_owned());
    let options: Vec<&str> = case.options().into_iter().filter(writes).filter(|_| is_whole).collect();
    let is_unwritten = |option: &&&str| {
        let words = [head.clone(), vec![format!("{option}={PROTECTED}")]].concat();
        !is_listed(case, option) && !broken(&words).contains("protect")
    };
    let wrong = options.iter().filter(is_unwritten).map(|option| format!("{} {option}", head.join(" ")));
    (wrong.collect(), options.len())
}

#[test]
fn an_option_that_is_named_after_an_output_writes_it_unless_the_catalogue_states_otherwise() {
    walk(unwritten, 1_000);
}
