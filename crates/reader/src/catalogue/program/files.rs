//! The files that a program reads and writes.

use super::keys;
use super::list::{Options, Texts};
use super::words::Words;

keys::keys! {
    /// The files that a form reads and writes.
    pub struct Files {
        /// Words that are files which it reads: `word...`, `word 2...`, `word 1`, `word last` or `none`. Default: `word...`.
        #[default(Words::From(0))]
        pub reads: Words,
        /// Words that are files which it writes. Default: `none`.
        #[default(Words::None)]
        pub writes: Words,
        /// Options whose value is a file that it writes. With `=` at its end, such as `--archive=`, an option has the file in the same word only.
        pub outputs: Options,
        /// Files that it writes in the working directory unless an option of `outputs` or a word of `writes` names one.
        pub leaves: Texts,
        /// Options whose value is a file that it reads and may print.
        pub inputs: Options,
        /// Options whose value is a key file that it uses and does not print.
        pub keys: Options,
        /// Options of which one is required for words to be written.
        pub writes_with: Options,
        /// Options with which it writes no file that words and options name.
        pub keeps: Options,
        /// Options with which everything below a word is written.
        pub deep: Options,
        /// Options with which the first word is a file, too.
        pub first_is_file: Options,
        /// Specific way to name files.
        #[key = "files"]
        pub how: Option<FileHow>,
    }
}

/// A specific way to name files, apart from words and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileHow {
    /// Sources and a target.
    Copy,
    /// Sources that are moved, and a target.
    Move,
    /// Files that get a second name.
    Link,
    /// Sources that are copied one by one, and a target.
    Install,
    /// `if=` and `of=`.
    Dd,
    /// An archive; options state whether it is packed or unpacked.
    Archive,
    /// An archive that is unpacked.
    Unpacking,
    /// An archive that is packed.
    Packing,
    /// Files named after the last part of an address, with `-O`.
    Downloads,
    /// Starting points, `-delete`, `-exec`, `-fprint`.
    Search,
    /// Folders that a container mounts.
    ContainerMounts,
    /// A file or a folder that is copied into a container, or out of it.
    ContainerCopy,
    /// A folder named after the last part of an address, or the word after it.
    Clone,
    /// Everything in the working directory is written.
    WorkingTree,
    /// A repository is written; with an option or a variable, one in another folder.
    Repository,
    /// Who may use a file, or a folder and with it everything below it.
    Rights,
    /// A mount point, and a folder that gets a second path.
    Mount,
    /// A database, by its SQL.
    Sqlite,
    /// The files that the code names.
    InCode,
    /// Variables of the environment, which it prints.
    Environment,
    /// Files and folders that are copied with everything below them; with an option of the role `recursive`, if it has one.
    Folders,
    /// Files below folders, with `-r` or the like.
    TextSearch,
    /// Its words are a pattern and the files or folders that it is searched in, with everything below these that is not hidden.
    FolderSearch,
    /// The scripts of the command that it explains.
    Explained,
}

keys::choices! { FileHow }
