//! Scripts of other programs, in options, in words or on standard input: SQL, sed, awk, `MongoDB` and Flux.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use crate::lists::LISTING_CLIENTS;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::{Check, EffectTerms};
use opsctl_reader::languages::sources::Sources;
use opsctl_reader::languages::sql;
use opsctl_reader::languages::sql::Functions;
use opsctl_reader::languages::{awk, flux, mongo, names, sed};
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::effect::Effect;

/// The effect of a command whose form has this check.
pub fn effect(
    check: Check,
    command: &Command,
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    is_scratch: &dyn Fn(&str) -> bool,
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
    if from_stdin && !is_filter {
        // The content of a file, or what another program prints.
        if command.stdin.as_ref().is_some_and(|text| text.known().is_none() && text.prefix().is_empty()) {
            return (Effect::Unknown, Why::Unread);
        }
        scripts.extend(command.stdin.clone());
    }
    let functions = match usage.program.key {
        "psql" | "mysql" | "cockroach" => Functions::Listed,
        _ => Functions::BuiltIn,
    };
    let names = |script: &Word| match (check, script.known()) {
        (_, Some(known)) => Some(known.to_owned()),
        (Check::Sql | Check::SqlWords, None) => with_names(&script.text),
        _ => None,
    };
    let written = |script: &Word| match (check, names(script)?.as_str()) {
        (Check::AwkProgram, script) => awk::written(script, command.is_followed),
        (Check::Mongo, script) => mongo::only_reads(script).then(Vec::new),
        (Check::Flux, script) => flux::only_reads(&script.to_lowercase()).then(Vec::new),
        (_, script) => sql::reading(script, functions),
    };
    let files: Option<Vec<String>> = match (check, scripts.as_slice()) {
        (_, []) => return (Effect::Unknown, Why::Unread),
        (Check::SedScript, scripts) => edited(scripts),
        (_, scripts) => scripts.iter().map(written).collect::<Option<Vec<_>>>().map(|files| files.concat()),
    };
    match files.map(|files| files.into_iter().find(|file| !is_scratch(file))) {
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
        (_, None) => with_names(&script.text).is_some_and(|script| sql::repairs(&script)),
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

/// A statement with a name in place of each output of a database client: its tables and databases have names, not statements.
/// `None` where something else is unknown in it.
fn with_names(statement: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = statement;
    while let Some((before, from)) = rest.split_once("$(") {
        let client = from.split_whitespace().next()?;
        if !LISTING_CLIENTS.contains(&client) {
            return None;
        }
        let mut depth = 1;
        let end = from.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        })?;
        if !lists_names(from.get(..end)?) {
            return None;
        }
        text.push_str(before);
        text.push('x');
        rest = from.get(end + 1..)?;
    }
    text.push_str(rest);
    (!text.contains(['$', '`'])).then_some(text)
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
    let placed = scripts.iter().all(|script| script.known().is_some() || !script.prefix().is_empty());
    let texts: Vec<&str> = scripts.iter().map(|script| script.text.as_str()).collect();
    placed.then(|| sed::written(&texts.join("\n")))?
}
