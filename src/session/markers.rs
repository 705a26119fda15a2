//! `[EVENT:level:service] message`: what the agent itself wants to be remembered.

use crate::model::event::{Level, NewEvent};

/// The longest message, in characters.
const LONGEST: usize = 500;

/// The events in a text of the agent's, a line each.
pub fn find(text: &str) -> Vec<NewEvent> {
    text.lines().filter_map(marker).collect()
}

fn marker(line: &str) -> Option<NewEvent> {
    // A list's dash or a quotation's bracket may stand before it.
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
    fn a_line_of_its_own_is_an_event() {
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
    fn what_only_speaks_of_it_is_none() {
        for text in
            ["say [EVENT:info] then", "[EVENT:loud] x", "[EVENT:info]", "[EVENT:info x", "[event:info] x"]
        {
            assert_eq!(find(text), [], "{text}");
        }
    }
}
