//! Files that may be written without changing anything that matters.

use super::proof::Scratch;
use crate::lists::{EMPTY_DEVICES, HARMLESS_SUBSTITUTIONS};
use crate::paths::computed;
use crate::paths::glob::matches;
use crate::paths::word_paths::{LocalMachine, text_paths};
use opsctl_reader::shell::Command;

/// Whether a file that a command writes lies in scratch, as it is written and with links resolved.
pub fn is_scratch(path: &str, command: &Command, scratch: &Scratch, machine: &dyn LocalMachine) -> bool {
    let descriptor = path.strip_prefix("/dev/fd/");
    if EMPTY_DEVICES.contains(&path) || descriptor.is_some_and(|number| !number.contains('/')) {
        return true;
    }
    // A name that `mktemp` makes is new, below its folder for such files.
    if path.starts_with("$(mktemp") {
        return !path.contains("..");
    }
    let path = plain(path);
    let unknown = path.contains(['$', '`']);
    // On a host, what a command prints may lead out of the folder before it.
    let is_open = command.host().is_some() && path.starts_with('/') && path.contains("$(");
    if is_open && computed::stand_ins(&path, command.cwd.as_deref()).is_none() {
        return false;
    }
    let meant = text_paths(&path, unknown, command, machine);
    let all = |path: &String| scratch.0.iter().any(|glob| matches(glob, path));
    !meant.too_many && meant.end.is_none() && !meant.paths.is_empty() && meant.paths.iter().all(all)
}

/// The path with harmless substitutions replaced by a letter.
fn plain(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let Some(start) = HARMLESS_SUBSTITUTIONS.iter().find(|start| from.starts_with(**start)) else {
            text.push_str(from);
            return text;
        };
        let end = if start.starts_with("$(") { from.find(')').map(|end| end + 1) } else { Some(start.len()) };
        let Some(end) =
            end.filter(|end| !from.get(..*end).unwrap_or_default().contains([';', '|', '&', '/']))
        else {
            text.push_str(from);
            return text;
        };
        text.push('x');
        rest = from.get(end..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}
