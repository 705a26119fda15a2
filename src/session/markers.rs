//! Events in the agent's text: lines of the form `[EVENT:level:service] message`.

use crate::model::event::{Level, NewEvent};

/// The maximum length of a message, in characters.
const LONGEST: usize = 500;

/// The events in a text, one per line.
pub fn find(text: &str) -> Vec<NewEvent> {
    text.lines().filter_map(marker).collect()
}

fn marker(line: &str) -> Option<NewEvent> {
    // The line may be part of a list or a quotation.
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*>`".contains(c));
    let (head, message) = line.strip_prefix("[EVENT:")?.split_once(']')?;
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
    let message: String =
        message.trim().trim_end_matches('`').chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let service = service
        .filter(|name| !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control))
        .map(str::to_owned);
    (!message.is_empty()).then_some(NewEvent { level, service, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_at_the_beginning_of_a_line_is_an_event() {
        let text = "All done.\n[EVENT:warning:jellyfin] slow: 4 s\n- [EVENT:info] nothing else\n";
        let event = |level, service: Option<&str>, message: &str| NewEvent {
            level,
            service: service.map(Into::into),
            message: message.into(),
        };
        assert_eq!(
            find(text),
            [event(Level::Warning, Some("jellyfin"), "slow: 4 s"), event(Level::Info, None, "nothing else")]
        );
    }

    #[test]
    fn a_marker_within_a_line_is_not_an_event() {
        for text in
            ["say [EVENT:info] then", "[EVENT:loud] x", "[EVENT:info]", "[EVENT:info x", "[event:info] x"]
        {
            assert_eq!(find(text), [], "{text}");
        }
    }
}
