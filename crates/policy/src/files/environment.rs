//! Which variables of the environment a command prints: that of the agent, of a host or of a container.

use super::access::{Access, Touch};
use crate::lists::{DECLARING, ENVIRONMENT_USERS, ENVIRONMENTS, PRINTING, PROCESS_STARTS, VARIABLE_USERS};
use crate::selection::leaves_names;
use crate::selection::names::picks_doubtful;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::options::Name;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell::{Command, Word, glob};

/// Adds the variables that a program prints.
pub fn accesses(command: &Command, program: &str, given: &Operands<'_>, into: &mut Vec<Access>) {
    if program == "ps" {
        return processes(given, into);
    }
    match program {
        "jq" | "gojq" | "jaq" => {
            given.words().take(1).for_each(|text| filter(text, into));
        }
        _ => {
            let mut names: Vec<&str> = given.words().collect();
            let letter = |name: Name<'_>| if let Name::Short(letter) = name { Some(letter) } else { None };
            let letters: Vec<char> = given.options.iter().filter_map(|(name, _)| letter(*name)).collect();
            match program {
                "printenv" => into.extend(names.iter().map(|name| printed(name))),
                // An empty environment, and what the command adds to it.
                "env" if given.has(Role::Empties) => return,
                "env" | "caddy" => names.clear(),
                "set" if command.words.len() > 1 => return,
                // The variables that its words name, otherwise those of its input.
                "envsubst" => {
                    let stated = command.stdin.as_ref().and_then(Word::known);
                    let meant = names.first().copied().or(stated);
                    return into.extend(meant.map_or_else(|| vec![printed("")], named_in));
                }
                // Another name for a variable.
                "declare" | "typeset" if letters.contains(&'n') => names.clear(),
                // They declare something, or print functions or arrays.
                "declare" | "typeset" | "export" if !letters.iter().all(|letter| "pxg".contains(*letter)) => {
                    return;
                }
                "declare" | "typeset" | "export" if letters.contains(&'p') => {
                    into.extend(names.iter().map(|name| printed(name)));
                }
                _ => {}
            }
            into.extend(names.is_empty().then(|| printed("")));
        }
    }
}

/// A variable that is printed; without a name, all of them.
fn printed(name: &str) -> Access {
    Access::named(Touch::Print, name.to_owned(), false)
}

/// The variables that a program gets as words or as its input, and may print, also in an error: all but those of clients,
/// which log in with them, and of tests of whether they are set.
pub fn passed(command: &Command) -> Vec<Access> {
    let opened = || command.redirections.iter().map(|one| &one.path);
    let words = || command.words.iter().chain(&command.stdin).chain(opened());
    let Some(program) = command.words.first().filter(|_| words().any(|word| word.unknown.is_some())) else {
        return vec![];
    };
    let program = base_name(&program.text);
    if is_harmless_test(command, program) {
        return opened().flat_map(expanded).collect();
    }
    if let Some((_, takes)) = VARIABLE_USERS.iter().find(|(one, _)| *one == program) {
        let reads_stdin = takes.split('|').any(|one| one == "<");
        let stdin = command.stdin.iter().filter(|_| !reads_stdin);
        let pairs = command
            .words
            .windows(2)
            .filter_map(|pair| if let [before, word] = pair { Some((before, word)) } else { None });
        let shown = pairs.filter(|(before, word)| !is_taken(&before.text, word.without_output(), takes));
        return shown.map(|(_, word)| word).chain(stdin).chain(opened()).flat_map(expanded).collect();
    }
    // `export NAME="$VALUE"` prints nothing, unless it is the name that has a value.
    let declares = DECLARING.contains(&program);
    let is_printed = |word: &&Word| !declares || !name(&word.text).1.trim_start_matches('+').starts_with('=');
    words().filter(is_printed).flat_map(expanded).collect()
}

/// Whether `test` or `[` finds only whether a value is set: a comparison with another text finds a part of it, and one of numbers
/// prints what is none.
fn is_harmless_test(command: &Command, program: &str) -> bool {
    let words = command.words.get(1..).unwrap_or_default();
    let values = || words.iter().filter(|word| word.known().is_none());
    let is_plain = |word: &Word| {
        let text = word.text.as_str();
        let is_operator =
            matches!(text, "" | "-n" | "-z" | "-a" | "-o" | "!" | "=" | "==" | "!=" | "]" | "(" | ")");
        // `[ x$NAME = x ]`.
        is_operator
            || values().any(|value| value.text.strip_prefix(text).is_some_and(|rest| rest.starts_with('$')))
    };
    // A part of a value tells more than whether it is set.
    let is_whole = |word: &Word| word.known().is_none() && !word.text.contains("$(computed ");
    matches!(program, "test" | "[")
        && words.iter().all(|word| is_whole(word) || word.known().is_some() && is_plain(word))
}

/// Whether a client logs in with a word, by the options and the forms of words that it has for this.
fn is_taken(before: &str, word: &str, takes: &str) -> bool {
    takes.split('|').any(|one| match one {
        form if form.contains('*') => glob(form, word),
        option => {
            let rest = word.strip_prefix(option).filter(|rest| !rest.is_empty());
            let is_attached = |rest: &str| rest.starts_with('=') || !option.starts_with("--");
            glob(option, before) || rest.is_some_and(is_attached)
        }
    })
}

/// What a filter that gets the whole environment shows of it: only names, or the variables that it asks for. `None` if it
/// may show any.
pub fn shown_by(filter: &Command) -> Option<Vec<Access>> {
    if leaves_names(filter) {
        return Some(vec![]);
    }
    let words: Option<Vec<&str>> = filter.words.iter().map(Word::known).collect();
    let words = words?;
    let (program, given) = words.split_first()?;
    let pattern = match (*program, given) {
        ("grep", [pattern] | ["-E", pattern]) | ("egrep", [pattern]) => {
            match pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('=')) {
                Some(names) => names,
                // Also a part of a line: only what is no secret with anything around it.
                None => {
                    return is_plain_setting(pattern).then(|| vec![printed(pattern.trim_start_matches('^'))]);
                }
            }
        }
        _ => return None,
    };
    let pattern = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(pattern);
    let names: Vec<&str> = pattern.split('|').collect();
    names
        .iter()
        .all(|name| !name.is_empty() && name.chars().all(is_name))
        .then(|| names.into_iter().map(printed).collect())
}

/// Whether a text is the whole name of a variable that is no secret's: `DOCKER_HOST`.
fn is_plain_setting(text: &str) -> bool {
    let name = text.strip_prefix('^').unwrap_or(text);
    name.contains('_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !picks_doubtful(name)
}

/// `ps auxe` prints the environment of processes: of any machine, and those of services.
fn processes(given: &Operands<'_>, into: &mut Vec<Access>) {
    let letters = |text: &str| text.contains('e') && text.chars().all(|c| c.is_ascii_alphabetic());
    if given.words().any(letters) {
        into.push(Access::new(Touch::Read, &Word::literal("/proc/self/environ")));
    }
}

/// The variables whose values a word holds: `$NAME`, `${NAME:-x}`, not `${#NAME}`, nor those that commands use whose output
/// it holds.
fn expanded(word: &Word) -> Vec<Access> {
    let Some(_) = word.unknown else { return vec![] };
    let text = word.without_output();
    let indirect = text.split("${!").skip(1).map(|part| name(part).1);
    // `${!x}` may be any variable; `${!x*}` and `${!x[@]}` are names.
    let any = indirect.filter(|rest| !rest.starts_with(['*', '@', '['])).map(|_| printed(""));
    // What a shell makes of a value is a part of it.
    let computed = word.text.split("$(computed ").skip(1).flat_map(named_in);
    named_in(text).into_iter().chain(any).chain(computed).collect()
}

/// The variables that a text names: `$NAME`, `${NAME:-x}`.
fn named_in(text: &str) -> Vec<Access> {
    let parts = text.split('$').skip(1).map(|part| part.strip_prefix('{').unwrap_or(part));
    parts.map(|part| name(part).0).filter(|name| !name.is_empty()).map(printed).collect()
}

/// The name at the beginning of a text, and what follows it.
fn name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `$ENV`, `$ENV.NAME`, `env` and `env.NAME` of jq; `.env` is a field.
fn filter(text: &str, into: &mut Vec<Access>) {
    for (at, word) in text.match_indices("env").chain(text.match_indices("$ENV")) {
        let before = text.get(..at).and_then(|before| before.chars().last());
        let rest = text.get(at + word.len()..).unwrap_or_default();
        let is_part = before.is_some_and(|c| is_name(c) || ".$\"/-".contains(c))
            || rest.starts_with(|c: char| is_name(c) || "\"/:-".contains(c));
        if !is_part {
            into.push(printed(named(rest).unwrap_or_default()));
        }
    }
}

/// Adds the variables that code prints.
///
/// All of them, where it takes the environment as a whole; one, where it is printed directly.
pub fn in_code(code: &str, into: &mut Vec<Access>) {
    for called in ENVIRONMENTS {
        for (at, _) in code.match_indices(called) {
            let before = code.get(..at).unwrap_or_default();
            let rest = code.get(at + called.len()..).unwrap_or_default();
            if before.ends_with(is_name) || rest.starts_with(is_name) {
                continue;
            }
            let before = before.trim_end_matches("os.").trim_end_matches(['$', '%']).trim_end();
            let before = before.strip_suffix("dict(").unwrap_or(before);
            let compact: String = before.chars().rev().filter(|c| *c != ' ').take(8).collect();
            let compact: String = compact.chars().rev().collect();
            match (named(rest), rest.split('(').next()) {
                (Some(name), _) => {
                    let ends =
                        |call: &&str| before.ends_with(*call) && (!call.is_empty() || before.is_empty());
                    into.extend(PRINTING.iter().any(ends).then(|| printed(name)));
                }
                (None, Some(".copy" | ".update" | ".setdefault" | ".pop" | ".keys" | ".key?" | ".has")) => {}
                _ if ENVIRONMENT_USERS.iter().any(|one| before.ends_with(one) || compact.ends_with(one)) => {}
                _ if PROCESS_STARTS.iter().any(|one| called_in(before).contains(one)) => {}
                _ => into.push(printed("")),
            }
        }
    }
}

/// The name of the function among whose arguments a text ends.
fn called_in(before: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in before.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '[' if depth == 0 => break,
            '(' if depth == 0 => {
                let head = before.get(..at).unwrap_or_default();
                return head.rsplit(|c| !is_name(c)).next().unwrap_or_default();
            }
            '(' | '[' => depth -= 1,
            _ => {}
        }
    }
    ""
}

/// The variable that is taken from the environment: `["NAME"]`, `.get("NAME")`, `{NAME}`, `("NAME")`, `.NAME`.
fn named(rest: &str) -> Option<&str> {
    let rest = ["[", ".get(", ".fetch(", "{", "("].iter().find_map(|open| rest.strip_prefix(open)).or_else(
        || {
            // Methods of the whole.
            let whole = ["items(", "values(", "copy(", "update(", "setdefault(", "pop(", "keys("];
            let member = rest.strip_prefix('.')?;
            let is_variable = member.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
            (is_variable && !whole.iter().any(|call| member.starts_with(call))).then_some(member)
        },
    )?;
    let (name, _) = name(rest.trim_start_matches(['"', '\'', '`']));
    (!name.is_empty() && !rest.starts_with('$') && (rest.starts_with(['"', '\'', '`']) || is_constant(name)))
        .then_some(name)
}

/// Whether a bare name is that of a variable of the environment, and not one of the code.
fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
