//! Text of other programs for output.

/// Whether a character is not shown as itself: a control character, one that changes the direction of writing, one
/// without a width, or a line separator other than the line break.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Replaces hidden characters, such as line breaks, with spaces.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

/// Replaces hidden characters except line breaks with spaces.
pub fn plain_lines(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) && c != '\n' { ' ' } else { c }).collect()
}

/// Writes the hidden characters of a JSON text, which are in its strings, as escapes such as `\u202e`.
pub fn escaped_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped += &format!("\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Replaces hidden characters with spaces and truncates to `chars` characters, followed by `…`.
pub fn shortened(text: &str, chars: usize) -> String {
    let mut shown: String = text.chars().take(chars).map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    if text.chars().nth(chars).is_some() {
        shown.push('…');
    }
    shown
}

/// The first whole words of a text that fit into `chars` characters, followed by `…` if words are left out. No word is
/// cut, so that redaction recognises it afterwards.
pub fn first_words(text: &str, chars: usize) -> String {
    let Some((at, next)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let head = text.get(..at).unwrap_or_default();
    let end = if next.is_whitespace() { Some(at) } else { head.rfind(char::is_whitespace) };
    let words = end.and_then(|end| head.get(..end)).unwrap_or_default();
    format!("{}…", words.trim_end())
}

/// The text with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A host and the wrappers of a command in a sentence: `, on ie01 through ssh, sudo`; empty without any.
pub fn whereabouts(host: Option<&str>, via: &[String]) -> String {
    let mut text = host.map(|host| format!(", on {host}")).unwrap_or_default();
    if !via.is_empty() {
        text.push_str(if text.is_empty() { ", through " } else { " through " });
        text.push_str(&via.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::cases::check_rows;

    #[test]
    fn replaces_hidden_characters_and_leaves_out_words_that_do_not_fit() {
        check_rows("terms", "plain_texts", |row| {
            let (how, text) = row.split_once(": ").unwrap();
            match how {
                "plain" => plain(text),
                "lines" => plain_lines(text),
                "shortened" => shortened(text, 4),
                _ => first_words(text, 5),
            }
        });
    }

    #[test]
    fn escapes_hidden_characters_in_json() {
        let text = "a\u{202e}\u{9b}\u{e0041}ü";
        let escaped = escaped_json(&serde_json::to_string(text).unwrap());
        assert_eq!(escaped, r#""a\u202e\u009b\udb40\udc41ü""#);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
