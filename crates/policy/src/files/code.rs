//! Code of other languages on a command line: which files it names, and whether it writes.
//!
//! The code is not analysed: if any call in it writes, every file that it names counts as written, unless the code is proved
//! to read.

use super::access::{Access, Touch};
use super::variables_in_code;
use opsctl_reader::catalogue::program::Language;
use opsctl_reader::languages::names::{Names, awk, files};
use opsctl_reader::languages::only_reads;
use opsctl_reader::shell::Command;

/// The most quoted texts of code that are looked at as parts of a path.
const MOST_PARTS: usize = 200;

/// The absolute paths that code names where it removes folders or all of their files.
pub fn removed(code: &str) -> Vec<&str> {
    let has = |calls: Names| calls.are_in(code);
    if !(has(files::REMOVING_FOLDERS) || has(files::REMOVING) && has(files::LISTING)) {
        return vec![];
    }
    code.split(['"', '\'', '`']).filter(|part| part.starts_with(['/', '~']) && part.len() < 512).collect()
}

/// Adds the files that the code of a command names.
pub fn accesses(command: &Command, language: Option<Language>, into: &mut Vec<Access>) {
    let words = command.words.iter().skip(1).map(|word| word.text.as_str());
    let codes = words.chain(command.stdin.iter().map(|stdin| stdin.text.as_str()));
    for code in codes {
        variables_in_code::accesses(code, into);
        if language == Some(Language::Awk) && !opens_file(code) {
            continue;
        }
        if !code.contains(['(', '"', '\'', '{', '`']) {
            continue;
        }
        let has = |calls: Names| calls.are_in(code);
        let reads = || language.is_some_and(|language| only_reads(code, language, false, &|_| true));
        let touch = if has(files::WRITING) && !reads() { Touch::Write } else { Touch::Read };
        let is_deep = has(files::REMOVING_FOLDERS) || has(files::CHANGING_FOLDERS);
        // Every text between quotes of any kind.
        let parts = code.split(['"', '\'', '`']).filter(|part| !part.is_empty() && part.len() < 512);
        let (parts, names): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.contains(['/', '.']));
        // `Path.home() / '.ssh' / 'id_rsa'`: the parts of a path, one after the other.
        if has(files::JOINING) {
            let quoted = code.split(['"', '\'', '`']).skip(1).step_by(2);
            let quoted: Vec<&str> =
                quoted.filter(|part| !part.is_empty() && part.len() < 512).take(MOST_PARTS).collect();
            let joined = (1..=3).flat_map(|length| quoted.windows(length)).map(|parts| parts.join("/"));
            // `Path("/etc").glob("host*")`.
            let path = |path: String| if path.starts_with('/') { path } else { format!("~/{path}") };
            into.extend(joined.map(|joined| Access::named(Touch::Read, path(joined), false)));
            into.extend(names.iter().map(|name| Access::named(Touch::Read, (*name).to_owned(), false)));
        }
        for part in parts.into_iter().filter(|part| !part.contains(['\n', '(', ')', ';'])) {
            let path = part.trim_start_matches(['<', '>', ' ', '+']);
            // `file:/srv/app.db?mode=ro` names a database.
            let path = path.strip_prefix("file:").map_or(path, |rest| {
                let file = rest.split('?').next().unwrap_or_default();
                file.strip_prefix("//localhost").or_else(|| file.strip_prefix("//")).unwrap_or(file)
            });
            if is_deep && path.len() > 1 && path.starts_with(['/', '~']) {
                into.push(Access::named(Touch::WriteAll, path.to_owned(), path.contains('$')));
            }
            if path.contains(['/', '.']) {
                into.push(Access::named(touch, path.to_owned(), path.contains('$')));
                // A file that is written may be read first.
                into.push(Access::named(Touch::Read, path.to_owned(), path.contains('$')));
            }
        }
    }
}

/// Whether a program of awk may read or write a file that its text names: `print "/dev/" $1` does not.
fn opens_file(code: &str) -> bool {
    if awk::OPENING.are_in(code) || code.contains("/\"/") || code.matches('"').count() % 2 == 1 {
        return true;
    }
    let outside: String = code.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    // A comparison with a number is no redirection.
    let redirects = |rest: &str| !rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '=');
    outside.replace("||", "").contains('|') || outside.split('>').skip(1).any(redirects)
}
