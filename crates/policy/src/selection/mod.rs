//! What commands that filter select of the text that they get: values and lines with names that are no secrets'.

mod lines;
pub mod names;
mod python;
mod values;

use crate::lists::{
    CODE_PROGRAMS, FIELD_PRINTERS, LINE_OPTIONS, LINE_SELECTORS, NAMES_ONLY, PATH_PROGRAMS, SLASHED_PROGRAMS,
    VALUE_OPTIONS,
};
use opsctl_reader::catalogue::options::Name;
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Construct, Mode, Node, Script, Word};

pub use lines::names_harmless;

/// Whether a command prints only values with harmless names: `jq -r '.[0].Config.Image'`.
pub fn picks(command: &Command, catalogue: Catalogue) -> bool {
    if CODE_PROGRAMS.contains(&program(command)) {
        let [_, option, code] = command.words.as_slice() else { return false };
        return option.text == "-c" && code.known().is_some_and(python::prints_harmless);
    }
    PATH_PROGRAMS.contains(&program(command))
        && has_only(command, &VALUE_OPTIONS)
        && all(&programs(command, catalogue), values::picks_harmless)
}

/// Whether a command prints only the lines that a harmless name selects.
pub fn selects(command: &Command, catalogue: Catalogue) -> bool {
    selects_by(command, catalogue, names_harmless)
}

/// Whether a command prints only the lines of values that are known not to be secrets.
fn selects_known(command: &Command, catalogue: Catalogue) -> bool {
    selects_by(command, catalogue, lines::names_known)
}

fn selects_by(command: &Command, catalogue: Catalogue, is_harmless: fn(&str) -> bool) -> bool {
    prints_fields(command, catalogue, is_harmless)
        || LINE_SELECTORS.contains(&program(command))
            && has_only(command, &LINE_OPTIONS)
            && all(&programs(command, catalogue), is_harmless)
}

/// Whether a command prints only fields of the lines that a harmless name selects: `awk '/image:/ {print $2}'`.
fn prints_fields(command: &Command, catalogue: Catalogue, names: fn(&str) -> bool) -> bool {
    let is_printing = |action: &str| {
        let fields =
            action.trim().trim_end_matches([';', ' ']).trim_end_matches("exit").trim_end_matches([';', ' ']);
        fields.strip_prefix("print").is_some_and(|rest| {
            let is_text = |(at, part): (usize, &str)| {
                at % 2 == 1 || part.chars().all(|c| "$, 0123456789NF".contains(c))
            };
            rest.split('"').enumerate().all(is_text)
        })
    };
    let is_harmless = |text: &str| {
        actions(text).is_some_and(|actions| {
            !actions.is_empty()
                && actions.iter().all(|(pattern, action)| names(pattern) && is_printing(action))
        })
    };
    FIELD_PRINTERS.contains(&program(command))
        && command.texts().iter().all(|text| !text.starts_with('-') || text.starts_with("-F"))
        && programs(command, catalogue).iter().all(|text| is_harmless(text))
}

/// Whether a filter leaves only the names of variables, or their number.
pub fn leaves_names(command: &Command) -> bool {
    leaves_names_of(command, |_| false)
}

/// Whether a command prints no value with the name of a secret of its files, each of which is a list of variables:
/// `grep '^TZ=' .env`, `cut -d= -f1 .env`.
pub fn spares_values(command: &Command, catalogue: Catalogue) -> bool {
    selects_known(command, catalogue) || leaves_names_of_files(command)
}

/// Whether a command prints only the names of the variables in files that list them.
pub fn leaves_names_of_files(command: &Command) -> bool {
    leaves_names_of(command, |word| word.known().is_some_and(lists_variables))
}

/// Whether a file is a list of variables.
pub fn lists_variables(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix("env").is_some_and(|rest| rest.ends_with('.')) || name.starts_with(".env.")
}

fn leaves_names_of(command: &Command, is_file: impl Fn(&Word) -> bool) -> bool {
    let words: Option<Vec<&str>> =
        command.words.iter().filter(|word| !is_file(word)).map(Word::known).collect();
    let Some(words) = words else { return false };
    let Some((name, given)) = words.split_first() else { return false };
    let given = given.concat().replace(['"', '\''], "");
    NAMES_ONLY.iter().any(|(one, words)| one == name && *words == given)
}

/// Commands whose output goes only to a command that selects of it.
#[derive(Debug, Default)]
pub struct Selected {
    /// Those of which harmless values are printed.
    pub values: Vec<*const Command>,
    /// Those of which harmless lines are printed.
    pub lines: Vec<*const Command>,
    /// Those of which the names of variables are printed.
    pub names: Vec<*const Command>,
}

/// The commands of a script of whose output only harmless values or lines are printed.
pub fn selected_from(script: &Script) -> Selected {
    let mut selected = Selected::default();
    script.visit(|node| {
        let Node::Group(Construct::Pipeline, parts) = node else { return };
        for pair in parts.windows(2) {
            let [part, Node::Command(next)] = pair else { continue };
            let found = if picks(next, script.catalogue) {
                &mut selected.values
            } else if selects_known(next, script.catalogue) && !is_json(part) {
                &mut selected.lines
            } else if leaves_names(next) {
                &mut selected.names
            } else {
                continue;
            };
            let mut commands = vec![];
            visit(part, &mut |command| commands.push(command));
            let is_passed = |command: &&Command| {
                command.redirections.iter().all(|one| one.mode == Mode::Read || one.path.text == "/dev/null")
            };
            if commands.iter().all(is_passed) {
                found.extend(commands.into_iter().map(std::ptr::from_ref));
            }
        }
    });
    selected
}

/// Whether a part of a pipeline prints JSON, which may be one line.
pub fn is_json(part: &Node) -> bool {
    let mut is_json = false;
    visit(part, &mut |one| is_json |= one.words.iter().any(|word| word.text.contains("json")));
    is_json
}

/// Visits the commands of a node, and those that run them.
pub fn visit<'a>(node: &'a Node, see: &mut dyn FnMut(&'a Command)) {
    match node {
        Node::Command(command) => see(command),
        Node::Group(construct, parts) => {
            if let Construct::Through(command) = construct {
                see(command);
            }
            for part in parts {
                visit(part, see);
            }
        }
        Node::Unread(_) => {}
    }
}

/// The texts that state what a filter does: those of `-e`, or its first word.
pub fn programs(command: &Command, catalogue: Catalogue) -> Vec<String> {
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return vec![] };
    let given = usage.operands(&texts);
    let is_program = |name: &Name<'_>| name.is_any(&["-e", "-ne", "-pe", "--regexp", "--expression"]);
    let stated = given.options.iter().filter(|(name, _)| is_program(name)).filter_map(|(_, at)| *at);
    let stated: Vec<String> = stated.filter_map(|at| command.value(at)).map(|word| word.text).collect();
    let first = given.words.first().and_then(|at| command.words.get(*at)).map(|word| word.text.clone());
    if stated.is_empty() { first.into_iter().collect() } else { stated }
}

/// The regular expression that selects lines or their parts, if nothing else does: the whole word of `grep`, what is between
/// slashes in `awk` and `sed`.
pub fn expression(name: &str, text: &str) -> Option<String> {
    if !SLASHED_PROGRAMS.contains(&name) {
        return Some(text.to_owned());
    }
    if name == "perl" && prints_whole_lines(text) {
        return Some("image:".to_owned());
    }
    // What is put before each line.
    let is_prefix = |rest: &str| rest.ends_with('/') && !rest.contains([';', '\n']);
    if text.strip_prefix("s/^/").is_some_and(is_prefix) {
        return Some("image:".to_owned());
    }
    let parts: Vec<&str> = text.split('/').collect();
    let only = match *parts.as_slice() {
        // `s/image: //p`, `/image/s/.*: //p`.
        ["s", pattern, _, flags] if !flags.contains(';') => pattern,
        ["", pattern, "s", _, _, flags] if !flags.contains(';') => pattern,
        [action] if action.starts_with("$1==\"") || action.starts_with("$1 == \"") => {
            return action
                .split('"')
                .nth(1)
                .filter(|_| action.matches('{').count() == 1)
                .map(|name| format!("{name}:"));
        }
        _ => {
            return actions(text)
                .map(|all| all.iter().map(|(pattern, _)| *pattern).collect::<Vec<_>>().join("|"));
        }
    };
    // Blanks, quotes and comments have no names.
    let is_blank = only.trim_end_matches("#.*").chars().all(|c| " \t\"',^$*+".contains(c));
    Some(if is_blank { "image:".to_owned() } else { only.to_owned() })
}

/// Whether code of Perl prints lines as they are, or ends: `exit if $. > 20`, `print if 10 .. 20`.
fn prints_whole_lines(code: &str) -> bool {
    code.trim().trim_end_matches(';').split(';').all(|statement| {
        let parts = statement.trim().split_once(" if ");
        parts.is_some_and(|(verb, condition)| {
            let is_number = |c: char| c.is_ascii_digit() || " .<>=&|!()".contains(c);
            matches!(verb, "print" | "exit" | "last" | "next")
                && condition.replace("$.", "").chars().all(is_number)
        })
    })
}

/// The regular expressions and actions of `/image/ {print $2} /status/ {print $3}`.
fn actions(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = text.trim();
    let mut found = vec![];
    while !rest.is_empty() {
        let (pattern, after) = rest.strip_prefix('/')?.split_once('/')?;
        let (action, after) = after.trim_start().strip_prefix('{')?.split_once('}')?;
        if action.contains('{') || pattern.ends_with('\\') {
            return None;
        }
        found.push((pattern, action));
        rest = after.trim_start_matches([' ', ';', '\n']);
    }
    Some(found)
}

/// Whether all options of a command are listed.
fn has_only(command: &Command, listed: &[&str]) -> bool {
    let is_listed = |text: &str| {
        let name = text.split('=').next().unwrap_or_default();
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or("?");
        let is_letter =
            |letter: char| letter.is_ascii_digit() || listed.contains(&format!("-{letter}").as_str());
        listed.contains(&text) || listed.contains(&name) || letters.chars().all(is_letter)
    };
    command.texts().iter().all(|text| !text.starts_with('-') || is_listed(text))
}

fn program(command: &Command) -> &str {
    command.words.first().map(|name| base_name(&name.text)).unwrap_or_default()
}

fn all(programs: &[String], is: fn(&str) -> bool) -> bool {
    !programs.is_empty() && programs.iter().all(|text| is(text))
}
