//! Every entry of the catalogue: it applies under each name of the program, inside wrappers and in unreadable text.

use std::collections::BTreeSet;
use std::path::Path;

use opsctl_reader::actions::read_command;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::{Does, Form, How, Place, Program, Runs, TargetKind, Words};
use opsctl_reader::terms::action::{Action, Target};

/// A form that acts, as one way of writing its verb.
struct Acting {
    program: &'static Program,
    path: &'static [&'static str],
    does: &'static Does,
}

fn acting() -> Vec<Acting> {
    forms().filter_map(|(program, path, form)| Some(Acting { program, path, does: form.does?.0 })).collect()
}

/// Every form of every program, with each way of writing its verb.
fn forms() -> impl Iterator<Item = (&'static Program, &'static [&'static str], &'static Form)> {
    Catalogue::default().programs().flat_map(|program| {
        let verbs = program.verbs.0.iter();
        let verbs = verbs.flat_map(|verb| verb.paths.0.iter().map(|path| (path.0, &verb.form)));
        let plain: &[&str] = &[];
        verbs.chain([(plain, &program.form)]).map(move |(path, form)| (program, path, form))
    })
}

/// The names of a program; for a glob, one name that it matches.
fn names(program: &Program) -> Vec<String> {
    let written = |name: &&str| match *name {
        "*/init.d/*" => "/etc/init.d/jellyfin".to_owned(),
        "*/rc.d/*" => "/etc/rc.d/jellyfin".to_owned(),
        name => name.replace("[0-9]*", "3").replace('*', "x"),
    };
    program.names.iter().map(written).collect()
}

impl Acting {
    /// The command with what its target and its conditions need.
    fn command(&self, name: &str) -> String {
        let path: Vec<String> = self
            .path
            .iter()
            .map(|word| if *word == "*" { "jellyfin".to_owned() } else { word.replace('*', "9") })
            .collect();
        let mut words: Vec<&str> = vec![name];
        words.extend(path.iter().map(String::as_str));
        words.extend(self.does.needs.first());
        words.extend(self.does.first.first());
        let target = match self.does.to.kind {
            TargetKind::Workload if self.does.first.is_empty() => "deployment/jellyfin",
            TargetKind::Playbook => "redeploy-jellyfin.yml",
            TargetKind::Recipients => "anna@example.net",
            TargetKind::Apprise => "-b down json://localhost",
            TargetKind::Requests if self.program.key == "httpie" => {
                "POST https://hooks.slack.com/services/T0/B0/x"
            }
            TargetKind::Requests => "-d x https://hooks.slack.com/services/T0/B0/x",
            TargetKind::Nothing => "--title x",
            _ => "jellyfin",
        };
        if let Words::ValueOf(options) = self.does.to.at {
            words.extend(options.split('|').next());
        }
        // What stands before the target.
        words.extend((self.does.to.at == Words::Only(1)).then_some("HUP"));
        if !matches!(self.does.to.at, Words::Starred | Words::OwnName) {
            words.push(target);
            words.extend(self.does.some.first().map(|_| "a=b"));
            // The chart of a release, the revision of another.
            words.extend((self.does.to.at == Words::Only(0)).then_some("./chart"));
        }
        words.join(" ").replace("--title x x", "--title x")
    }
}

/// What an action is, apart from its surroundings.
fn essence(action: &Action) -> (&'static str, &'static str, String) {
    let target = match &action.target {
        // In text that cannot be parsed the folder says little of the project.
        Target::ComposeProject(_) => &Target::Unknown,
        target => target,
    };
    (action.kind.as_str(), action.verb.as_str(), format!("{target:?}"))
}

fn found(command: &str) -> BTreeSet<(&'static str, &'static str, String)> {
    read_command(command, Some(Path::new("/app"))).actions.iter().map(essence).collect()
}

#[test]
fn every_name_gives_the_same_action_however_the_command_is_written() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for form in acting() {
        for name in names(form.program) {
            let plain = form.command(&name);
            let expected = found(&plain);
            if expected.is_empty() {
                wrong.push(format!("{plain}: no action"));
                continue;
            }
            // Text that cannot be read is cut at `=`.
            let is_cut = form.does.some.iter().any(|some| some.contains('='));
            let mut ways = vec![
                format!("sudo {plain}"),
                format!("$SUDO {plain}"),
                format!("ssh root@ie01 {plain}"),
                // An unclosed bracket and a lone `done`: bash reads no such text, nor does its grammar.
                format!("for (( ; done; {plain}\n"),
            ];
            ways.extend((!name.contains('/')).then(|| format!("/usr/bin/{plain}")));
            for way in ways.into_iter().filter(|way| !is_cut || !way.starts_with("for ((")) {
                count += 1;
                let found = found(&way);
                if found != expected {
                    wrong.push(format!("{way}\n  found {found:?}\n  not {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 800, "only {count} commands were tried");
}

#[test]
fn every_program_that_runs_a_command_shows_it_under_each_name() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (program, path, form) in forms() {
        let Some(runs) = form.runs.filter(|runs| matches!(runs.how, How::Command | How::Joined)) else {
            continue;
        };
        for name in names(program) {
            count += 1;
            let words = [name.as_str()].into_iter().chain(path.iter().copied()).collect::<Vec<_>>().join(" ");
            let command = wrapped(&words, &runs);
            let found = found(&command);
            if !found.iter().any(|(kind, verb, _)| (*kind, *verb) == ("restart", "restart")) {
                wrong.push(format!("{command}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} programs were tried");
}

/// A restart behind a program and the words that must come before a command.
fn wrapped(words: &str, runs: &Runs) -> String {
    const RESTART: &str = "docker restart jellyfin";
    let need = runs.words_need.first().map(|option| format!(" {option} root")).unwrap_or_default();
    match (runs.after.0, runs.script.first(), runs.at_once.first()) {
        (None, Some(script), _) => format!("{words} {script} '{RESTART}'"),
        (None, _, Some(option)) => format!("{words} {option} {RESTART}"),
        (None, None, None) => format!("echo {RESTART} | {words} now"),
        (Some(count), ..) => format!("{words}{need} {} {RESTART}", "5 ".repeat(count).trim_end()),
    }
}

#[test]
fn no_name_belongs_to_two_programs() {
    let mut seen = BTreeSet::new();
    for program in Catalogue::default().programs() {
        assert!(seen.insert(program.key), "{}", program.key);
        for name in names(program) {
            let found = Catalogue::default().find(&name).map(|found| found.key);
            assert_eq!(found, Some(program.key), "{name}");
        }
    }
}

#[test]
fn every_program_in_then_is_in_the_catalogue() {
    for (program, path, form) in forms() {
        let Some(next) = form.then else { continue };
        let found = Catalogue::default().find(next);
        assert!(found.is_some_and(|found| found.key == next), "{} {path:?}: `{next}`", program.key);
    }
}

/// Names under which options set variables of a command.
const SETTING: [&str; 5] = ["-e", "-E", "--env", "--setenv", "--environment"];

/// Options with one of these names that set no variable: the program, and what their value is.
const NOT_SETTING: [(&str, &str, &str); 34] = [
    ("autossh", "-E", "a file"),
    ("autossh", "-e", "a key"),
    ("cpulimit", "-e", "a program"),
    ("crictl", "-e", "errors that are ignored"),
    ("daemonize", "-e", "a file"),
    ("dotenv", "-e", "a file of variables of its folder, without a verb"),
    ("dtach", "-e", "a key"),
    ("flock", "-E", "an exit code"),
    ("ltrace", "-e", "calls"),
    ("nix-shell", "-E", "an expression"),
    ("nodemon", "-e", "ends of names"),
    ("nomad", "-e", "a key"),
    ("op", "--env", "the name of an environment"),
    ("opsctl", "--env", "the name of a variable"),
    ("perf", "-e", "events"),
    ("pipenv", "--environment", "the name of an environment"),
    ("pipenv", "-e", "the name of an environment"),
    ("pssh", "-e", "a folder"),
    ("salt", "-E", "a pattern of hosts"),
    ("screen", "-e", "a key"),
    ("script", "-E", "when it echoes"),
    ("ssh", "-E", "a file"),
    ("ssh", "-e", "a key"),
    ("ssh-agent", "-E", "a hash"),
    ("stdbuf", "-e", "a size"),
    ("strace", "-e", "calls"),
    ("telnet", "-e", "a key"),
    ("tini", "-e", "an exit code"),
    ("uv", "--environment", "the name of an environment"),
    ("uv", "-e", "the name of an environment"),
    ("virsh", "-e", "a key"),
    ("watchexec", "-e", "ends of names"),
    ("xvfb-run", "-e", "a file"),
    ("chpst", "-e", "a folder of variables, which is judged as settings"),
];

#[test]
fn every_option_of_a_launcher_that_sets_variables_is_described() {
    let mut wrong = BTreeSet::new();
    let mut spared: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (program, path, form) in forms() {
        let Some(runs) = form.runs else { continue };
        if !matches!(runs.how, How::Command | How::Joined | How::Typed | How::Shell | How::Ssh) {
            continue;
        }
        for option in SETTING.iter().filter(|option| form.valued.contains(option)) {
            let about = NOT_SETTING.iter().find(|(key, name, _)| *key == program.key && name == option);
            spared.extend(about.map(|(key, name, _)| (*key, *name)));
            if about.is_none() && !runs.sets.contains(option) {
                wrong.insert(format!("{} {path:?} {option}", program.key));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unused = NOT_SETTING.iter().filter(|(key, name, _)| !spared.contains(&(*key, *name)));
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, &str, &str)>::new());
}

/// Options with which a program ends before it does anything else.
const ENDING: [&str; 9] = ["--help", "-help", "-h", "-?", "-I", "--version", "-version", "-V", "-v"];

/// Programs whose other quiet options let them end before they read a command, too, or whose other commands only print.
const HARMLESS: [&str; 3] = ["mysql", "psql", "tar"];

#[test]
fn no_quiet_option_outranks_one_whose_commands_are_recognised_by_a_sign_only() {
    let mut wrong = BTreeSet::new();
    for (program, path, form) in forms() {
        let is_quiet = form.quiet.iter().any(|option| !ENDING.contains(option));
        if !is_quiet && form.quiet_values.is_empty() || HARMLESS.contains(&program.key) {
            continue;
        }
        for (place, patterns) in program.commands.iter() {
            let Place::OptionValue(option) = place else { continue };
            let states = |form: &Form| {
                let unknown = form.effect.map(|terms| terms.unknown_values).unwrap_or_default();
                unknown.iter().any(|(name, _)| name == option)
            };
            if !patterns.contains(&"*") && !states(form) && !states(&program.form) {
                wrong.insert(format!("{} {path:?} {option}", program.key));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
