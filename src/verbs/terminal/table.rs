//! Tables: columns that fit the terminal, with a colour for states that matter.

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement};

use super::output::print;
use super::screen;
use super::text::{Text, line};

/// Columns of at most this width are not wrapped.
const SHORT: u16 = 20;

const TITLE: Style = Style::new().bold();

/// Words with a colour where they are the whole text of a cell.
const STATES: [(&str, Style); 12] = [
    ("allow", AnsiColor::Green.on_default()),
    ("reachable", AnsiColor::Green.on_default()),
    ("delivered", AnsiColor::Green.on_default()),
    ("warning", AnsiColor::Yellow.on_default()),
    ("unknown", AnsiColor::Yellow.on_default()),
    ("would deny", AnsiColor::Yellow.on_default()),
    ("deny", AnsiColor::Red.on_default()),
    ("fail-open", AnsiColor::Red.on_default().bold()),
    ("fail-closed", AnsiColor::Red.on_default().bold()),
    ("critical", AnsiColor::Red.on_default().bold()),
    ("unreachable", AnsiColor::Red.on_default()),
    ("failed", AnsiColor::Red.on_default()),
];

/// Prints a table on stdout, or a sentence if it has no rows. On a terminal it fits the width; elsewhere each row is one
/// line.
pub fn print_table<const N: usize>(
    titles: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    empty: &str,
) {
    print_rows(&titles, &rows.into_iter().map(Into::into).collect::<Vec<_>>(), empty);
}

/// The same, for columns that are chosen at runtime.
pub fn print_rows(titles: &[&str], rows: &[Vec<String>], empty: &str) {
    if rows.is_empty() {
        print(&format!("{empty}\n"));
    } else {
        print(formatted(titles, rows, screen::width()));
    }
}

fn formatted(titles: &[&str], rows: &[Vec<String>], width: Option<usize>) -> Text {
    let mut table = comfy_table::Table::new();
    table.load_style(NOTHING).set_header(titles.to_vec());
    match width.and_then(|width| u16::try_from(width).ok()) {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    for row in rows {
        table.add_row(row.iter().map(|cell| line(if cell.is_empty() { "-" } else { cell })));
    }
    let widths = table.column_max_content_widths();
    for (column, width) in table.column_iter_mut().zip(widths) {
        column.set_padding((0, 2));
        // Times, states and names stay on one line.
        if width <= SHORT {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let text = table.trim_fmt();
    let mut lines = text.lines();
    let mut shown = Text::styled(TITLE, lines.next().unwrap_or_default());
    for line in lines {
        shown += "\n";
        shown += coloured(line);
    }
    shown += "\n";
    shown
}

/// The line with the first state in a cell of its own coloured.
fn coloured(line: &str) -> Text {
    let found = STATES.iter().find_map(|(word, style)| {
        let at = line.find(&format!("  {word}  "))? + 2;
        Some((at, word.len(), style))
    });
    let Some((at, length, style)) = found else { return line.into() };
    let (before, rest) = line.split_at(at);
    let (word, after) = rest.split_at(length);
    let mut text = Text::from(before);
    text += Text::styled(*style, word);
    text += after;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<usize>) -> String {
        let rows = [["09:00", "deny", "one two three four five"], ["10:00", "allow", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        anstream::adapter::strip_str(formatted(&["TIME", "VERDICT", "REASON"], &rows, width).as_str())
            .to_string()
    }

    #[test]
    fn each_row_is_one_line_outside_of_a_terminal() {
        assert_eq!(
            shown(None),
            "TIME   VERDICT  REASON\n09:00  deny     one two three four five\n10:00  allow    -\n"
        );
    }

    #[test]
    fn wraps_cells_to_the_width_of_the_terminal() {
        let text = shown(Some(32));
        assert!(text.lines().all(|line| line.chars().count() <= 32), "{text}");
        assert!(text.lines().count() > 3 && text.contains("three"), "{text}");
    }

    #[test]
    fn control_characters_of_a_cell_reach_no_terminal() {
        let rows = [vec!["a\u{1b}[31m\nb".to_owned()]];
        let text = anstream::adapter::strip_str(formatted(&["TEXT"], &rows, None).as_str()).to_string();
        assert_eq!(text, "TEXT\na [31m b\n");
    }
}
