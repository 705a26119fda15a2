//! Addresses at which chats, push services and mail services accept messages over HTTP.

use crate::languages::names::chats;

/// The service that accepts requests to a URL as messages.
pub(super) fn named(url: &str, sends: bool, headers: &[&str]) -> Option<&'static str> {
    let (host, path, query) = parts(url);
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let accepts = |address: &str| {
        let (of, path) = address.split_once('/').unwrap_or((address, ""));
        (of == "*" || is_below(&host, of)) && begins(&segments, path)
    };
    let tables = [Some(chats::MESSAGES), sends.then_some(chats::MESSAGES_WITH_DATA)];
    let mut services = tables.into_iter().flatten().flat_map(|table| table.0);
    if let Some((name, _)) = services.find(|(_, addresses)| addresses.iter().any(accepts)) {
        return Some(name);
    }
    let label = host.split('.').next().unwrap_or_default();
    if label == "ntfy" {
        let publishes = matches!(segments.get(1), Some(&("publish" | "send" | "trigger")));
        let own = matches!(segments.first(), Some(&("v1" | "_next" | "static")));
        return (publishes || sends && !own).then_some("ntfy");
    }
    let key = query.contains("token=")
        || headers.iter().any(|h| h.to_ascii_lowercase().starts_with("x-gotify-key"));
    if sends && begins(&segments, "message") && segments.len() == 1 && (label == "gotify" || key) {
        return Some("Gotify");
    }
    // Mattermost's hooks have 26 letters and digits, Rocket.Chat's a token after the name.
    let is_token = |text: &&str| text.len() >= 16 && text.chars().all(|c| c.is_ascii_alphanumeric());
    match segments.as_slice() {
        ["hooks", token] if sends && token.len() == 26 && is_token(token) => Some("Mattermost"),
        ["hooks", id, token] if sends && is_token(id) && is_token(token) => Some("Rocket.Chat"),
        _ => None,
    }
}

/// Whether the name of a word with an unknown value suggests the address of a chat.
pub(super) fn hints_at_one(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    chats::HINTS.are_in(&word)
}

/// Whether the name of a program is that of one that sends messages.
pub(super) fn is_program(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(['-', '_', '.']).any(|part| chats::PROGRAMS.has(part))
}

/// Host, path and query.
fn parts(url: &str) -> (String, &str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
    (host.to_ascii_lowercase(), path, query)
}

fn is_below(host: &str, known: &str) -> bool {
    host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn begins(segments: &[&str], pattern: &str) -> bool {
    let mut segments = segments.iter();
    pattern.split('/').filter(|part| !part.is_empty()).all(|part| {
        let Some(segment) = segments.next() else { return false };
        match part.split_once('*') {
            Some((start, _)) => segment.starts_with(start),
            None => *segment == part,
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn reading_from_a_chat_is_not_a_message() {
        crate::languages::cases::check_rows("chats", "services", |request| {
            let (method, url) = request.split_once(' ').unwrap();
            super::named(url, method == "POST", &[]).unwrap_or_default().to_owned()
        });
    }
}
