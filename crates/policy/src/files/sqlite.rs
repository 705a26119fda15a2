//! `sqlite3`: its SQL determines whether a database is read or written.

use super::access::{Access, Touch};
use crate::policy::sql::{self, Functions};
use crate::shell::{Command, Word};

const VALUED: &[&str] = &[
    "-cmd",
    "-init",
    "-separator",
    "-newline",
    "-nullvalue",
    "-maxsize",
    "-mmap",
    "-lookaside",
    "-vfs",
    "-A",
];

/// Adds the accesses of `sqlite3`.
pub fn accesses(command: &Command, into: &mut Vec<Access>) {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let mut words: Vec<&Word> = Vec::new();
    let mut skip = false;
    let mut read_only = false;
    for (word, text) in command.words.iter().zip(&texts).skip(1) {
        if std::mem::take(&mut skip) {
            continue;
        }
        // Its options are words with one dash or two.
        if text.starts_with('-') && text.len() > 1 {
            let option = text.trim_start_matches('-');
            read_only |= matches!(option, "readonly" | "safe");
            skip = VALUED.iter().any(|valued| valued.trim_start_matches('-') == option);
            continue;
        }
        words.push(word);
    }
    let Some((database, statements)) = words.split_first() else { return };
    let mut file = database.tail(if database.text.starts_with("file:") { 5 } else { 0 });
    if let Some((path, query)) = file.text.clone().split_once('?') {
        read_only |= query.contains("mode=ro") || query.contains("immutable=1");
        file = Word::literal(path);
    }
    let commands = texts
        .windows(2)
        .filter(|pair| matches!(pair, ["-cmd" | "--cmd", _]))
        .filter_map(|pair| pair.get(1).map(|text| Word::literal(*text)));
    let stdin = command.stdin.iter().filter(|_| statements.is_empty()).cloned();
    let all: Vec<Word> = statements.iter().copied().cloned().chain(commands).chain(stdin).collect();
    let reading = |word: &Word| word.known().and_then(|text| sql::reading(text, Functions::BuiltIn));
    let written: Option<Vec<Vec<String>>> = all.iter().map(reading).collect();
    let from_elsewhere = (statements.is_empty() && command.stdin.is_none())
        || texts.iter().any(|text| text.trim_start_matches('-') == "init");
    let written = written.filter(|_| !from_elsewhere);
    let reads = written.is_some();
    into.push(Access::new(if reads || read_only { Touch::Read } else { Touch::Write }, &file));
    for word in &all {
        named(word, into);
    }
    if let Some(files) = written {
        into.extend(files.into_iter().flatten().map(|path| Access::named(Touch::Write, path, false)));
        return;
    }
    // `ATTACH '/state/claudeops.db'`, `.output /etc/x`.
    let all = statements.iter().copied().chain(command.stdin.iter());
    for word in all {
        let between = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ';' | ',' | '(' | ')');
        let paths = word.text.split(between).filter(|part| part.contains('/') || part.contains(".db"));
        into.extend(paths.map(|path| Access::named(Touch::Write, path.to_owned(), path.contains('$'))));
    }
}

/// Adds the files that SQL names in quotes: `readfile('/app/.env')`.
pub fn named(statement: &Word, into: &mut Vec<Access>) {
    let parts = statement.text.split(['\'', '"']).skip(1).step_by(2).filter(|part| part.contains(['/', '.']));
    into.extend(parts.map(|part| Access::named(Touch::Read, part.to_owned(), part.contains('$'))));
}
