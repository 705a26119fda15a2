//! Text for the terminal.

use std::ops::{AddAssign, Range};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anstyle::Style;
use serde::Serialize;
use serde_json::Value;

use opsctl_reader::terms::plain_text::{escaped_json, plain, plain_lines};

/// Text that may be printed: without secrets and hidden characters, except line breaks and opsctl's own colours.
///
/// Only `output` writes to the terminal, and it takes nothing else.
#[derive(Debug, Clone, Default)]
pub struct Text(String);

impl Text {
    /// A line of any text in a style, without line breaks.
    pub fn styled(style: Style, text: &str) -> Self {
        Self(format!("{style}{}{style:#}", line(text)))
    }

    /// A message of opsctl about a line of a file, with the line and a mark below a part of it. The line and the range,
    /// in bytes, are those of [`line`].
    pub fn marked(message: &str, number: usize, source: &str, part: Range<usize>) -> Self {
        let (message, source) = (line(message), line(source));
        let snippet = Snippet::source(&source).line_start(number);
        let title = Level::ERROR.with_name("opsctl").primary_title(&message);
        let report = title.element(snippet.annotation(AnnotationKind::Primary.span(part)));
        Self(Renderer::styled().render(&[report]) + "\n")
    }

    /// A value as one line of JSON. Hidden characters are escaped.
    pub fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut value = serde_json::to_value(value)?;
        opsctl_redact::json(&mut value);
        serde_json::to_string(&value).map(|text| Self(escaped_json(&text)))
    }

    /// A value as one line of JSON, from which secrets have been removed. Hidden characters are escaped.
    pub fn redacted_json(value: &Value) -> Self {
        Self(escaped_json(&value.to_string()))
    }

    /// Parts, each ended by a character such as a NUL byte, for programs.
    pub fn records(parts: &[String], end: char) -> Self {
        Self(parts.iter().map(|part| plain_lines(&opsctl_redact::text(part)) + &String::from(end)).collect())
    }

    /// Text for the model, with its tabs.
    pub fn context(text: &str) -> Self {
        Self(opsctl_redact::text(text).split('\t').map(plain_lines).collect::<Vec<_>>().join("\t"))
    }

    /// A diff for `patch`, with its tabs and line endings.
    pub fn diff(text: &str) -> Self {
        let lines = opsctl_redact::text(text);
        Self(lines.split("\r\n").map(|part| Self::context(part).0).collect::<Vec<_>>().join("\r\n"))
    }

    /// The output of a verb that the guard ran: its colours stay.
    pub fn of_guard(text: &str) -> Self {
        let parts = opsctl_redact::text(text);
        let mut parts = parts.split("\x1b[");
        let mut shown = parts.next().map(Self::context).unwrap_or_default();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
            match end.and_then(|end| part.split_at_checked(end)) {
                Some((style, rest)) if rest.starts_with('m') => {
                    shown.0 += &format!("\x1b[{style}m");
                    shown += Self::context(rest.get(1..).unwrap_or_default());
                }
                _ => shown += Self::context(&format!(" [{part}")),
            }
        }
        shown
    }

    /// Clears the terminal.
    pub fn clear() -> Self {
        Self("\x1b[2J\x1b[H".to_owned())
    }

    /// The first lines, at most `rows`; the last of them states how much is left out.
    pub fn fitted(&self, rows: usize) -> Self {
        let lines: Vec<&str> = self.0.lines().collect();
        if lines.len() <= rows {
            return self.clone();
        }
        let shown = rows.saturating_sub(1);
        let first = lines.iter().take(shown).map(|line| format!("{line}\n")).collect::<String>();
        Self(format!("{first}… {} more lines\n", lines.len() - shown))
    }

    /// Whether it has colours, which some terminals do not show.
    pub fn has_colours(&self) -> bool {
        self.0.contains('\x1b')
    }

    /// The text to print.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(plain_lines(&opsctl_redact::text(text)))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl<T: Into<Self>> AddAssign<T> for Text {
    fn add_assign(&mut self, more: T) {
        self.0 += &more.into().0;
    }
}

impl Extend<Self> for Text {
    fn extend<I: IntoIterator<Item = Self>>(&mut self, parts: I) {
        parts.into_iter().for_each(|part| *self += part);
    }
}

impl FromIterator<Self> for Text {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        let mut text = Self::default();
        text.extend(parts);
        text
    }
}

/// A text as one line, without secrets and hidden characters. It is made before a text is cut to a width: a secret that
/// is cut may not be recognised.
pub fn line(text: &str) -> String {
    plain(&opsctl_redact::text(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOSTILE: &str = "a\u{1b}[31mb\u{202e}c password=hunter2\nd";

    #[test]
    fn removes_secrets_and_hidden_characters() {
        assert_eq!(Text::from(HOSTILE).as_str(), "a [31mb c password=[redacted]\nd");
        assert_eq!(line(HOSTILE), "a [31mb c password=[redacted] d");
        assert_eq!(Text::styled(Style::new().bold(), "\u{1b}x").as_str(), "\u{1b}[1m x\u{1b}[0m");
        assert_eq!(Text::records(&["a\0b".to_owned()], '\0').as_str(), "a b\0");
        let json = Text::json(&json!({"a": HOSTILE})).unwrap();
        assert_eq!(json.as_str(), r#"{"a":"a\u001b[31mb\u202ec password=[redacted]\nd"}"#);
    }

    #[test]
    fn output_of_the_guard_keeps_only_its_colours() {
        let text = Text::of_guard("\x1b[1;31mred\x1b[0m\tx\n\x1b[2Jy\x1b]0;t\x07 password=hunter2 \x1b[");
        assert_eq!(text.as_str(), "\x1b[1;31mred\x1b[0m\tx\n [2Jy ]0;t  password=[redacted]  [");
    }

    #[test]
    fn a_page_that_does_not_fit_states_what_is_left_out() {
        let text = Text::from("a\nb\nc\nd\n");
        assert_eq!(text.fitted(4).as_str(), "a\nb\nc\nd\n");
        assert_eq!(text.fitted(3).as_str(), "a\nb\n… 2 more lines\n");
    }
}
