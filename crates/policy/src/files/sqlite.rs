//! `sqlite3`: its SQL determines whether a database is read or written.

use super::access::{Access, Touch};
use crate::catalogue::lookup::Usage;
use crate::catalogue::operands::Operands;
use crate::catalogue::program::Role;
use crate::policy::sql::{self, Functions};
use crate::shell::{Command, Word};

/// Adds the accesses of `sqlite3`.
pub fn accesses(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    let words: Vec<&Word> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
    let mut read_only = given.has(Role::ReadsOnly);
    let Some((database, statements)) = words.split_first() else { return };
    let mut file = database.tail(if database.text.starts_with("file:") { 5 } else { 0 });
    if let Some((path, query)) = file.text.clone().split_once('?') {
        read_only |= query.contains("mode=ro") || query.contains("immutable=1");
        file = Word::literal(path);
    }
    let options = usage.form.effect.map(|terms| terms.statements).unwrap_or_default();
    let commands = given.options.iter().filter(|(name, _)| name.is_any(&options));
    let commands = commands.filter_map(|(_, at)| command.value((*at)?));
    let stdin = command.stdin.iter().filter(|_| statements.is_empty()).cloned();
    let all: Vec<Word> = statements.iter().copied().cloned().chain(commands).chain(stdin).collect();
    let reading = |word: &Word| word.known().and_then(|text| sql::reading(text, Functions::BuiltIn));
    let written: Option<Vec<Vec<String>>> = all.iter().map(reading).collect();
    let from_elsewhere =
        (statements.is_empty() && command.stdin.is_none()) || given.places(Role::ScriptFile).next().is_some();
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
