//! `sqlite3`: its SQL determines whether a database is read or written.

use super::access::{Access, Touch};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::languages::sources::Sources;
use opsctl_reader::languages::sql;
use opsctl_reader::languages::sql::Functions;
use opsctl_reader::shell::{Command, Word};

/// Adds the accesses of `sqlite3`.
pub fn accesses(command: &Command, usage: &Usage, texts: &[&str], into: &mut Vec<Access>) {
    let sources = Sources::of(usage, texts, &["-cmd"], &["-init"], false);
    let words: Vec<Word> = command.words_at(&sources.words).collect();
    let Some((database, statements)) = words.split_first() else { return };
    // Its options are words with one dash or two.
    let options = texts.iter().filter_map(|text| text.strip_prefix('-'));
    let mut options = options.map(|option| option.trim_start_matches('-'));
    let mut read_only = options.any(|option| matches!(option, "readonly" | "safe"));
    let mut file = database.tail(if database.text.starts_with("file:") { 5 } else { 0 });
    if let Some((path, query)) = file.text.clone().split_once('?') {
        read_only |= query.contains("mode=ro") || query.contains("immutable=1");
        file = Word::literal(path);
    }
    let stdin = command.stdin.iter().filter(|_| statements.is_empty()).cloned();
    let commands = command.words_at(&sources.scripts);
    let all: Vec<Word> = statements.iter().cloned().chain(commands).chain(stdin).collect();
    let reading = |word: &Word| word.known().and_then(|text| sql::reading(text, Functions::BuiltIn));
    let written: Option<Vec<Vec<String>>> = all.iter().map(reading).collect();
    let from_elsewhere = (statements.is_empty() && command.stdin.is_none()) || !sources.files.is_empty();
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
    let all = statements.iter().chain(command.stdin.iter());
    for word in all {
        let between = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ';' | ',' | '(' | ')');
        let paths = word.text.split(between).filter(|part| part.contains('/') || part.contains(".db"));
        into.extend(paths.map(|path| Access::named(Touch::Write, path.to_owned(), path.contains('$'))));
    }
}

/// Adds the files that a statement writes, in a word of its own or behind an option: `--execute=SELECT … INTO OUTFILE '/x'`.
pub fn written(statement: &Word, into: &mut Vec<Access>) {
    let text = statement.text.as_str();
    let behind =
        if text.starts_with("--") { text.split_once('=').map(|(_, value)| value) } else { text.get(2..) };
    let behind = behind.filter(|_| text.starts_with('-'));
    let reading = |text: &str| sql::reading(text, Functions::BuiltIn);
    let files = [Some(text), behind].into_iter().flatten().filter_map(reading).flatten();
    into.extend(files.map(|path| Access::named(Touch::Write, path, false)));
}

/// Adds the files that SQL names in quotes: `readfile('/app/.env')`.
pub fn named(statement: &Word, into: &mut Vec<Access>) {
    let parts = statement.text.split(['\'', '"']).skip(1).step_by(2).filter(|part| part.contains(['/', '.']));
    into.extend(parts.map(|part| Access::named(Touch::Read, part.to_owned(), part.contains('$'))));
}
