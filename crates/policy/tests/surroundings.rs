//! What surrounds a command: with every form of every program, options that start or load something and variables that are not
//! listed leave nothing proved to read.
#![cfg(test)]

use std::thread;

use opsctl_policy::effects::{Scratch, parts, strongest};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::Program;
use opsctl_reader::shell;
use opsctl_reader::terms::effect::Effect;

/// Options that no manual lists, with values. Their names or the values say that something runs, is loaded or written.
const ADDED: [&str; 14] = [
    "--xx-command=id",
    "--xx-command 'touch /opt/z'",
    "--exec-xx=/tmp/x",
    "--xx-plugin=/tmp/x.so",
    "--xx-module-path /tmp/x",
    "--xx-helper=/tmp/x",
    "--xx-script=/tmp/x",
    "--xx-config=/tmp/x.conf",
    "--xx-config /tmp/x.conf",
    "--xx-log=/opt/z",
    "--xx-output=/opt/z",
    "--xx-address=unixexec:path=/tmp/x",
    "--xx-uri='qemu+ext:///?command=/tmp/x'",
    "--xx=/tmp/x",
];
/// Variables that no program lists.
const VARIABLES: [&str; 4] = ["XX_COMMAND=/tmp/x", "XX_CONFIG=/tmp/x", "XX_LOG=/opt/z", "XX=y"];

fn effect(command: &str) -> Effect {
    let script = shell::read(command, Some("/app"));
    strongest(&parts(&script, &Scratch::default(), &Rules::default(), &UnknownMachine))
}

/// The names of the programs, with their verbs, each in one way of writing it.
fn forms() -> Vec<String> {
    let of = |program: &'static Program| {
        let name = program.names[0].replace("[0-9]*", "3").replace('*', "x");
        let paths = program.verbs.iter().filter_map(|verb| verb.paths.first());
        let verbs =
            paths.map(|path| path.iter().map(|word| word.replace('*', "x")).collect::<Vec<_>>().join(" "));
        let forms: Vec<String> = verbs.chain([String::new()]).map(|verb| format!("{name} {verb}")).collect();
        forms
    };
    Catalogue::default().programs().filter(|program| !program.names[0].contains('/')).flat_map(of).collect()
}

#[test]
fn no_form_reads_with_an_option_that_starts_loads_or_writes_something() {
    let forms = forms();
    let wrong = |forms: &[String]| {
        let mut wrong = Vec::new();
        for form in forms.iter().filter(|form| effect(form) == Effect::Reads) {
            let with_options = ADDED.iter().map(|added| format!("{form} {added}"));
            let with_variables = VARIABLES.iter().map(|variable| format!("{variable} {form}"));
            wrong.extend(
                with_options.chain(with_variables).filter(|command| effect(command) == Effect::Reads),
            );
        }
        wrong
    };
    let (one, other) = forms.split_at(forms.len() / 2);
    let found = thread::scope(|scope| {
        let beside = scope.spawn(|| wrong(other));
        [wrong(one), beside.join().expect("no panic")].concat()
    });
    assert!(found.is_empty(), "{} commands are proved to read:\n{}", found.len(), found.join("\n"));
}
