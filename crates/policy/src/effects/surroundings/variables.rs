//! Variables of a command. One that reads has only variables that are listed; of all others, the name and the value say
//! whether they make the program run or load something.

use super::values;
use crate::files::values::{Kind, suggested};
use crate::lists::{
    CONFIGURING_VARIABLES, FILE_WORDS, HARMLESS_VALUES, HARMLESS_VARIABLE_VALUES, HARMLESS_VARIABLES,
    OWN_WORDS, PROGRAM_FOLDERS, STEERING_WORDS,
};
use opsctl_reader::shell::{Word, glob};

/// Whether a variable with this name and value may do something; the function states whether the session can write a file.
pub type Test = fn(&str, &Word, &dyn Fn(&str) -> bool) -> bool;

/// Whether a variable may make a program run or load something. `is_own` states whether the session can write a file.
pub fn is_open(name: &str, value: &Word, is_own: &dyn Fn(&str) -> bool) -> bool {
    !is_listed(name, value, is_own)
}

/// Whether the name or the value of a variable says that it makes a program run or load something.
pub fn steers(name: &str, value: &Word, is_own: &dyn Fn(&str) -> bool) -> bool {
    let lower = name.to_ascii_lowercase();
    let kind = suggested(&lower);
    let is_path_of_own = value.text.split(':').any(|path| path.starts_with('/') && is_own(path));
    let configures = CONFIGURING_VARIABLES.iter().any(|one| glob(one, name));
    !is_listed(name, value, is_own)
        && (configures
            || kind != Kind::Open && kind != Kind::Writes
            || is_path_of_own
            || values::carries(&value.text)
            || lower.split('_').any(|word| STEERING_WORDS.contains(&word)))
}

fn is_listed(name: &str, value: &Word, is_own: &dyn Fn(&str) -> bool) -> bool {
    let folders = PROGRAM_FOLDERS.iter().map(|folder| folder.trim_end_matches('/'));
    let folders: Vec<&str> = folders.chain(["$PATH", "${PATH}"]).collect();
    let named = |globs: &[&str]| globs.iter().any(|one| glob(one, name));
    if name == "PATH" {
        return value.text.split(':').all(|folder| folders.contains(&folder));
    }
    // A host whose name is an option of ssh: `ssh://-oProxyCommand=…`.
    if (named(&HARMLESS_VARIABLES) || is_own_name(name))
        && !values::carries(&value.text)
        && !value.text.contains("://-")
    {
        return true;
    }
    // The folder of this user, which the kernel's number names.
    let mut stated = HARMLESS_VARIABLE_VALUES.iter().filter(|(_, values)| values.contains('$'));
    if stated.any(|(one, stated)| *one == name && *stated == value.text) {
        return true;
    }
    if named(&CONFIGURING_VARIABLES) {
        // A program may be run in place of being read.
        let is_program = |path: &str| path.contains("bin/");
        let is_stated =
            |path: &str| is_below_home(path) || value.known().is_some() && path.starts_with(['/', '~']);
        let is_foreign = |path: &str| is_stated(path) && !is_own(path) && !is_program(path);
        return value.text == "/dev/null" || value.text.split(':').all(is_foreign);
    }
    let Some(value) = value.known() else { return false };
    let mut with_values = HARMLESS_VARIABLE_VALUES.iter();
    // A word is a file of the working directory, where the variable names files.
    let is_of_files = |word: &str| FILE_WORDS.iter().any(|one| glob(one, word));
    let names_files = name.to_ascii_lowercase().split('_').any(is_of_files);
    value.is_empty()
        || HARMLESS_VALUES.contains(&value) && !(names_files && value != "/dev/null")
        || with_values.any(|(one, values)| *one == name && glob(values, value))
}

/// Whether a name consists of words by which operators call what is theirs.
fn is_own_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_own = |word: &str| OWN_WORDS.contains(&word.trim_end_matches(|char: char| char.is_ascii_digit()));
    upper.split('_').all(is_own)
}

/// Whether a path is a known one below the home directory: `~/.kube/config`, `$HOME/.kube/config`.
fn is_below_home(path: &str) -> bool {
    let rest = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| path.strip_prefix(home));
    rest.is_some_and(|rest| {
        !rest.contains(['$', '`', '*', '?', '[']) && !rest.split('/').any(|part| part == "..")
    })
}
