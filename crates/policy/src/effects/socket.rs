//! Lines that are sent to a daemon over a socket, as `socat` and `nc` do.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use crate::lists::{DAEMON_COMMANDS, DAEMON_QUERIES, ENGINE_SOCKETS};
use opsctl_reader::shell::{Command, Mode, Word, glob};
use opsctl_reader::terms::effect::Effect;

/// The effect of what is sent: each line must ask. Without an input, nothing is sent.
pub fn effect(command: &Command, operands: &[&str]) -> Proof {
    if command
        .words
        .iter()
        .any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('z'))
    {
        // `-z` only tests whether the port is open.
        return READS;
    }
    sent(command, operands)
}

/// The effect of what a command sends to the addresses among its operands.
pub fn sent(command: &Command, operands: &[&str]) -> Proof {
    let mut opened = command.redirections.iter().filter(|one| one.mode == Mode::Read);
    let nothing = opened.all(|one| one.path.text == "/dev/null") && !joins(operands);
    match &command.stdin {
        Some(text) if text.known().is_some_and(asks) => READS,
        // To a socket that is none of an engine, a command of a daemon that is known to change only its state.
        Some(text) if text.known().is_some_and(commands) && !command.words.iter().any(names_engine) => {
            CHANGES
        }
        None if nothing => READS,
        _ => (Effect::Unknown, Why::Unread),
    }
}

/// Whether a program sends to one address what another one answers: `socat TCP:a:1 UNIX:/run/x.sock`.
fn joins(operands: &[&str]) -> bool {
    let is_address = |word: &&&str| word.contains([':', '/']);
    operands.iter().filter(is_address).count() > 1
        && !operands.iter().any(|word| matches!(*word, "-" | "stdio" | "STDIO"))
}

/// Whether bash may send to the daemon at a port what this command prints: nothing, or lines that only ask.
pub fn only_asks(command: &Command) -> bool {
    let texts = command.texts();
    let empty = |name: &&str| matches!(*name, ":" | "true" | "exec");
    match texts.as_slice() {
        [] | ["cat", "/dev/null"] => true,
        [name, ..] if empty(name) => true,
        ["echo" | "printf", words @ ..] => {
            command.words.iter().all(|word| word.known().is_some())
                && asks(&words.join(" ").replace("-e ", "").replace("-ne ", ""))
        }
        _ => false,
    }
}

/// Whether every line of a text asks, or is a command of a daemon that changes only its state.
fn commands(text: &str) -> bool {
    let text = text.replace("\\r", "").replace("\\n", "\n");
    text.lines()
        .flat_map(|line| line.split(';'))
        .all(|line| asks(line) || DAEMON_COMMANDS.iter().any(|one| glob(one, line.trim())))
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
        let mut words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
        // Each line of IMAP begins with a tag.
        if words.len() > 1 && words.first().is_some_and(|first| is_tag(first)) {
            words.remove(0);
        }
        let Some(first) = words.first() else { return true };
        // What follows are headers.
        http |= matches!(first.as_str(), "get" | "head" | "options") && line.contains("HTTP/");
        (http && first.ends_with(':'))
            || (DAEMON_QUERIES.contains(&first.as_str())
                && words.get(1).is_none_or(|second| second != "reset"))
            || (line.starts_with('{') && line.contains("query-"))
    })
}

/// Whether a word is a tag of IMAP: `a`, `a1`, `a001`, `1`.
fn is_tag(word: &str) -> bool {
    if word == "a" {
        return true;
    }
    let number = word.strip_prefix(|c: char| c.is_ascii_lowercase()).unwrap_or(word);
    (1..=4).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}
