//! Markers in the agent's text: lines of the form `[EVENT:level:service] message`, also within markdown.

use opsctl_policy::model::records::event::{Level, NewEvent};

/// The maximum length of a message, in characters.
const LONGEST: usize = 500;

/// Markup that may surround a marker: bold, italic, code, struck out.
const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];

opsctl_reader::words! {
    /// A kind of marker that other runtimes read and opsctl does not, with its beginning.
    pub enum Ignored {
        /// Records a restart or a redeployment.
        Cooldown = "[COOLDOWN:",
        /// Stores a memory.
        Memory = "[MEMORY:",
    }
}

impl Ignored {
    /// The warning, which names the replacement.
    pub const fn warning(self) -> &'static str {
        match self {
            Self::Cooldown => {
                "[COOLDOWN:…] ignored: hooks record restarts and redeployments; remove it from the prompt, and record others \
                 with `opsctl cooldown record`"
            }
            Self::Memory => {
                "[MEMORY:…] ignored: opsctl stores no memories; remove it from the prompt, report observations with \
                 [EVENT:info:SERVICE], and put lasting knowledge into files of `context.files` in hosts.yaml"
            }
        }
    }
}

/// The events in a text, one per line.
pub fn find(text: &str) -> Vec<NewEvent> {
    text.lines().filter_map(event).collect()
}

/// Whether a text contains a marker of a kind that opsctl ignores.
pub fn has(text: &str, kind: Ignored) -> bool {
    text.lines().any(|line| after(line, kind.as_str()).is_some_and(|(_, rest)| rest.contains(']')))
}

/// The markup before `opening` and the text after it, if the line begins with it.
fn after<'a>(line: &'a str, opening: &str) -> Option<(&'a str, &'a str)> {
    let (before, rest) = line.split_once(opening)?;
    let (blocks, markup) = before.rsplit_once(char::is_whitespace).unwrap_or(("", before));
    let markup = markup.trim_start_matches(['-', '>']);
    let is_marked = blocks.split_whitespace().all(is_block) && markup.chars().all(|c| EMPHASIS.contains(&c));
    is_marked.then_some((markup, rest))
}

/// Whether a word begins a list item, a quotation or a heading, or is a part of a check box.
fn is_block(word: &str) -> bool {
    let number = word.trim_end_matches(['.', ')']);
    let is_number = number.len() < word.len() && number.chars().all(|c| c.is_ascii_digit());
    is_number || word.chars().all(|c| "-*+>#•".contains(c)) || ["[", "]", "[x]", "[X]"].contains(&word)
}

/// A message without the ends of the markup that begins before its marker, and that ends after the marker or after the
/// message.
fn without<'a>(markup: &str, message: &'a str) -> &'a str {
    let mut message = message.trim_end();
    let mut open = Vec::new();
    for mark in markup.chars().rev() {
        match message.strip_prefix(mark) {
            Some(rest) => message = rest,
            None => open.push(mark),
        }
    }
    // The outermost mark ends last.
    for mark in open.into_iter().rev() {
        message = message.strip_suffix(mark).unwrap_or(message);
    }
    message
}

fn event(line: &str) -> Option<NewEvent> {
    let (markup, rest) = after(line, "[EVENT:")?;
    let (head, message) = rest.split_once(']')?;
    let (level, service) = match head.split_once(':') {
        Some((level, service)) => (level, Some(service.trim())),
        None => (head, None),
    };
    let level = match level.trim().to_lowercase().as_str() {
        "info" => Level::Info,
        "warning" | "warn" => Level::Warning,
        "critical" | "error" => Level::Critical,
        _ => return None,
    };
    // A secret that is cut or stripped of characters may not be recognised.
    let message = opsctl_redact::text(without(markup, message).trim());
    let message: String = message.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let service = service
        .filter(|name| !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control))
        .map(str::to_owned);
    (!message.is_empty()).then_some(NewEvent { level, service, message })
}
