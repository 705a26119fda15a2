//! Code of other languages on a command line: which files it names, and whether it writes.
//!
//! The code is not analysed: if any call in it writes, every file that it names counts as written.

use super::access::{Access, Touch};
use super::environment;
use crate::shell::Command;

/// The most quoted texts of code that are looked at as parts of a path.
const MOST_PARTS: usize = 200;

/// Texts that identify code which joins the parts of a path.
const JOINING: &[&str] = &["Path(", "home()", "path.join(", "expanduser"];

/// Texts that identify a call that writes, in any of the languages.
const WRITING: &[&str] = &[
    "'w",
    "\"w",
    "'a'",
    "\"a\"",
    "'a+",
    "\"a+",
    "'r+",
    "\"r+",
    "'x'",
    "\"x\"",
    ".write",
    "write(",
    "dump(",
    "unlink",
    "remove(",
    "os.rename",
    "os.replace",
    ".rename(",
    "rename ",
    "rmtree",
    "truncate",
    "shutil.",
    "copy",
    "move(",
    "chmod",
    "chown",
    "symlink",
    "link(",
    "writeFile",
    "appendFile",
    "createWriteStream",
    "rmSync",
    "fs.rm",
    "File.delete",
    "FileUtils",
    "File.open",
    "file_put_contents",
    "fopen",
    "fwrite",
    "'>",
    "\">",
    "INSERT",
    "UPDATE",
    "DELETE",
    "DROP",
    "ALTER",
    "CREATE",
    "REPLACE",
    "insert ",
    "update ",
    "delete ",
    "drop ",
    "alter ",
    "replace ",
    "touch(",
    "print >",
    "print>",
    "io.open",
];

/// What a call that removes a whole folder looks like.
const REMOVING_FOLDERS: &[&str] =
    &["rmtree", "remove_tree", "removedirs", "rm_rf", "rm_r", "rimraf", "recursive: true", "recursive:true"];

/// What a call looks like that changes a folder itself, and with it everything below it.
const CHANGING_FOLDERS: &[&str] = &[
    "chmod",
    "chown",
    "os.rename",
    "os.replace",
    "rename(",
    "rename ",
    "renameSync",
    "shutil.move",
    "mv(",
    "mv ",
];

/// What a call that removes one file looks like, and one that lists a folder: together they empty it.
const REMOVING: &[&str] = &["unlink", "remove(", "rmSync", "fs.rm", "File.delete", "os.remove"];
const LISTING: &[&str] = &["walk(", "glob", "iterdir", "readdir", "listdir", "scandir", "Dir[", "Dir."];

/// The absolute paths that code names where it removes folders or all of their files.
pub fn removed(code: &str) -> Vec<&str> {
    let has = |calls: &[&str]| calls.iter().any(|call| code.contains(call));
    if !(has(REMOVING_FOLDERS) || has(REMOVING) && has(LISTING)) {
        return vec![];
    }
    code.split(['"', '\'', '`']).filter(|part| part.starts_with(['/', '~']) && part.len() < 512).collect()
}

/// Adds the files that the code of a command names.
pub fn accesses(command: &Command, into: &mut Vec<Access>) {
    let words = command.words.iter().skip(1).map(|word| word.text.as_str());
    let codes = words.chain(command.stdin.iter().map(|stdin| stdin.text.as_str()));
    for code in codes {
        environment::in_code(code, command, into);
        if !code.contains(['(', '"', '\'', '{', '`']) {
            continue;
        }
        let has = |calls: &[&str]| calls.iter().any(|call| code.contains(call));
        let touch = if has(WRITING) { Touch::Write } else { Touch::Read };
        let is_deep = has(REMOVING_FOLDERS) || has(CHANGING_FOLDERS);
        // Every text between quotes of any kind.
        let parts = code.split(['"', '\'', '`']).filter(|part| !part.is_empty() && part.len() < 512);
        let (parts, names): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.contains(['/', '.']));
        // `Path.home() / '.ssh' / 'id_rsa'`: the parts of a path, one after the other.
        if JOINING.iter().any(|call| code.contains(call)) {
            let quoted = code.split(['"', '\'', '`']).skip(1).step_by(2);
            let quoted: Vec<&str> =
                quoted.filter(|part| !part.is_empty() && part.len() < 512).take(MOST_PARTS).collect();
            let joined = (1..=3).flat_map(|length| quoted.windows(length)).map(|parts| parts.join("/"));
            into.extend(joined.map(|path| Access::named(Touch::Read, format!("~/{path}"), false)));
            into.extend(names.iter().map(|name| Access::named(Touch::Read, (*name).to_owned(), false)));
        }
        for part in parts.into_iter().filter(|part| !part.contains(['\n', '(', ')', ';'])) {
            let path = part.trim_start_matches(['<', '>', ' ', '+']);
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
