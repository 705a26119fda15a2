//! The mistakes in `hosts.yaml`, each with its line in the file.

use std::ops::Range;

use super::output::{complain as complain_line, complain_in_colours};
use super::text::{Text, line};
use opsctl_inventory::error::{HostsError, MOST};
use opsctl_inventory::spanned::Location;
use opsctl_reader::terms::plain_text::plain;

/// Prints all mistakes on stderr.
pub fn complain(error: &HostsError) {
    let redacted = opsctl_redact::text(&error.text);
    for mistake in &error.mistakes {
        let message = error.line(mistake);
        match mistake.location.and_then(|location| marked(&message, location, &error.text, &redacted)) {
            Some(text) => complain_in_colours(&text),
            None => complain_line(message),
        }
    }
    let (count, file) = (error.mistakes.len(), error.file.display());
    match count {
        0 | 1 => {}
        MOST.. => complain_line(format!("{count} mistakes in {file}; there may be more")),
        _ => complain_line(format!("{count} mistakes in {file}")),
    }
}

/// The message with its line; `None` if the file has no such line.
fn marked(message: &str, location: Location, text: &str, redacted: &str) -> Option<Text> {
    let number = usize::try_from(location.line).ok()?;
    let source = text.lines().nth(number.checked_sub(1)?)?;
    // A secret may be recognised by the lines around it only.
    let without_secrets = opsctl_redact::text(source);
    if !redacted.lines().any(|other| other == without_secrets) {
        return None;
    }
    let shown = line(source);
    let part = part(location, source, &shown);
    Some(Text::marked(message, number, &shown, part))
}

/// The bytes of the line as it is shown that a position marks. A secret may have been removed from the line: in front of
/// the part, behind it, or in it, and then all of the line is marked.
fn part(location: Location, source: &str, shown: &str) -> Range<usize> {
    let source = plain(source);
    let byte = |characters: u64| {
        let mut characters_at = source.char_indices().map(|(byte, _)| byte);
        usize::try_from(characters).ok().and_then(|at| characters_at.nth(at)).unwrap_or(source.len())
    };
    let start = byte(location.column.saturating_sub(1));
    let end = byte(location.column.saturating_sub(1).saturating_add(location.length.max(1)));
    if source.get(..end).is_some_and(|front| shown.starts_with(front)) {
        return start..end;
    }
    match source.get(start..).filter(|back| shown.ends_with(back)) {
        Some(back) => shown.len() - back.len()..shown.len() - (source.len() - end),
        None => shown.len() - shown.trim_start().len()..shown.len(),
    }
}
