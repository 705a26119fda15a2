//! Where the code on a command line is: in values of options, in files that they name, or in the first word.

use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{At, Item, Scanner};

/// The places of code on a command line.
#[derive(Debug, Default)]
pub struct Sources {
    /// Code in values of options; without any and without a file, the first word.
    pub scripts: Vec<At>,
    /// Names of files with code.
    pub files: Vec<At>,
    /// The words that are neither options nor values.
    pub words: Vec<At>,
    /// Whether the program shows its version or its options instead.
    pub shows: bool,
}

impl Sources {
    /// The places of code, of which `scripts` and `files` are the options. `options_end` states that the first word ends the
    /// options.
    pub fn of(usage: &Usage, texts: &[&str], scripts: &[&str], files: &[&str], options_end: bool) -> Self {
        let value = usage.value();
        let mut sources = Self::default();
        for item in Scanner::new(texts, usage.rest, &value) {
            match item {
                Item::Option(name, Some(at)) if name.is_any(scripts) => sources.scripts.push(at),
                Item::Option(name, at) if name.is_any(files) => {
                    sources.files.push(at.unwrap_or(At { index: texts.len(), offset: 0 }));
                }
                Item::Option(name, _) => sources.shows |= name.is_any(&["--help", "--version", "-V"]),
                Item::Positional(index) => {
                    sources.words.push(At { index, offset: 0 });
                    if options_end {
                        break;
                    }
                }
                Item::Dashes(_) => {}
            }
        }
        sources
    }

    /// Adds the first word to the scripts where options name none.
    #[must_use]
    pub fn or_first_word(mut self) -> Self {
        if self.scripts.is_empty() && self.files.is_empty() {
            self.scripts.extend(self.words.first().copied());
        }
        self
    }
}
