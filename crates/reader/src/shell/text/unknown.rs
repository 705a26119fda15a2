//! A part of a text that is not known.

use std::sync::Arc;

use super::field::Listing;
use super::stretch::begins_as_pattern;
use crate::shell::on_disk::{GLOB, Search};

/// A stretch of unknown text and what can be determined about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub struct Unknown {
    /// As written in the command, e.g. `$NAME` or `$(docker ps -q)`.
    pub source: String,
    /// Set when the text is the output of a listing program.
    pub listing: Option<Listing>,
    /// The possible texts, when branches of the script assign different ones.
    pub(crate) candidates: Vec<String>,
    /// For a process substitution: the content of the file that the text names.
    pub(crate) content: Option<String>,
    /// The input of the program that prints the text, when that is known.
    pub(crate) made_from: Option<String>,
    /// True when the text may be any number of words.
    pub(crate) many: bool,
    /// True for a text that only the environment gives.
    pub(crate) is_inherited: bool,
    /// True for one of the candidates between quotes, which is not split.
    pub(crate) is_one_word: bool,
    /// For one word between quotes: the mark without them.
    pub(crate) without_quotes: Option<usize>,
    /// The absolute path of the file on this machine that holds the text.
    pub(crate) on_disk: Option<String>,
    /// True where the text is empty if there is no such file.
    pub(crate) may_be_missing: bool,
    /// The search on this machine that lists the files which the text names.
    pub(crate) found: Option<Search>,
    /// The text, with marks of files on disk.
    pub(crate) contents: Option<String>,
    /// The filter that prints the text.
    pub(crate) filter: Option<Arc<Filter>>,
    /// True when the text may be any number of lines.
    pub(crate) repeats: bool,
    /// True for a decimal number.
    pub(crate) is_number: bool,
    /// True where the text that it is made from may be all of it.
    pub(crate) is_doubtful: bool,
    /// True for a text that may be any, such as that of a file, of a server or of code.
    pub(crate) is_foreign: bool,
    /// True for a text that may be any until the files of this machine are read that it is made from.
    pub(crate) is_any: bool,
}

/// A filter whose input is known when what it prints is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Its words without files.
    pub words: Vec<String>,
    /// Its input, with marks of files on disk.
    pub input: String,
    /// True where it has changed the file that it read.
    pub is_edit: bool,
}

impl Unknown {
    /// Whether it is a number.
    pub const fn is_number(&self) -> bool {
        self.is_number
    }

    /// Whether it may be any text even where all files that it is made from are kept from agents.
    pub const fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Whether it may be any text, such as that of a file, of a server, of code or of several commands; false for numbers, for
    /// variables of the environment, and for what programs print that print numbers and names of a fixed form.
    pub fn may_be_any(&self) -> bool {
        let is_written =
            self.source.starts_with(['$', '~', '{', '<', '>', '/']) || self.source.contains(GLOB);
        self.is_any || !self.is_number && !is_written
    }

    /// Whether it is the name of a file that a pattern matches.
    pub fn is_name_of_file(&self) -> bool {
        begins_as_pattern(&self.source)
    }
}
