//! Which variables of the environment a command prints: that of the agent, of a host or of a container.

use super::access::{Access, Touch};
use crate::lists::{DECLARING, QUIET_USERS, SECRET, TELLING_OPTIONS, VARIABLE_USERS};
use crate::selection::leaves_names;
use crate::selection::names::picks_doubtful;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{How, Role};
use opsctl_reader::shell::{Command, Construct, Node, Word, glob};

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
                "printenv" => {
                    into.extend(names.iter().map(|name| printed(name)));
                    // A word that may be none leaves it alone.
                    let may_vanish = |name: &str| {
                        command.words.iter().any(|word| word.text == name && word.may_be_several())
                    };
                    names.retain(|name| !may_vanish(name));
                }
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
pub(super) fn printed(name: &str) -> Access {
    Access::named(Touch::Print, name.to_owned(), false)
}

/// The variables that a program gets as words, as its input, or as values of other variables, and may print, also in an error: all
/// but those of clients, which log in with them, and of tests of whether they are set.
pub fn passed(command: &Command) -> Vec<Access> {
    let opened = || command.redirections.iter().map(|one| &one.path);
    let words = || command.words.iter().chain(&command.stdin).chain(opened());
    let Some(program) = command.words.first() else { return vec![] };
    let mut passed = renamed(command);
    if words().all(|word| word.unknown.is_none()) {
        return passed;
    }
    let program = base_name(&program.text);
    if is_harmless_test(command, program) {
        passed.extend(opened().flat_map(expanded));
    } else if let Some((_, takes)) = VARIABLE_USERS.iter().find(|(one, _)| *one == program) {
        let reads_stdin = takes.split('|').any(|one| one == "<");
        let stdin = command.stdin.iter().filter(|_| !reads_stdin);
        let tells = tells(command, program);
        let pairs = command
            .words
            .windows(2)
            .filter_map(|pair| if let [before, word] = pair { Some((before, word)) } else { None });
        let is_shown =
            |(before, word): &(&Word, &Word)| tells || !is_taken(&before.text, word.without_output(), takes);
        let hosts = command.words.iter().flat_map(in_host);
        passed.extend(hosts);
        let shown = pairs.filter(is_shown).map(|(_, word)| word).chain(stdin).chain(opened());
        passed.extend(shown.flat_map(expanded));
    } else {
        // `export NAME="$VALUE"` prints nothing, unless it is the name that has a value.
        let declares = DECLARING.contains(&program);
        let is_printed =
            |word: &&Word| !declares || !name(&word.text).1.trim_start_matches('+').starts_with('=');
        passed.extend(words().filter(is_printed).flat_map(expanded));
    }
    passed
}

/// The variables whose values a command gets under another name, which is not that of a secret: it may print them.
fn renamed(command: &Command) -> Vec<Access> {
    let others = command.env.iter().filter(|entry| entry.1.unknown.is_some() && !is_credential(&entry.0));
    others.flat_map(|entry| expanded(&entry.1)).collect()
}

/// The variables that a program gets which starts another one: its options, and its words before the command.
pub fn launched(command: &Command, catalogue: Catalogue) -> Vec<Access> {
    if command.words.iter().all(|word| word.unknown.is_none()) {
        return vec![];
    }
    let texts = command.texts();
    let Some(usage) = catalogue.usage(&texts, &|_| false) else { return vec![] };
    let Some(runs) = usage.form.runs.filter(|runs| {
        matches!(runs.how, How::Command | How::Joined | How::Ssh | How::Xargs | How::Parallel)
    }) else {
        return vec![];
    };
    let program = texts.first().map_or("", |name| base_name(name));
    let takes = VARIABLE_USERS.iter().find(|(one, _)| *one == program).map_or("", |(_, takes)| *takes);
    let is_judged = |name: Name<'_>| {
        runs.takes_script(name) || [runs.split, runs.sets].iter().any(|list| name.is_any(list))
    };
    let mut found: Vec<Access> =
        command.words.get(..usage.rest).unwrap_or_default().iter().flat_map(expanded).collect();
    // The host of `ssh`.
    let own = usize::from(runs.how == How::Ssh);
    let mut left = runs.after.0.map_or(usize::MAX, |after| after + own);
    for item in Scanner::new(&texts, usage.rest, &usage.form.valued).with_flags(&usage.form.flags) {
        match item {
            Item::Option(name, Some(at)) if !is_judged(name) => {
                let before = at.index.checked_sub(1).and_then(|before| texts.get(before)).unwrap_or(&"");
                let word = command.words.get(at.index);
                let word =
                    word.filter(|word| takes.is_empty() || !is_taken(before, word.without_output(), takes));
                found.extend(word.into_iter().flat_map(expanded));
            }
            Item::Positional(index) => {
                let Some(word) = command.words.get(index) else { break };
                let assigns = runs.assigns && name(&word.text).1.starts_with('=');
                if assigns {
                    continue;
                }
                if left == 0 {
                    break;
                }
                left -= 1;
                found.extend(expanded(word));
            }
            Item::Option(..) | Item::Dashes(_) => {}
        }
    }
    found
}

/// Whether a variable has the name of a secret: no program prints it for another reason, and rules know it by this name.
pub fn is_credential(name: &str) -> bool {
    let variable = format!("${name}");
    let is_it = |one: &&(&str, &str, &str)| {
        let one = one.0.trim_start_matches('!');
        one.starts_with('$') && glob(one, &variable)
    };
    let last = SECRET.iter().rev().find(is_it);
    last.is_some_and(|(one, ..)| !one.starts_with('!'))
}

/// Whether a client prints what it is given, by its options.
fn tells(command: &Command, program: &str) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    let has = |options: &str| {
        options.split('|').any(|option| match option.split_once('=') {
            Some((option, value)) => {
                let mut pairs = command.words.windows(2);
                let is_value = |pair: &[Word]| {
                    let [before, word] = pair else { return false };
                    word.text.strip_prefix(option).is_some_and(|rest| !rest.is_empty() && glob(value, rest))
                        || (before.text == option || is_cluster(&before.text, option))
                            && glob(value, &word.text)
                };
                pairs.any(is_value)
            }
            None => words().any(|word| {
                word == option || is_cluster(word, option) || option.ends_with('*') && glob(option, word)
            }),
        })
    };
    TELLING_OPTIONS.iter().any(|(one, options)| *one == program && has(options))
        || QUIET_USERS.iter().any(|(one, options)| *one == program && !has(options))
}

/// Whether a word is several short options with this one among them: `-sv`.
fn is_cluster(word: &str, option: &str) -> bool {
    let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
    let letters = word.strip_prefix('-').filter(|rest| rest.chars().all(|c| c.is_ascii_alphabetic()));
    letter.zip(letters).is_some_and(|(letter, letters)| letters.contains(letter))
}

/// The variables in the host of an address, which errors and requests for names show.
fn in_host(word: &Word) -> Vec<Access> {
    if word.unknown.is_none() {
        return vec![];
    }
    let text = word.without_output();
    let addresses = text.split("://").skip(1).map(|rest| rest.split(['/', '?']).next().unwrap_or_default());
    addresses.map(|place| place.rsplit('@').next().unwrap_or_default()).flat_map(named_in).collect()
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

/// The commands of a pipeline whose output goes to a filter alone, and what this shows of an environment that they print.
pub fn filtered(parts: &[Node], catalogue: Catalogue) -> impl Iterator<Item = (*const Command, Vec<Access>)> {
    let is_sort = |node: &&Node| matches!(node, Node::Command(command) if orders(command));
    parts.iter().enumerate().filter_map(move |(at, part)| {
        let command = printing(part, catalogue)?;
        let next = parts.iter().skip(at + 1).find(|node| !is_sort(node))?;
        let Node::Command(next) = next else { return None };
        Some((std::ptr::from_ref::<Command>(command), shown_by(next)?))
    })
}

/// The command whose output a part of a pipeline prints: in a container or on a host, that which runs there.
fn printing(part: &Node, catalogue: Catalogue) -> Option<&Command> {
    let is_plain = |command: &Command| command.redirections.is_empty();
    match part {
        Node::Command(command) => Some(command.as_ref()).filter(|command| is_plain(command)),
        Node::Group(Construct::Through(outer), inner) => {
            let [Node::Command(command)] = inner.as_slice() else { return None };
            let usage = catalogue.usage(&outer.texts(), &|_| false)?;
            let is_elsewhere = usage.form.runs.is_some_and(|runs| runs.inside || runs.how == How::Ssh);
            (is_elsewhere && is_plain(outer) && is_plain(command)).then(|| command.as_ref())
        }
        _ => None,
    }
}

/// Whether a filter only orders the lines that it gets.
fn orders(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
    let is_order = matches!(words.as_deref(), Some(["sort" | "uniq"] | ["sort", "-u"]));
    is_order && command.redirections.is_empty()
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
pub(super) fn named_in(text: &str) -> Vec<Access> {
    let parts = text.split('$').skip(1).map(|part| part.strip_prefix('{').unwrap_or(part));
    parts.map(|part| name(part).0).filter(|name| !name.is_empty()).map(printed).collect()
}

/// The name at the beginning of a text, and what follows it.
pub(super) fn name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()))
}

pub(super) fn is_name(c: char) -> bool {
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
            into.push(printed(field(rest).unwrap_or_default()));
        }
    }
}

/// The variable of an environment of jq: `.NAME`, `["NAME"]`.
fn field(rest: &str) -> Option<&str> {
    match rest.strip_prefix('.') {
        Some(member) => Some(name(member).0).filter(|name| !name.is_empty()),
        None => literal(rest.strip_prefix('[')?).map(|(name, _)| name),
    }
}

/// The name between quotes, which nothing in it composes, and what follows it.
pub(super) fn literal(text: &str) -> Option<(&str, &str)> {
    let (text, rest) = quoted(text.trim_start().trim_start_matches('b'))?;
    let ends = rest.trim_start().starts_with([']', ')', '}', ',']);
    (ends && !text.is_empty() && text.chars().all(is_name)).then_some((text, rest))
}

/// A text between quotes without an escape, and what follows it.
pub(super) fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| "\"'`".contains(*c))?;
    let (inner, rest) = text.get(1..)?.split_once(quote)?;
    (!inner.contains('\\')).then_some((inner, rest))
}
