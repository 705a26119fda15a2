//! Fitting text to a terminal.

use std::io::IsTerminal as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The width of the terminal of the process on the agent's side, for a verb that the guard runs.
const COLUMNS: &str = "OPSCTL_COLUMNS";

/// The width of the terminal in columns; `None` if stdout is not a terminal.
pub fn width() -> Option<usize> {
    // A terminal without a known size gets the usual width.
    let of_caller = || std::env::var(COLUMNS).ok()?.parse().ok();
    is_terminal().then(|| size().map_or(80, |(columns, _)| columns)).or_else(of_caller)
}

/// Columns and rows of the terminal; `None` if stdout is not a terminal or its width is not known. Without a known
/// height it has any number of rows.
#[expect(clippy::disallowed_methods, reason = "asks for the size; nothing is written")]
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    let rows = if size.ws_row == 0 { usize::MAX } else { size.ws_row.into() };
    (size.ws_col > 0).then(|| (size.ws_col.into(), rows))
}

/// Whether stdout is a terminal.
#[expect(clippy::disallowed_methods, reason = "asks what it is; nothing is written")]
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether stderr is a terminal, so that progress can be shown.
#[expect(clippy::disallowed_methods, reason = "asks what it is; nothing is written")]
pub fn shows_progress() -> bool {
    std::io::stderr().is_terminal()
}

/// Truncates a line to the width.
pub fn cut(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.width() > *width) else { return line.to_owned() };
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let columns = c.width().unwrap_or(0);
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    };
    line.chars().take_while(fits).chain(['…']).collect()
}

/// Wraps a line between words; further lines are indented.
pub fn wrap(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![line.to_owned()] };
    let indent = line.len() - line.trim_start().len();
    folded(line.split_whitespace(), " ".repeat(indent), indent + 4, width)
}

/// Wraps a line whose first words end at the column `next`, where its further lines begin.
pub fn hanging(line: &str, next: usize, width: usize) -> String {
    let (first, rest) = line.split_at_checked(next).unwrap_or((line, ""));
    folded(rest.split_whitespace(), first.to_owned(), next, width).join("\n")
}

/// The lines of words: the first one behind `current`, the others behind blanks.
fn folded<'a>(
    words: impl Iterator<Item = &'a str>,
    mut current: String,
    next: usize,
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut has_words = false;
    for word in words {
        if has_words && current.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut current, " ".repeat(next)));
            has_words = false;
        }
        if has_words {
            current.push(' ');
        }
        current += word;
        has_words = true;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_long_lines_with_an_ellipsis() {
        for (line, width, shown) in [
            ("abcdef", None, "abcdef"),
            ("abcdef", Some(6), "abcdef"),
            ("abcdef", Some(5), "abcd…"),
            ("日本語", Some(5), "日本…"),
            ("abc", Some(0), "…"),
        ] {
            assert_eq!(cut(line, width), shown);
        }
    }

    #[test]
    fn wraps_lines_between_words() {
        assert_eq!(wrap("  one two three", Some(10)), ["  one two", "      three"]);
        assert_eq!(wrap("  one two", None), ["  one two"]);
        assert_eq!(wrap("  unbreakable-word x", Some(8)), ["  unbreakable-word", "      x"]);
    }
}
