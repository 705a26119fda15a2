//! Requests to the socket of a container engine that a command writes itself: they give files and variables of any container.

use crate::effects::http;
use crate::lists::{ENGINE_QUERIES, ENGINE_READS, ENGINE_REQUEST_OPTIONS, ENGINE_SOCKETS, METADATA_CLIENTS};
use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::program::{Check, Role};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Mode, Word, glob};

/// The objection to a request to an engine that is not known to be harmless. What changes something is judged as an action.
pub fn objection(command: &Command, catalogue: Catalogue) -> Option<Reason> {
    let name = base_name(&command.words.first()?.text);
    let is_socket = |word: &Word| ENGINE_SOCKETS.iter().any(|one| glob(one, &word.text));
    let is_asked = METADATA_CLIENTS.contains(&name) && command.words.iter().any(is_socket);
    if !is_asked || is_harmless(command, catalogue) {
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

/// Whether all that it asks for is known to be harmless, or it sends something.
fn is_harmless(command: &Command, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    let usage = catalogue.usage(&texts, &|_| false);
    let is_http = |check: Option<Check>| check == Some(Check::HttpRequest);
    let Some(usage) = usage.filter(|usage| is_http(usage.form.effect.and_then(|terms| terms.check))) else {
        return sends_harmless_lines(command);
    };
    let Some(addresses) = http::asked(command, &usage, &texts) else { return true };
    let is_known = command.words.iter().all(|word| word.known().is_some());
    let given = usage.operands(&texts);
    let mut options = given.options.iter().map(|(name, _)| name);
    // `{a,b}` and `[a-c]` of curl are several addresses.
    let is_one = |text: &str| !text.contains(['{', '[']);
    is_known
        && given.words().chain(given.values(Role::Address)).all(is_one)
        && options.all(|name| name.is_any(&ENGINE_REQUEST_OPTIONS))
        && addresses.iter().all(|address| only_reads(path_of(address)))
}

/// Whether what `nc` or `socat` send are requests that only read.
fn sends_harmless_lines(command: &Command) -> bool {
    let has_file = command.redirections.iter().any(|one| one.mode != Mode::Write && one.mode != Mode::Append);
    let Some(sent) = command.stdin.as_ref().and_then(Word::known).filter(|_| !has_file) else { return false };
    let is_header = |line: &str| {
        line.split_once(':')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    };
    let sent = sent.replace("\\r", "").replace("\\n", "\n");
    sent.lines().map(str::trim_end).all(|line| match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["GET" | "HEAD", path, "HTTP/1.0" | "HTTP/1.1"] => only_reads(path),
        _ => line.is_empty() || is_header(line),
    })
}

/// The path of an address, with its query; its beginning is a host, which a socket does not need.
fn path_of(address: &str) -> &str {
    let rest = address.strip_prefix("http:").unwrap_or(address).trim_start_matches('/');
    rest.get(rest.find('/').unwrap_or(rest.len())..).unwrap_or_default()
}

/// Whether a path of an engine's API, with its query, only reads.
fn only_reads(path: &str) -> bool {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let is_written_out = |c: char| c.is_ascii_alphanumeric() || "/._-:@".contains(c);
    let version = path.strip_prefix("/v").and_then(|rest| rest.split_once('/'));
    let is_version = |version: &str| version.chars().all(|c| c.is_ascii_digit() || c == '.');
    let path = match version {
        Some((version, _)) if is_version(version) => path.get(version.len() + 2..).unwrap_or_default(),
        _ => path,
    };
    let path = path.strip_prefix("/libpod").unwrap_or(path);
    let is_listed = |one: &&str| glob(one, path) && one.matches('/').count() == path.matches('/').count();
    // `ps_args` of `top` may print the environment.
    let is_plain =
        |part: &str| part.is_empty() || ENGINE_QUERIES.contains(&part.split('=').next().unwrap_or_default());
    path.chars().all(is_written_out)
        && !path.contains("..")
        && !path.contains("//")
        && query.split('&').all(is_plain)
        && ENGINE_READS.iter().any(is_listed)
}
