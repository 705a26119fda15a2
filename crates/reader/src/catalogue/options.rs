//! Command-line options as most programs parse them: clusters of short ones, `--long`, `--long=value`.

/// A mark among the options that take a value: long options have one dash, `-out=FILE`.
pub const ONE_DASH: &str = "-*";

/// A mark among the options that take a value: long options may be abbreviated. With a name behind it, `--*become`, it
/// marks an option without a value that is no abbreviation.
pub const ABBREVIATES: &str = "--*";

/// The name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// `-x`.
    Short(char),
    /// `--name`.
    Long(&'a str),
}

impl Name<'_> {
    /// Whether this is the option `written`: `-x`, `--name` or `-name`.
    pub fn is(self, written: &str) -> bool {
        match self {
            Self::Short(letter) => written
                .strip_prefix('-')
                .and_then(|rest| rest.strip_prefix(letter))
                .is_some_and(str::is_empty),
            Self::Long(name) => written.strip_prefix("--").or_else(|| one_dash(written)) == Some(name),
        }
    }

    /// Whether this is one of the options `written`.
    pub fn is_any(self, written: &[&str]) -> bool {
        written.iter().any(|one| self.is(one))
    }

    /// Whether this is the beginning of one of these long options, which many programs take for it.
    pub fn begins(self, options: &[&str]) -> bool {
        let Self::Long(name) = self else { return false };
        !name.is_empty()
            && options.iter().filter_map(|one| one.strip_prefix("--")).any(|one| one.starts_with(name))
    }
}

/// The name of an option with one dash and several letters, such as `-oneline`.
fn one_dash(written: &str) -> Option<&str> {
    written.strip_prefix('-').filter(|name| name.len() > 1 && !name.starts_with('-'))
}

/// The position of a value: a word, and a byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Index of the word.
    pub index: usize,
    /// First byte of the value in it.
    pub offset: usize,
}

impl At {
    /// The value, among the words of its command line.
    pub fn of<'a>(self, texts: &[&'a str]) -> Option<&'a str> {
        texts.get(self.index)?.get(self.offset..)
    }
}

/// An item of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// An option, and its value if it has one.
    Option(Name<'a>, Option<At>),
    /// A word that is neither option nor value, by its index.
    Positional(usize),
    /// `--`, by its index.
    Dashes(usize),
}

/// Parses a command line word by word.
#[derive(Debug)]
pub struct Scanner<'a> {
    words: &'a [&'a str],
    valued: &'a [&'a str],
    /// Options without a value; those of one dash and several letters are not clusters.
    flags: &'a [&'a str],
    next: usize,
    /// The next letter of a cluster: word and byte.
    cluster: Option<At>,
    options_end: bool,
}

impl<'a> Scanner<'a> {
    /// `valued` names the options that take a value, as written: `-n`, `--namespace`; `-p*` takes one in the same word
    /// only.
    pub fn new(words: &'a [&'a str], from: usize, valued: &'a [&'a str]) -> Self {
        Self { words, valued, flags: &[], next: from, cluster: None, options_end: false }
    }

    /// Treats these options, such as `-oneline`, as one option and not as clusters, like those that take a value.
    #[must_use]
    pub fn with_flags(self, flags: &'a [&'a str]) -> Self {
        Self { flags, ..self }
    }

    /// Whether a word of one dash and several letters is one option.
    fn is_whole(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        name.len() > 2 && self.valued.iter().chain(self.flags).any(|option| *option == name)
    }

    /// Whether the long options of the program have one dash.
    fn has_one_dash(&self, word: &str) -> bool {
        self.valued.contains(&ONE_DASH)
            && word.chars().nth(2).is_some_and(|second| second.is_ascii_alphanumeric() || second == '-')
    }

    /// Passes each option to `see`, up to the first other word, and returns the index of that word, which `--` may precede.
    pub fn up_to_word(&mut self, mut see: impl FnMut(Name<'a>, Option<At>)) -> Option<usize> {
        self.find_map(|item| match item {
            Item::Option(name, at) => {
                see(name, at);
                None
            }
            Item::Positional(index) => Some(index),
            Item::Dashes(index) => Some(index + 1),
        })
    }

    /// The words that are neither options nor values.
    pub fn plain_words(self) -> impl Iterator<Item = &'a str> {
        let words = self.words;
        self.filter_map(
            |item| if let Item::Positional(index) = item { words.get(index).copied() } else { None },
        )
    }

    /// The index of the next word to be read.
    pub fn position(&self) -> usize {
        self.next
    }

    /// Whether more letters of the same word follow.
    pub fn is_inside(&self) -> bool {
        self.cluster.is_some()
    }

    /// The option with a value that a long name abbreviates; the name itself where it abbreviates none.
    fn whole(&self, name: &'a str) -> &'a str {
        if !self.valued.contains(&ABBREVIATES) || name.len() < 2 {
            return name;
        }
        let long = |option: &&'a str| option.strip_prefix("--");
        let exact = |option: &'a str| option == name || option.strip_prefix('*') == Some(name);
        let mut options = self.valued.iter().chain(self.flags).filter_map(long);
        if options.any(exact) {
            return name;
        }
        let mut options = self.valued.iter().filter_map(long);
        options.find(|option| option.starts_with(name)).unwrap_or(name)
    }

    fn value_in_next_word(&mut self) -> Option<At> {
        let index = self.next;
        (index < self.words.len()).then(|| {
            self.next += 1;
            At { index, offset: 0 }
        })
    }

    fn letter(&mut self, at: At) -> Option<Item<'a>> {
        let word = self.words.get(at.index)?;
        let letter = word.get(at.offset..)?.chars().next()?;
        let after = at.offset + letter.len_utf8();
        let name = Name::Short(letter);
        if name.is_any(self.valued) {
            let value = if after < word.len() {
                // `-n=x` is `-n x` for the programs of the catalogue.
                let offset =
                    if word.get(after..).is_some_and(|r| r.starts_with('=')) { after + 1 } else { after };
                Some(At { index: at.index, offset })
            } else {
                self.value_in_next_word()
            };
            return Some(Item::Option(name, value));
        }
        let in_word = |written: &&str| {
            written.strip_prefix('-').and_then(|rest| rest.strip_suffix('*')) == word.get(at.offset..after)
        };
        if after < word.len() && self.valued.iter().any(in_word) {
            return Some(Item::Option(name, Some(At { index: at.index, offset: after })));
        }
        if word.get(after..).is_some_and(|rest| rest.starts_with('=')) {
            return Some(Item::Option(name, Some(At { index: at.index, offset: after + 1 })));
        }
        if after < word.len() {
            self.cluster = Some(At { index: at.index, offset: after });
        }
        Some(Item::Option(name, None))
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        if let Some(at) = self.cluster.take() {
            return self.letter(at);
        }
        let index = self.next;
        let word = *self.words.get(index)?;
        self.next += 1;
        if self.options_end || !word.starts_with('-') || word == "-" {
            return Some(Item::Positional(index));
        }
        if word == "--" {
            self.options_end = true;
            return Some(Item::Dashes(index));
        }
        let long = word
            .strip_prefix("--")
            .or_else(|| one_dash(word).filter(|_| self.is_whole(word) || self.has_one_dash(word)));
        let Some(long) = long else {
            return self.letter(At { index, offset: 1 });
        };
        // `-lf/var/log/x`: attached to an option with one dash.
        let attached = |option: &&&str| word.strip_prefix(**option).is_some_and(|rest| rest.starts_with('/'));
        let mut valued = self.valued.iter();
        if let Some((option, name)) = valued.find(attached).and_then(|one| Some((one, one_dash(one)?))) {
            return Some(Item::Option(Name::Long(name), Some(At { index, offset: option.len() })));
        }
        if let Some(equals) = word.find('=') {
            let name = Name::Long(self.whole(long.split('=').next().unwrap_or_default()));
            return Some(Item::Option(name, Some(At { index, offset: equals + 1 })));
        }
        let name = Name::Long(self.whole(long));
        let value = if name.is_any(self.valued) { self.value_in_next_word() } else { None };
        Some(Item::Option(name, value))
    }
}
