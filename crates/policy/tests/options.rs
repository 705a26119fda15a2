//! Options of every program, in every spelling and place: none of them hides the file that a command reads or writes.

use std::collections::BTreeSet;
use std::thread;

use opsctl_policy::files::{self, guarded::Locations};
use opsctl_policy::model::rules::Rules;
use opsctl_policy::word_paths::UnknownMachine;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::options::{ABBREVIATES, ONE_DASH};
use opsctl_reader::catalogue::program::{Form, Program, Role};
use opsctl_reader::shell;

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

/// The rules about files that a command breaks.
fn broken(words: &[String]) -> BTreeSet<&'static str> {
    let script = shell::read(&words.join(" "), Some("/app"));
    let locations = || Locations {
        project: "/app".into(),
        home: Some("/home/agent".into()),
        ledger: "/state/claudeops.db".into(),
        state: "/state".into(),
        hosts: Some("/app/hosts.yaml".into()),
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
        let name = self.program.names[0];
        let name = if name.contains('/') {
            name.replace('*', "/etc").replacen("//", "/", 1)
        } else {
            name.replace("[0-9]*", "3").replace('*', "x")
        };
        let verb =
            self.path.iter().map(|word| if *word == "*" { "x".to_owned() } else { word.replace('*', "9") });
        std::iter::once(name).chain(verb).collect()
    }

    /// The options without a value with which the form reads or writes other files, and none.
    fn modes(self) -> Vec<Vec<String>> {
        let files = self.form.files.or(self.program.form.files);
        let needed = files.iter().flat_map(|files| [files.writes_with.first(), files.first_is_file.first()]);
        let roles = if self.form.roles.is_empty() { self.program.form.roles } else { self.form.roles };
        let roles = roles.iter().filter(|one| !one.role.has_value()).flat_map(|one| one.options.first());
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

    /// The options with a value, and the roles of each.
    fn options(self) -> Vec<&'static str> {
        let valued = self.form.valued.iter().copied();
        valued.filter(|option| *option != ONE_DASH && !option.starts_with(ABBREVIATES)).collect()
    }

    fn has_role(self, option: &str, roles: &[Role]) -> bool {
        let own = if self.form.roles.is_empty() { self.program.form.roles } else { self.form.roles };
        own.iter().any(|one| roles.contains(&one.role) && one.options.contains(&option))
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
        for option in case.options() {
            if case.has_role(option, &REPLACING) {
                continue;
            }
            for spelling in case.spellings(option) {
                for place in 0..=base.len() {
                    let (before, behind) = base.split_at(place);
                    let words = [head.as_slice(), before, &spelling, behind].concat();
                    count += 1;
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

#[test]
fn no_option_hides_a_guarded_file() {
    let cases = cases();
    let half = cases.len() / 2;
    let parts: Vec<Vec<Case>> = vec![cases[..half].to_vec(), cases[half..].to_vec()];
    let threads: Vec<_> = parts
        .into_iter()
        .map(|part| thread::spawn(move || part.into_iter().map(hidden).collect::<Vec<_>>()))
        .collect();
    let results: Vec<_> = threads.into_iter().flat_map(|one| one.join().unwrap()).collect();
    let count: usize = results.iter().map(|(_, count)| count).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|(wrong, _)| wrong).collect();
    println!("{count} spellings");
    assert!(wrong.is_empty(), "{} of {count} spellings:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 10_000, "only {count} spellings");
}
