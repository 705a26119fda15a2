//! Text of other programs for one line of output.

/// Replaces control characters, such as line breaks, with spaces.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Replaces control characters with spaces and truncates to `chars` characters, followed by `…`.
pub fn shortened(text: &str, chars: usize) -> String {
    let mut shown: String = text.chars().take(chars).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(chars).is_some() {
        shown.push('…');
    }
    shown
}

/// The text with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_control_characters_and_marks_truncation() {
        assert_eq!(plain("a\nb\u{1b}c"), "a b c");
        assert_eq!(shortened("ab\ncd", 4), "ab c…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }
}
