//! Variables by which a program runs another, loads code or reads its settings from elsewhere.

use crate::lists::{CONFIGURING_VARIABLES, HARMLESS_VALUES, PROGRAM_FOLDERS, STEERING_VARIABLES};
use opsctl_reader::shell::{Word, glob};

/// Whether a variable can make a program run or load something else.
pub fn steers(name: &str, value: &Word) -> bool {
    let folders = PROGRAM_FOLDERS.iter().map(|folder| folder.trim_end_matches('/'));
    let folders: Vec<&str> = folders.chain(["$PATH", "${PATH}"]).collect();
    match name {
        "PATH" => !value.text.split(':').all(|folder| folders.contains(&folder)),
        _ if STEERING_VARIABLES.iter().any(|one| glob(one, name)) => {
            !value.known().is_some_and(|value| HARMLESS_VALUES.contains(&value))
        }
        _ => false,
    }
}

/// Whether a variable names a configuration that may make a program run another. It only reads where the session cannot
/// write that file or folder.
pub fn configures(name: &str) -> bool {
    CONFIGURING_VARIABLES.contains(&name)
}
