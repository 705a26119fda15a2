//! What leaves by a read: a request, or a name that is asked for, that holds the output of a command or the content of a file.

use super::http;
use crate::lists::{ASKING_PROGRAMS, LOCAL_SOURCES, PLAIN_FILTERS, RELAYING_OPTIONS, RELAYING_VARIABLES};
use crate::targets::hosts;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Check;
use opsctl_reader::shell::{Command, Word};

/// The host of an address that is known only when the command runs.
const UNKNOWN: &str = "";

/// The hosts to which a command sends what another command printed, or what a file holds, as written; an empty one where the
/// host itself is known only when it runs.
pub fn destinations(command: &Command, usage: &Usage, texts: &[&str]) -> Vec<String> {
    let check = usage.form.effect.and_then(|terms| terms.check);
    if check == Some(Check::HttpRequest) {
        let (addresses, other) = http::destinations(command, usage, texts);
        // Through a proxy, or to another address than that of the name.
        let relay = relayed(command, texts);
        let is_address = |text: &str| addresses.iter().any(|(word, _)| word.text == text);
        let outputs = usage.files().outputs;
        let is_output = |at: usize| {
            at.checked_sub(1).and_then(|at| texts.get(at)).is_some_and(|option| outputs.contains(option))
        };
        let in_words = texts
            .iter()
            .enumerate()
            .any(|(at, text)| carried(text).is_some() && !is_address(text) && !is_output(at));
        let others =
            in_words || other.iter().any(|word| carried(&word.text).is_some() || is_file(word, command));
        let sends = |(address, host): (&Word, &String)| match carried(&address.text) {
            _ if others || address.text.contains("=@") => Some(host.clone()),
            None => None,
            // The output is the host, and nothing follows it that could be one.
            Some(output) if host.contains(output) => {
                (!is_whole_host(host, output)).then(|| UNKNOWN.to_owned())
            }
            Some(_) => Some(host.clone()),
        };
        let mut sent: Vec<String> =
            addresses.iter().map(|(address, host)| (address, host)).filter_map(sends).collect();
        // The addresses are in a file.
        if lists_names(usage, texts) {
            sent.push(UNKNOWN.to_owned());
        }
        if !sent.is_empty() || others || relay.iter().any(String::is_empty) {
            sent.extend(relay);
        }
        return sent;
    }
    let composed = |text: &&str| carried(text).is_some_and(|output| !is_whole_host(text, output));
    let name = texts.first().map_or("", |name| base_name(name));
    let verb = [name, texts.get(1).copied().unwrap_or_default()].join(" ");
    let asks = ASKING_PROGRAMS.iter().any(|one| *one == name || *one == verb);
    let names_list = asks && lists_names(usage, texts);
    let in_words = asks && texts.iter().skip(1).any(composed);
    // The hosts through which it runs belong to the commands that reach them.
    let own_hosts = hosts::named(command, Some(usage), texts);
    let in_host =
        own_hosts.iter().filter(|host| !command.hosts.contains(host)).any(|host| composed(&host.as_str()));
    if names_list || in_words || in_host { vec![UNKNOWN.to_owned()] } else { vec![] }
}

/// Whether an option names a file with names or addresses.
fn lists_names(usage: &Usage, texts: &[&str]) -> bool {
    usage.operands(texts).options.iter().any(|(name, _)| name.is_any(&usage.files().inputs))
}

/// The hosts through which, or to which, options and variables send a request instead.
fn relayed(command: &Command, texts: &[&str]) -> Vec<String> {
    let given = texts.iter().enumerate().filter_map(|(at, text)| {
        let (name, value) = text
            .split_once('=')
            .map_or((*text, texts.get(at + 1).copied()), |(name, value)| (name, Some(value)));
        value.filter(|_| RELAYING_OPTIONS.contains(&name))
    });
    let variables =
        RELAYING_VARIABLES.iter().filter_map(|name| command.variable(name)).map(|word| word.text.as_str());
    // `--resolve NAME:PORT:ADDRESS`, `--connect-to NAME:PORT:NAME:PORT`; other values are addresses.
    let hosts = |value: &str| match value.split_once("://") {
        Some((_, rest)) => vec![rest.split(['/', '?']).next().unwrap_or_default().to_owned()],
        None => value
            .split(':')
            .filter(|part| part.parse::<u16>().is_err() && !part.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    let known = |host: String| if carried(&host).is_some() { UNKNOWN.to_owned() } else { host };
    given.chain(variables).flat_map(hosts).map(known).collect()
}

/// The first substitution in a text whose output says something of a machine.
fn carried(text: &str) -> Option<&str> {
    let start = text.find("$(").or_else(|| text.find('`'))?;
    let (mut depth, rest) = (0_usize, text.get(start..)?);
    if rest.starts_with("$(date ") || rest.starts_with("$(date)") {
        return carried(rest.get(2..)?.split_once(')')?.1);
    }
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return rest.get(..=at),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(rest)
}

/// `x@FILE`, `@FILE` and `@-`: the content of a file, or what is on standard input.
fn is_file(word: &Word, command: &Command) -> bool {
    let name = word
        .text
        .split_once('@')
        .filter(|(head, _)| head.chars().all(|c| c.is_alphanumeric() || "_-=:".contains(c)));
    name.is_some_and(|(_, name)| name != "-" || command.stdin.is_none())
}

/// Whether a host is the output of a command that names something of this machine, and no more: `$(docker inspect …)`,
/// `$(hostname -f):8080`.
fn is_whole_host(host: &str, output: &str) -> bool {
    let port = host.strip_prefix(output).map(|rest| rest.trim_start_matches([':', '/']));
    port.is_some_and(|port| port.chars().all(|c| c.is_ascii_digit())) && is_local_source(output)
}

/// Whether a substitution prints names or addresses that the machine has, and none that its text composes.
fn is_local_source(output: &str) -> bool {
    let inner = output.trim_start_matches("$(").trim_end_matches(')');
    inner.split('|').enumerate().all(|(at, stage)| {
        let mut words = stage.split_whitespace();
        let program = words.next().unwrap_or_default();
        let is_filter = at > 0 && PLAIN_FILTERS.contains(&program);
        (LOCAL_SOURCES.contains(&program) || is_filter) && words.all(|word| !composes(word))
    })
}

/// Whether a word of a command could make a part of a name: `{{.Id}}.example.com`.
fn composes(word: &str) -> bool {
    // What runs in a container prints anything, and an escape is any character.
    if matches!(word, "exec" | "run") || word.contains('\\') {
        return true;
    }
    let has_template = word.contains("{{");
    let mut depth = 0_usize;
    let mut outside = String::new();
    for c in word.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    has_template && outside.chars().any(char::is_alphanumeric)
        || !word.starts_with('/')
            && word.contains(['.', '@'])
            && !has_template
            && word.chars().any(char::is_alphabetic)
}
