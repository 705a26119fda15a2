//! Scripts of other programs, in options, in words or on standard input: SQL, sed, awk, `MongoDB` and Flux.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use crate::lists::{DATABASE_FILES, LISTING_CLIENTS, PLAIN_OUTPUTS};
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::{Check, EffectTerms};
use opsctl_reader::languages::sources::Sources;
use opsctl_reader::languages::sql;
use opsctl_reader::languages::sql::Functions;
use opsctl_reader::languages::{awk, flux, mongo, names, sed};
use opsctl_reader::shell::{Command, Word, glob};
use opsctl_reader::terms::effect::Effect;

/// What is known around a command.
#[derive(Clone, Copy)]
pub struct Sees<'a> {
    /// Whether a file may be written without changing anything that matters.
    pub is_scratch: &'a dyn Fn(&str) -> bool,
    /// The functions that the script calls.
    pub calls: &'a [String],
}

/// The effect of a command whose form has this check.
pub fn effect(
    check: Check,
    command: &Command,
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    Sees { is_scratch, calls }: Sees<'_>,
) -> Proof {
    let is_filter = matches!(check, Check::SedScript | Check::AwkProgram);
    let sources = sources(check, usage, terms, texts);
    if let Some(file) = sources.files.first() {
        let file = texts.get(file.index).copied().unwrap_or_default();
        return (Effect::Unknown, Why::ScriptOnDisk(file.to_owned()));
    }
    if sources.shows && is_filter {
        return READS;
    }
    let mut scripts: Vec<Word> = command.words_at(&sources.scripts).collect();
    let from_stdin = scripts.is_empty();
    if from_stdin && check == Check::SqlCondition {
        return READS;
    }
    if from_stdin && !is_filter {
        // The content of a file, or what another program prints.
        if command.stdin.as_ref().is_some_and(|text| text.known().is_none() && text.prefix().is_empty()) {
            return (Effect::Unknown, Why::Unread);
        }
        scripts.extend(command.stdin.clone());
    }
    let functions = match usage.program.key {
        "psql" | "mysql" | "mysqldump" | "cockroach" => Functions::Listed,
        _ => Functions::BuiltIn,
    };
    let names = |script: &Word| match (check, script.known()) {
        (_, Some(known)) => Some(known.to_owned()),
        (Check::Sql | Check::SqlWords | Check::SqlCondition, None) => with_names(script, calls),
        (Check::AwkProgram, None) => with_dates(script, calls),
        _ => None,
    };
    let written = |script: &Word| match (check, names(script)?.as_str()) {
        (Check::AwkProgram, script) => awk::written(script, command.is_followed),
        (Check::Mongo, script) => mongo::only_reads(script).then(Vec::new),
        (Check::Flux, script) => flux::only_reads(&script.to_lowercase()).then(Vec::new),
        (Check::SqlCondition, script) => sql::reading(&format!("select * from x where {script}"), functions),
        (_, script) => sql::reading(script, functions),
    };
    let files: Option<Vec<String>> = match (check, scripts.as_slice()) {
        (_, []) => return (Effect::Unknown, Why::Unread),
        (Check::SedScript, scripts) => edited(scripts),
        (_, scripts) => scripts.iter().map(written).collect::<Option<Vec<_>>>().map(|files| files.concat()),
    };
    let created = || sources.words.first().and_then(|word| created(texts.get(word.index)?, texts));
    let created = (check == Check::SqlWords).then(created).flatten();
    match files.map(|files| files.into_iter().chain(created).find(|file| !is_scratch(file))) {
        Some(None) => READS,
        // The rules for files do not see what a filter writes.
        Some(Some(_)) | None if is_filter => (Effect::Unknown, Why::Statement),
        Some(Some(file)) => (Effect::Changes, Why::Writes(file)),
        // Statements may also run code and programs, and write files.
        None => {
            let changes = |script: &Word| match (check, names(script)) {
                // The rules see no code that is read from the standard input.
                (Check::Mongo, Some(code)) => !from_stdin && mongo::only_changes(&code),
                (Check::Sql | Check::SqlWords, Some(script)) => sql::only_changes(&script, functions),
                _ => false,
            };
            if scripts.iter().all(changes) { CHANGES } else { (Effect::Unknown, Why::Statement) }
        }
    }
}

/// Whether the scripts of a command that changes a database do what a repair does.
pub fn repairs(check: Check, command: &Command, usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> bool {
    let mut scripts: Vec<Word> = command.words_at(&sources(check, usage, terms, texts).scripts).collect();
    if scripts.is_empty() {
        scripts.extend(command.stdin.clone());
    }
    scripts.iter().all(|script| match (check, script.known()) {
        (Check::Mongo, Some(code)) => mongo::repairs(code),
        (_, Some(script)) => sql::repairs(script),
        (_, None) => with_names(script, &[]).is_some_and(|script| sql::repairs(&script)),
    })
}

/// Whether the query of a command prints only what its tables hold: its own text composes nothing.
fn lists_names(command: &str) -> bool {
    let quoted = command.find(['\'', '"']).and_then(|at| {
        let (options, rest) = command.split_at(at);
        Some((options, rest.get(1..)?.rsplit_once(rest.chars().next()?)?))
    });
    let Some((options, (query, after))) = quoted else { return false };
    if after.contains(['\'', '"']) || options.contains([';', '|', '&', '<', '>', '/', '\\']) {
        return false;
    }
    let parts: Vec<&str> = query.split('\'').collect();
    let is_compared = |pair: &[&str]| match pair {
        [before, value] => {
            before.trim_end().ends_with('=') && value.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        _ => true,
    };
    !query.contains([';', '(', '\\', '/', '&', '"'])
        && !query.contains("0x")
        && parts.chunks(2).all(is_compared)
}

/// What ends a statement, unless it stands between quotes.
const ENDING: &str = ";drop;";

/// A statement with a text in place of each output of a command that cannot hold a statement: a name for what lists the tables
/// and databases of a server, a digit for a number, and for a date or a name of the machine, a text that reads nowhere but
/// between quotes. `None` where something else is unknown in it.
fn with_names(statement: &Word, calls: &[String]) -> Option<String> {
    statement.filled(|source| {
        let command = substituted(source, calls)?;
        if PLAIN_OUTPUTS.contains(&command) {
            return Some(ENDING);
        }
        if let Some(format) = date_format(command) {
            let is_number = matches!(format, "%s" | "%Y" | "%m" | "%d" | "%H" | "%M" | "%S" | "%j");
            return Some(if is_number { "1" } else { ENDING });
        }
        let client = command.split_whitespace().next()?;
        (LISTING_CLIENTS.contains(&client) && lists_names(command)).then_some("x")
    })
}

/// The format of a command that prints only digits, blanks and `-:./T`: `date -d yesterday '+%F %T'`.
fn date_format(command: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -:.,=@/\"'${}_".contains(c);
    let (options, format) = command.split_once('+')?;
    let (options, format) = match options.strip_suffix(['"', '\'']) {
        Some(rest) => (rest, format.strip_suffix(options.get(rest.len()..)?)?),
        None => match format.strip_prefix(['"', '\'']) {
            Some(rest) => (options, rest.strip_suffix(format.get(..1)?)?),
            None => (options, Some(format).filter(|format| !format.contains(char::is_whitespace))?),
        },
    };
    let mut fields = format.split('%');
    let is_between = |text: &str| text.chars().all(|c| " -:./T".contains(c)) && !text.contains("--");
    let starts = fields.next()?;
    let is_field = |field: &str| {
        let field = field.trim_start_matches(['-', '_', '0']);
        field.starts_with(|c| "dFHIjklmMNRsSTuUVwWyY".contains(c)) && field.get(1..).is_some_and(is_between)
    };
    let is_date = options.strip_prefix("date").is_some_and(|rest| rest.starts_with(' '));
    (is_date && options.chars().all(is_plain) && starts.is_empty() && fields.all(is_field)).then_some(format)
}

/// A program of awk with a number in place of each output of `date`: `/$(date +%d)/ {print}`. `None` where something else is
/// unknown in it.
fn with_dates(program: &Word, calls: &[String]) -> Option<String> {
    program.filled(|source| prints_date(substituted(source, calls)?).then_some("0"))
}

/// The command of a substitution; `None` where a function has the name of its program.
fn substituted<'a>(source: &'a str, calls: &[String]) -> Option<&'a str> {
    let command = source.strip_prefix("$(")?.strip_suffix(')')?;
    let program = command.split_whitespace().next()?;
    (!calls.iter().any(|name| name == program)).then_some(command)
}

/// Whether a command prints only a date that neither ends nor escapes anything in a program: with `\\/` for a slash.
fn prints_date(command: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " +-%:.,\"'".contains(c);
    let command = if command.contains("\"+") { command.replace("\\\\/", "") } else { command.to_owned() };
    let mut fields = command.split('%').skip(1).map(|field| field.trim_start_matches('-'));
    (command == "date" || command.starts_with("date "))
        && command.chars().all(is_plain)
        && !(command.contains('"') && command.contains('\''))
        && fields.all(|field| field.starts_with(|c| "aAbBdeFHIjklmMNpPRsSTuUVwWyYzZ".contains(c)))
}

/// The file that `sqlite3` creates if there is none: one that has not the name of a database.
fn created(database: &str, texts: &[&str]) -> Option<String> {
    let (path, query) = database.split_once('?').unwrap_or((database, ""));
    let path = path.strip_prefix("file:").unwrap_or(path);
    let is_database = DATABASE_FILES.iter().any(|one| glob(one, base_name(path)));
    let is_read_only = query.contains("mode=ro") || texts.iter().any(|text| text.ends_with("-readonly"));
    (!is_database && !is_read_only && !path.contains('$')).then(|| path.to_owned())
}

/// Where the scripts of a command line are.
fn sources(check: Check, usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Sources {
    let library = names::awk::LIBRARY_OPTIONS.0;
    let (scripts, files) = match check {
        Check::SedScript => (names::sed::CODE_OPTIONS.0, names::sed::FILE_OPTIONS.0),
        Check::AwkProgram => (names::awk::CODE_OPTIONS.0, names::awk::FILE_OPTIONS.0),
        Check::Mongo => (&["--eval"] as &[&str], &["--file", "-f", "--shell"] as &[&str]),
        _ => (&*terms.statements, &[] as &[&str]),
    };
    let is_awk = check == Check::AwkProgram;
    let files = if is_awk { &*[files, library].concat() } else { files };
    let mut sources = Sources::of(usage, texts, scripts, files, is_awk);
    let text = |word: usize| texts.get(word).copied().unwrap_or_default();
    let words = sources.words.iter().copied();
    match check {
        Check::SedScript | Check::AwkProgram => return sources.or_first_word(),
        Check::SqlWords => sources.scripts.extend(words.skip(1)),
        Check::Flux => sources.scripts.extend(words.filter(|at| text(at.index) != "-")),
        Check::Mongo => sources.files.extend(words.filter(|at| text(at.index).ends_with("js"))),
        _ => {}
    }
    sources
}

/// The files that the scripts of `sed` write; `None` where one of them may run something. The files of `-i` are checked
/// elsewhere.
fn edited(scripts: &[Word]) -> Option<Vec<String>> {
    // A value put into an address or a replacement hardly holds a command; one that begins the script may be one.
    let placed = scripts.iter().all(|script| script.counted().is_some() || !script.prefix().is_empty());
    let texts: Vec<String> =
        scripts.iter().map(|script| script.counted().unwrap_or_else(|| script.text.clone())).collect();
    placed.then(|| sed::written(&texts.join("\n")))?
}
