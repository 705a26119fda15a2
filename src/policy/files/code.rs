//! Code of other languages on a command line: which files it names, and whether it writes.
//!
//! The code is not analysed: if any call in it writes, every file that it names counts as written.

use super::access::{Access, Touch};
use crate::shell::Command;

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

/// Adds the files that the code of a command names.
pub fn accesses(command: &Command, into: &mut Vec<Access>) {
    let words = command.words.iter().skip(1).map(|word| word.text.as_str());
    let codes = words.chain(command.stdin.iter().map(|stdin| stdin.text.as_str()));
    for code in codes.filter(|code| code.contains(['(', '"', '\'', '{', '`'])) {
        let touch = if WRITING.iter().any(|call| code.contains(call)) { Touch::Write } else { Touch::Read };
        // Every text between quotes of any kind.
        let parts = code.split(['"', '\'', '`']).filter(|part| !part.is_empty() && part.len() < 512);
        for part in parts.filter(|part| !part.contains(['\n', '(', ')', ';'])) {
            let path = part.trim_start_matches(['<', '>', ' ', '+']);
            if path.contains(['/', '.']) {
                into.push(Access { touch, path: path.to_owned(), unknown: path.contains('$') });
                // A file that is written may be read first.
                into.push(Access { touch: Touch::Read, path: path.to_owned(), unknown: path.contains('$') });
            }
        }
    }
}
