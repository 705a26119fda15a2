//! Lines that are sent to a daemon over a socket, as `socat` and `nc` do.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use crate::lists::{DAEMON_QUERIES, ENGINE_SOCKETS};
use opsctl_reader::shell::{Command, Mode, Word, glob};
use opsctl_reader::terms::effect::Effect;

/// The effect of what is sent: each line must ask.
pub fn effect(command: &Command) -> Proof {
    if command
        .words
        .iter()
        .any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('z'))
    {
        // `-z` only tests whether the port is open.
        return READS;
    }
    let nothing =
        command.redirections.iter().any(|one| one.mode == Mode::Read && one.path.text == "/dev/null");
    match &command.stdin {
        Some(text) if text.known().is_some_and(asks) => READS,
        // To an engine, any request may be one that takes over the host.
        Some(text) if text.known().is_none() || command.words.iter().any(names_engine) => {
            (Effect::Unknown, Why::Unread)
        }
        Some(_) => CHANGES,
        None if nothing => READS,
        None => (Effect::Unknown, Why::Unread),
    }
}

/// Whether a word names the socket of a container engine: `UNIX-CONNECT:/var/run/docker.sock`.
fn names_engine(word: &Word) -> bool {
    ENGINE_SOCKETS.iter().any(|one| glob(one, &word.text))
}

/// Whether every line of a text only asks.
fn asks(text: &str) -> bool {
    let text = text.replace("\\r", "").replace("\\n", "\n");
    let mut http = false;
    text.lines().flat_map(|line| line.split(';')).all(|line| {
        let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
        let Some(first) = words.first() else { return true };
        // What follows are headers.
        http |= matches!(first.as_str(), "get" | "head" | "options") && line.contains("HTTP/");
        (http && first.ends_with(':'))
            || (DAEMON_QUERIES.contains(&first.as_str())
                && words.get(1).is_none_or(|second| second != "reset"))
            || (line.starts_with('{') && line.contains("query-"))
    })
}
