//! Variables of a command: those that are not listed may make its program run or load something.

use crate::lists::{
    CONFIGURING_VARIABLES, HARMLESS_VALUES, HARMLESS_VARIABLE_VALUES, HARMLESS_VARIABLES, PROGRAM_FOLDERS,
};
use opsctl_reader::shell::{Word, glob};

/// Whether a variable may make a program run or load something. `is_own` states whether the session can write a file.
pub fn steers(name: &str, value: &Word, is_own: impl Fn(&str) -> bool) -> bool {
    let folders = PROGRAM_FOLDERS.iter().map(|folder| folder.trim_end_matches('/'));
    let folders: Vec<&str> = folders.chain(["$PATH", "${PATH}"]).collect();
    let named = |globs: &[&str]| globs.iter().any(|one| glob(one, name));
    if name == "PATH" {
        return !value.text.split(':').all(|folder| folders.contains(&folder));
    }
    if named(&HARMLESS_VARIABLES) {
        return false;
    }
    let Some(value) = value.known() else { return true };
    if named(&CONFIGURING_VARIABLES) {
        return !value.starts_with(['/', '~']) || is_own(value);
    }
    let mut with_values = HARMLESS_VARIABLE_VALUES.iter();
    !HARMLESS_VALUES.contains(&value) && !with_values.any(|(one, values)| *one == name && glob(values, value))
}
