//! Words of patterns, and the kinds of words that they match by meaning.

use opsctl_reader::shell::glob;

opsctl_reader::words! {
    /// Kinds of words that are matched by meaning, not by text.
    pub enum Kind {
        /// A data folder, or a folder that contains data folders.
        Data = "{data}",
        /// All files of a data folder: `/srv/media/*`.
        Contents = "{contents}",
        /// A data folder itself, without files in it.
        Folder = "{folder}",
        /// A file in a data folder that holds a whole database or disk, by its name.
        Store = "{store}",
        /// A disk.
        Device = "{device}",
        /// Process ids that another program has searched for.
        Pids = "{pids}",
        /// The first process of a machine, not of a container.
        Init = "{init}",
        /// Words that another program prints, and nothing else.
        Listed = "{listed}",
        /// A word that is only known at run time.
        Unknown = "{unknown}",
        /// A file or folder below a folder for temporary files.
        Temporary = "{temporary}",
        /// Standard input, where the command does not contain what it is.
        Input = "{input}",
        /// A path or an expression that picks a value with the name of a secret: `.db.password`.
        Secret = "{secret}",
        /// The name of a value that is not known to be harmless: not `region`, `public_ip`.
        Doubtful = "{doubtful}",
        /// Code that removes such a folder.
        Code = "{code}",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Alternatives, divided by `|`.
    Word(&'a str),
    Many,
    End,
}

/// Whether one of the alternatives matches.
pub(super) fn one_of(alternatives: &str, text: &str) -> bool {
    alternatives.split('|').any(|one| is_one(one, text))
}

/// Whether an alternative, a word or a glob, matches.
pub(super) fn is_one(one: &str, text: &str) -> bool {
    if one.contains(['*', '?', '[']) { glob(one, text) } else { one == text }
}

/// The kind of a word in a pattern; code may stand in any word.
pub(super) fn kind(written: &str) -> Option<Kind> {
    Kind::named(written).filter(|kind| *kind != Kind::Code)
}
