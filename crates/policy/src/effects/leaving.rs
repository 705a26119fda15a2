//! What leaves by a read: a request, or a name that is asked for, that holds the output of a command or the content of a file.

use super::content::{carried, is_file};
use super::http;
use crate::files::environment::is_credential;
use crate::lists::{
    ADDRESSING_OPTIONS, ASKING_PROGRAMS, CLIENTS, LOCAL_PROGRAMS, LOCAL_SOURCES, LOGIN_CLIENTS,
    LOGIN_OPTIONS, LOGIN_VARIABLES, NAMES_ON_INPUT, PASSWORD_FILES, PLAIN_FILTERS, RELAYING_OPTIONS,
    RELAYING_VARIABLES, SERVER_WORDS, VARIABLE_USERS,
};
use crate::targets::hosts;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Check;
use opsctl_reader::shell::{Command, Word, host_of};

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
            _ if others || names_file(&address.text, usage, texts) => Some(host.clone()),
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
    let is_one = |list: &[&str]| list.contains(&name) || list.contains(&verb.as_str());
    let (asks, is_unknown) = (is_one(&ASKING_PROGRAMS), |word: &Word| word.known().is_none());
    // The hosts through which it runs belong to the commands that reach them.
    let own =
        hosts::named(command, Some(usage), texts).into_iter().filter(|host| !command.hosts.contains(host));
    let mut sent: Vec<String> = own.collect();
    let is_fed = command.stdin.as_ref().is_some_and(is_unknown)
        && (!sent.is_empty() || is_one(&NAMES_ON_INPUT) && usage.operands(texts).words.is_empty());
    // `--set url=…` names no server; `:http,url=…:` of rclone and `--schema=http:…` do.
    let is_address = |text: &&&str| {
        let has_host = text.split("://").skip(1).any(begins_host);
        text.split_once("://").filter(|_| has_host).is_some_and(|(head, _)| {
            let value = head.split_once('=').filter(|(option, _)| option.starts_with("--"));
            head.starts_with(':') || !value.map_or(head, |(_, value)| value).contains('=')
        })
    };
    if !LOCAL_PROGRAMS.contains(&name) && !is_one(&CLIENTS) {
        let addressed = texts.iter().skip(1).filter(|text| composed(text)).filter(is_address);
        sent.extend(addressed.flat_map(|text| hosts_in(text)));
    }
    if is_one(&CLIENTS) {
        sent.extend(texts.iter().skip(1).filter(is_address).flat_map(|text| hosts_in(text)));
        let own = texts.split(|text| *text == "--").next().unwrap_or_default();
        sent.extend(given(own, &ADDRESSING_OPTIONS).flat_map(hosts_in));
    }
    let mut words =
        command.words.iter().skip(1).filter(|word| is_unknown(word)).map(|word| word.text.as_str());
    let carries = words.any(|text| composed(&text)) || is_fed;
    if asks && (carries || lists_names(usage, texts)) || sent.iter().any(|host| composed(&host.as_str())) {
        return vec![UNKNOWN.to_owned()];
    }
    if carries { sent } else { vec![] }
}

/// Whether a word of a request that counts as its address, or a parameter that is a part of it, may be data from a file: `x=@FILE`,
/// not `http://host/?sort=@x`.
fn names_file(address: &str, usage: &Usage, texts: &[&str]) -> bool {
    let is_literal =
        || texts.contains(&address) && address.split("=@").next().is_some_and(|head| head.contains('?'));
    let is_first = || usage.operands(texts).words().next() == Some(address);
    address.contains("=@") && !(is_literal() && (address.contains("://") || is_first()))
}

/// Whether what follows `://` may begin with a host: the script of `sed s/.*://` is no address.
fn begins_host(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || "[${_%@-`\\'\"".contains(c))
}

/// The hosts to which a request sends a variable with the name of a secret; an empty one where the variable is a part of the host.
/// Passwords in a file belong to the names of servers: they are revealed to what is reached under another name.
pub fn revealed(command: &Command, usage: &Usage, texts: &[&str]) -> Vec<String> {
    // A host gets the password with which `ssh` logs in.
    if command.via.iter().any(|via| base_name(via) == "sshpass") {
        return command.hosts.to_vec();
    }
    let check = usage.form.effect.and_then(|terms| terms.check);
    let secret =
        |text: &str| text.split('$').skip(1).any(|part| is_secret_variable(part.trim_start_matches('{')));
    let words = || command.words.iter().chain(&command.stdin).filter(|word| word.unknown.is_some());
    let in_words = || words().any(|word| secret(&word.text));
    if check != Some(Check::HttpRequest)
        && VARIABLE_USERS.iter().any(|(one, _)| texts.first().is_some_and(|name| base_name(name) == *one))
    {
        let has_secret = |word: &Word| word.unknown.is_some() && secret(&word.text);
        let is_given = in_words() || command.env.iter().any(|entry| has_secret(&entry.1));
        let named = hosts::named(command, Some(usage), texts);
        let named = named.into_iter().filter(|host| !command.hosts.contains(host));
        let first = usage
            .operands(texts)
            .words()
            .next()
            .filter(|_| SERVER_WORDS.contains(&texts.first().map_or("", |name| base_name(name))));
        let named = named.chain(first.into_iter().chain(given(texts, &["-L", "-host"])).filter_map(server));
        // `rest:http://HOST`, `:webdav,url=http://HOST,pass=$PASSWORD:`.
        let addresses = texts.iter().skip(1).filter(|text| text.contains("://"));
        let parts = addresses.flat_map(|text| text.split(',')).filter(|part| part.contains("://"));
        let named = named.chain(parts.flat_map(hosts_in));
        return servers(command, texts).into_iter().chain(named).filter(|_| is_given).collect();
    }
    if check != Some(Check::HttpRequest) || !in_words() && !usage.has(texts, &PASSWORD_FILES) {
        return vec![];
    }
    let (addresses, _) = http::destinations(command, usage, texts);
    let addresses = addresses.into_iter().map(|(_, host)| host).filter(|_| in_words());
    let hosts = addresses.chain(relayed(command, texts));
    hosts.map(|host| if secret(&host) { UNKNOWN.to_owned() } else { host }).collect()
}

/// The hosts to which a client sends the credentials that its settings or variables hold: those of the servers that its words
/// or variables name.
pub fn logs_in(command: &Command, texts: &[&str]) -> Vec<String> {
    if !LOGIN_CLIENTS.contains(&texts.first().map_or("", |name| base_name(name))) {
        return vec![];
    }
    servers(command, texts)
}

/// The servers that the words or the variables of a client name, before those of a command that it runs.
fn servers(command: &Command, texts: &[&str]) -> Vec<String> {
    let texts = texts.split(|text| *text == "--").next().unwrap_or_default();
    let is_scheme = |head: &str| head.chars().all(|c| c.is_ascii_alphanumeric() || "+-".contains(c));
    let addresses = texts.iter().skip(1).copied();
    let addresses = addresses.filter(|text| text.split_once("://").is_some_and(|(head, _)| is_scheme(head)));
    // `psql 'host=db dbname=x'`.
    let settings = texts.iter().skip(1).flat_map(|text| text.split_whitespace());
    let settings = settings.filter_map(|part| part.strip_prefix("host=").or(part.strip_prefix("hostaddr=")));
    let variables =
        LOGIN_VARIABLES.iter().filter_map(|name| command.variable(name)).map(|word| word.text.as_str());
    let named = addresses.chain(settings).chain(given(texts, &LOGIN_OPTIONS)).chain(variables);
    // Not the path of a socket, and no other option.
    let is_host = |host: &String| {
        host.starts_with(|c: char| c.is_ascii_alphanumeric() || "[$".contains(c))
            && !host.contains(['=', ' '])
    };
    named.flat_map(|value| value.split(',')).flat_map(hosts_in).filter(is_host).collect()
}

/// The server that a word names: `HOST`, `//HOST/SHARE`, `udp:HOST:PORT`.
fn server(word: &str) -> Option<String> {
    let host = word.trim_start_matches('/').split('/').next().unwrap_or_default();
    hosts_in(host).pop().filter(|host| host.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Whether a text begins with the name of a variable that may hold a secret.
fn is_secret_variable(text: &str) -> bool {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    is_credential(text.get(..end).unwrap_or_default())
}

/// The hosts to which a request may send something that changes them: with data, or with a method that does not only ask.
pub fn changed(command: &Command, usage: &Usage, texts: &[&str]) -> Vec<String> {
    let is_request = usage.form.effect.is_some_and(|terms| terms.check == Some(Check::HttpRequest));
    let addresses = if is_request { http::changed(command, usage, texts) } else { vec![] };
    let host =
        |word: &Word| host_of(&word.text).filter(|host| carried(host).is_none() && !host.contains('$'));
    addresses.iter().filter_map(host).collect()
}

/// Whether an option names a file with names or addresses.
fn lists_names(usage: &Usage, texts: &[&str]) -> bool {
    usage.operands(texts).options.iter().any(|(name, _)| name.is_any(&usage.files().inputs))
}

/// The hosts through which, or to which, options and variables send a request instead.
fn relayed(command: &Command, texts: &[&str]) -> Vec<String> {
    let variables =
        RELAYING_VARIABLES.iter().filter_map(|name| command.variable(name)).map(|word| word.text.as_str());
    let known = |host: String| if carried(&host).is_some() { UNKNOWN.to_owned() } else { host };
    given(texts, &RELAYING_OPTIONS).chain(variables).flat_map(hosts_in).map(known).collect()
}

/// The values of these options, in the next word, behind `=` or attached to a short one.
fn given<'a>(texts: &'a [&str], options: &'a [&str]) -> impl Iterator<Item = &'a str> {
    texts.iter().enumerate().skip(1).filter_map(move |(at, text)| {
        let attached =
            || options.iter().filter(|name| name.len() == 2).find_map(|name| text.strip_prefix(name));
        match text.split_once('=') {
            _ if options.contains(text) => texts.get(at + 1).copied(),
            Some((name, value)) if options.contains(&name) => Some(value),
            _ => attached(),
        }
    })
}

/// The hosts in an address, in `NAME:PORT:ADDRESS` as `--resolve` takes it, or in a list with commas.
fn hosts_in(value: &str) -> Vec<String> {
    if let Some((_, rest)) = value.split_once("://") {
        let place = rest.split(['/', '?']).next().unwrap_or_default();
        return vec![place.rsplit('@').next().unwrap_or_default().to_owned()];
    }
    // The address of IPv6 has colons.
    if let Some((address, _)) = value.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        return vec![address.to_owned()];
    }
    let parts = value.split([':', ',']).filter(|part| part.parse::<u16>().is_err() && !part.is_empty());
    parts.map(str::to_owned).collect()
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
