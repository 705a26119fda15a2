//! The files of a session as the text that it is given: what fits, and where to read the rest.

use std::fmt::Write as _;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// What people call it: its path below the project, or the whole one.
    pub name: String,
    /// Where it is: absolute, links resolved.
    pub path: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// Whether the text is all of it.
    pub whole: bool,
    /// How many bytes the file has.
    pub size: u64,
}

/// Something that was listed and is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The entry as it is written, or the file that it means.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Everything that a session is to read at its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The files, in their order.
    pub files: Vec<TextFile>,
    /// What could not be included.
    pub skipped: Vec<Skipped>,
    /// Files beyond the most that are read.
    pub more: usize,
}

/// How much of a file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it.
    Whole,
    /// So many bytes of its beginning.
    Beginning(usize),
    /// Its name.
    Name,
}

const OPENING: &str = "=== Claude Ops Context Files (auto-injected) ===\n";
const CLOSING: &str = "\n=== End Context Files ===\n";

/// Of a file that has no room for so many bytes of its text only the name is given.
const LEAST: usize = 300;

/// The most that names of files without room take, and that entries without a file take.
const NAMES_BYTES: usize = 700;

/// What the line takes that counts what is not listed.
const REST_BYTES: usize = 60;

impl Reading {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.skipped.is_empty()
    }

    /// How much of each file fits into so many bytes. Those that fit whole are given whole; the others share what is
    /// left, the last ones giving way first.
    pub fn shares(&self, room: usize) -> Vec<Shown> {
        let fixed = OPENING.len() + CLOSING.len() + self.skipped_text().len();
        let mut listed = self.files.len();
        loop {
            let files = self.files.get(..listed).unwrap_or_default();
            let unlisted = self.files.len() - listed + self.more;
            let names = if unlisted == 0 { 0 } else { NAMES_BYTES };
            let share = share(files, room.saturating_sub(fixed + names));
            let shown = |file: &TextFile| {
                if file.whole && cost(file) <= share {
                    Shown::Whole
                } else {
                    Shown::Beginning(share.saturating_sub(frame(file)).min(file.text.len()))
                }
            };
            let shares: Vec<Shown> = files.iter().map(shown).collect();
            let enough = |shown: &Shown| match shown {
                Shown::Beginning(bytes) => *bytes >= LEAST,
                _ => true,
            };
            if listed == 0 || shares.iter().all(enough) {
                return shares
                    .into_iter()
                    .chain(std::iter::repeat_n(Shown::Name, self.files.len() - listed))
                    .collect();
            }
            listed -= 1;
        }
    }

    /// The text, of at most so many bytes where that is enough to say anything.
    pub fn render(&self, room: usize) -> String {
        let mut text = OPENING.to_owned();
        let mut names = Vec::new();
        for (file, shown) in self.files.iter().zip(self.shares(room)) {
            match shown {
                Shown::Whole => {
                    let _ = write!(text, "\n--- {} ---\n{}\n", file.name, file.text);
                }
                Shown::Beginning(bytes) => {
                    let beginning = beginning(&file.text, bytes);
                    let _ = write!(
                        text,
                        "\n--- {} (the first {} of {} bytes) ---\n{beginning}\n--- cut here; the rest: Read {} ---\n",
                        file.name,
                        beginning.len(),
                        file.size,
                        file.path,
                    );
                }
                Shown::Name => names.push(format!("  {} ({} bytes)", file.path, file.size)),
            }
        }
        if !names.is_empty() || self.more > 0 {
            text.push_str("\nNot shown for want of room; Read them when you need them:\n");
            text.push_str(&lines(&names, self.more, NAMES_BYTES - 70));
        }
        text.push_str(&self.skipped_text());
        text.push_str(CLOSING);
        text
    }

    fn skipped_text(&self) -> String {
        if self.skipped.is_empty() {
            return String::new();
        }
        let line = |Skipped { what, why }: &Skipped| format!("  {what}: {}", plain(why, 200));
        let all: Vec<String> = self.skipped.iter().map(line).collect();
        format!("\nNot included:\n{}", lines(&all, 0, NAMES_BYTES))
    }
}

/// As many lines as fit, and the rest counted.
fn lines(all: &[String], more: usize, bytes: usize) -> String {
    let mut text = String::new();
    for (at, line) in all.iter().enumerate() {
        let last = at + 1 == all.len() && more == 0;
        if text.len() + line.len() + 1 + if last { 0 } else { REST_BYTES } > bytes {
            let _ = writeln!(text, "  … and {} more", all.len() - at + more);
            return text;
        }
        let _ = writeln!(text, "{line}");
    }
    if more > 0 {
        let _ = writeln!(text, "  … and {more} more");
    }
    text
}

/// What stands around a file that is cut; around a whole one it is less.
fn frame(file: &TextFile) -> usize {
    file.name.len() + file.path.len() + 110
}

fn cost(file: &TextFile) -> usize {
    frame(file) + file.text.len()
}

/// The most that one file may take so that all together stay within `room`.
fn share(files: &[TextFile], room: usize) -> usize {
    let mut costs: Vec<usize> = files.iter().map(cost).collect();
    costs.sort_unstable();
    let mut left = room;
    for (at, cost) in costs.iter().enumerate() {
        let each = left / (costs.len() - at);
        if *cost > each {
            return each;
        }
        left -= cost;
    }
    usize::MAX
}

/// Whole characters, and whole lines where that costs little.
fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text.get(..end).unwrap_or_default();
    match cut.rfind('\n') {
        Some(line) if end < text.len() && line * 4 >= end * 3 => cut.get(..line).unwrap_or(cut),
        _ => cut,
    }
}

/// One line of limited length: a name may hold anything.
pub fn plain(text: &str, chars: usize) -> String {
    let mut plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(chars).collect();
    if text.chars().nth(chars).is_some() {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: usize) -> TextFile {
        let text = format!("{}\n", "0123456789abcde ü".repeat(3)).repeat(bytes / 50 + 1);
        let text = beginning(&text, bytes).to_owned();
        TextFile { name: name.into(), path: format!("/app/{name}"), whole: true, size: bytes as u64, text }
    }

    fn reading(sizes: &[usize]) -> Reading {
        let files = sizes.iter().enumerate().map(|(n, size)| file(&format!("docs/{n}.md"), *size)).collect();
        Reading { files, ..Reading::default() }
    }

    #[test]
    fn files_stand_in_their_order_each_under_its_name() {
        let mut reading = reading(&[]);
        for (name, text) in [("b.md", "second"), ("a.md", "# First\n\ntext")] {
            let path = format!("/app/{name}");
            reading.files.push(TextFile { name: name.into(), path, text: text.into(), whole: true, size: 9 });
        }
        reading.skipped.push(Skipped { what: "${X}/c.md".into(), why: "the variable X is not set".into() });
        assert_eq!(
            reading.render(9_000),
            "=== Claude Ops Context Files (auto-injected) ===\n\n\
             --- b.md ---\nsecond\n\n\
             --- a.md ---\n# First\n\ntext\n\n\
             Not included:\n  ${X}/c.md: the variable X is not set\n\n\
             === End Context Files ===\n"
        );
    }

    #[test]
    fn a_long_file_is_cut_where_a_short_one_beside_it_is_whole_and_says_where_to_read_on() {
        let mut reading = reading(&[40_000, 500, 30_000]);
        reading.files[2].whole = false;
        let shares = reading.shares(6_000);
        assert_eq!(shares[1], Shown::Whole);
        let (Shown::Beginning(one), Shown::Beginning(three)) = (shares[0], shares[2]) else {
            panic!("{shares:?}")
        };
        assert!(one.abs_diff(three) < 20 && one > 2_000, "{shares:?}");
        let text = reading.render(6_000);
        assert!(text.contains(" of 40000 bytes) ---\n"), "{text}");
        assert!(text.contains("--- cut here; the rest: Read /app/docs/0.md ---\n"), "{text}");
    }

    #[test]
    fn of_files_without_room_the_names_are_given_and_the_rest_counted() {
        let reading = Reading { more: 7, ..reading(&[2_000; 150]) };
        let shares = reading.shares(4_000);
        let shown = shares.iter().take_while(|shown| **shown != Shown::Name).count();
        assert!((5..12).contains(&shown), "{shares:?}");
        assert!(shares[shown..].iter().all(|shown| *shown == Shown::Name));
        let text = reading.render(4_000);
        assert!(text.contains(&format!("\n  /app/docs/{shown}.md (2000 bytes)\n")), "{text}");
        let counted: usize = text.lines().filter(|line| line.starts_with("  /app/")).count();
        assert!(text.contains(&format!("\n  … and {} more\n", 150 - shown - counted + 7)), "{text}");
    }

    #[test]
    fn whatever_there_is_stays_within_the_room() {
        for sizes in
            [vec![], vec![1], vec![9_990], vec![300; 30], vec![20_000; 3], vec![10; 200], vec![4_000, 10]]
        {
            for skipped in [0, 1, 300] {
                for room in [2_000, 3_000, 5_500, 9_900] {
                    let mut reading = reading(&sizes);
                    let line = |n| Skipped {
                        what: format!("docs/{n}-{}", "ü".repeat(90)),
                        why: "no such file".into(),
                    };
                    reading.skipped.extend((0..skipped).map(line));
                    let text = reading.render(room);
                    assert!(text.len() <= room, "{} > {room}: {sizes:?} {skipped}", text.len());
                }
            }
        }
    }
}
