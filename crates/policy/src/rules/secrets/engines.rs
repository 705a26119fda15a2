//! Requests to the socket of a container engine that a command writes itself: they give files and variables of any container.

use crate::lists::{ENGINE_READS, ENGINE_SOCKETS, METADATA_CLIENTS};
use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::shell::{Command, Word, glob};

/// Options with which the address is not the one that is written, or not the only one.
const OTHER_ADDRESSES: [&str; 8] =
    ["-G", "--get", "--url-query", "-K", "--config", "--next", "-:", "--request-target"];

/// The objection to a request to an engine that is not known to be harmless.
pub fn objection(command: &Command) -> Option<Reason> {
    let name = base_name(&command.words.first()?.text);
    let is_socket = |word: &Word| ENGINE_SOCKETS.iter().any(|one| glob(one, &word.text));
    let is_asked = METADATA_CLIENTS.contains(&name) && command.words.iter().any(is_socket);
    if !is_asked || changes(command) || is_harmless(command) {
        return None;
    }
    let text = format!(
        "Secret: this request to an engine{} may give files and keys of any container, which must not enter this session. \
         Use the engine's own client, such as `docker inspect --format`, or ask for one address that only reads, written \
         out: `/containers/json`, `/containers/NAME/logs?tail=100`.",
        command.whereabouts()
    );
    Some(Reason::of("secret", text))
}

/// Whether it states a method that changes something: that is an action.
fn changes(command: &Command) -> bool {
    let texts = command.texts();
    let is_method = |option: &str| matches!(option, "-X" | "--request" | "-XPOST" | "-XDELETE" | "-XPUT");
    let mut methods =
        texts.iter().enumerate().filter(|(_, text)| is_method(text) || text.starts_with("--request="));
    let Some((at, option)) = methods.next() else { return false };
    let value = option
        .strip_prefix("--request=")
        .or_else(|| option.strip_prefix("-X"))
        .filter(|value| !value.is_empty());
    let value = value.or_else(|| texts.get(at + 1).copied());
    methods.next().is_none() && value.is_some_and(|value| matches!(value, "POST" | "PUT" | "DELETE"))
}

/// Whether all that it asks for is known to be harmless.
fn is_harmless(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().skip(1).map(Word::known).collect();
    let Some(words) = words else { return false };
    if words.iter().any(|word| OTHER_ADDRESSES.iter().any(|option| word.starts_with(option))) {
        return false;
    }
    if let Some(stdin) = &command.stdin {
        let Some(sent) = stdin.known() else { return false };
        let sent = sent.replace("\\r", "").replace("\\n", "\n");
        let mut lines =
            sent.lines().filter_map(|line| line.split_once(' ')).filter(|(_, rest)| rest.contains("HTTP/"));
        return lines
            .all(|(method, rest)| method == "GET" && rest.split_whitespace().next().is_some_and(only_reads));
    }
    let path_of = |word: &&str| {
        let (_, rest) = word.split_once(":/")?;
        rest.trim_start_matches('/').split_once('/').map(|(_, path)| path.to_owned())
    };
    let mut paths = words.iter().filter_map(path_of);
    let (path, further) = (paths.next(), paths.next());
    path.is_some_and(|path| further.is_none() && only_reads(&format!("/{path}")))
}

/// Whether a path of an engine's API, with its query, only reads.
fn only_reads(path: &str) -> bool {
    let is_written_out = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:@?=&%,+\"".contains(c));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let version = path.strip_prefix("/v").and_then(|rest| rest.split_once('/'));
    let is_version = |version: &str| version.chars().all(|c| c.is_ascii_digit() || c == '.');
    let path = version
        .filter(|(version, _)| is_version(version))
        .map_or(path, |(version, _)| path.get(version.len() + 2..).unwrap_or_default());
    let path = path.strip_prefix("/libpod").unwrap_or(path);
    let is_plain = !path.contains(['%', '"', '&', '=']) && !path.contains("..") && !path.contains("//");
    // `ps_args` may print the environment.
    let is_listed = |one: &&&str| glob(one, path) && one.matches('/').count() == path.matches('/').count();
    is_written_out
        && is_plain
        && !query.contains("ps_args")
        && !query.contains("ps%")
        && ENGINE_READS.iter().any(|one| is_listed(&one))
}
