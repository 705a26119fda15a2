//! Commands that name the socket of a guard that is a process of its own: only opsctl connects to it.

use crate::model::records::verdict::Reason;
use crate::paths::glob;
use crate::paths::word_paths::{LocalMachine, normal, text_paths};
use opsctl_reader::shell::{Command, Word};

/// What separates a path from the text around it: `UNIX-CONNECT:/run/x.sock,forever`, `connect('/run/x.sock')`.
const BETWEEN: &[char] =
    &[' ', '\t', '\n', ',', ':', '=', ';', '|', '&', '<', '>', '(', ')', '{', '}', '"', '\'', '`', '\\', '@'];

/// The objection to a command that names the socket, as a path, a pattern or a link.
pub fn objection(command: &Command, socket: &str, machine: &dyn LocalMachine) -> Option<Reason> {
    let redirected = command.redirections.iter().map(|redirection| &redirection.path);
    let mut texts = command.words.iter().chain(&command.stdin).chain(redirected);
    let named = texts.find(|word| names(word, socket, command, machine))?;
    let shown: String = named.text.chars().take(120).filter(|c| !c.is_control()).collect();
    let text = format!(
        "Protected: `{shown}`{} names the socket of the guard, to which only opsctl connects. Call the verbs of opsctl, such as \
         `opsctl status` or `opsctl explain`.",
        command.whereabouts()
    );
    Some(Reason::of("protect", text))
}

fn names(word: &Word, socket: &str, command: &Command, machine: &dyn LocalMachine) -> bool {
    let (_, file) = socket.rsplit_once('/').unwrap_or(("", socket));
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    let mut parts = word.text.split(BETWEEN).filter(|part| part.contains(file) || is_pattern(part));
    parts.any(|part| {
        let here = command.cwd.as_deref().filter(|_| !part.starts_with('/'));
        let full = normal(&here.map_or_else(|| part.to_owned(), |folder| format!("{folder}/{part}")));
        full == socket
            || is_pattern(part) && glob::matches(&full, socket)
            || part.contains(file)
                && text_paths(part, word.unknown.is_some(), command, machine)
                    .paths
                    .iter()
                    .any(|path| path == socket)
    })
}
