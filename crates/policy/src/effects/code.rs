//! Code of other languages on the command line: whether it only computes and prints.
//!
//! The world is closed: code reads where each import, each call and each attribute of a module is known to be harmless.

use super::http::address::Address;
use super::proof::{Proof, READS};
use super::reason::Why;
use opsctl_reader::catalogue::program::Language;
use opsctl_reader::languages::{names, only_reads, perl, python};
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::effect::Effect;

/// Whether a reason is that of code, and not of the program that runs it.
pub fn is_of_code(why: &Why, command: &Command) -> bool {
    match why {
        Why::Code => true,
        Why::ScriptOnDisk(path) => command.words.first().is_some_and(|program| program.text != *path),
        _ => false,
    }
}

/// The effect of a command line of an interpreter. `runs` is true where a program stands below it in the tree.
pub fn effect(command: &Command, language: Language, runs: bool) -> Proof {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let unknown = (Effect::Unknown, Why::Code);
    if let [_, only] = texts.as_slice()
        && matches!(*only, "--version" | "-V" | "-VV" | "-v" | "--help" | "-h")
    {
        return READS;
    }
    let code = match language {
        Language::Ruby if matches!(texts.as_slice(), [_, "-c" | "-wc", _]) => Some(Code::Looks),
        Language::Python | Language::Node | Language::Ruby | Language::Lua => code(command, &texts, language),
        Language::Deno => match texts.as_slice() {
            [_, "eval" | "-e" | "--eval" | "-p" | "--print", _] => known(command.words.get(2)),
            [_, "eval", "-p" | "--print", _] => known(command.words.get(3)),
            _ => None,
        },
        Language::Perl => perl_code(command, &texts),
        Language::Php => php(&texts).or_else(|| code(command, &texts, language)),
        Language::Awk => None,
    };
    let may_ask = |address: &str| {
        let address = Address::of(address);
        address.is_plain() && !address.changes()
    };
    let harmless = match code {
        None => return unknown,
        Some(Code::Looks) => true,
        Some(Code::Module) => runs,
        Some(Code::Edits(code)) if perl::is_harmless(&code, command.is_followed) => {
            return (Effect::Changes, Why::Code);
        }
        Some(Code::Edits(_)) => false,
        Some(Code::Runs(code))
            if language == Language::Python && python::only_tidies_scratch(&code, &may_ask) =>
        {
            return (Effect::Changes, Why::Statement);
        }
        Some(Code::Runs(code)) => only_reads(&code, language, command.is_followed, &may_ask),
    };
    if harmless { READS } else { unknown }
}

/// `php -m`, `php -i`, `php -l FILE`.
fn php(texts: &[&str]) -> Option<Code> {
    match texts {
        [_, "-m" | "-i" | "--ini"]
        | [_, "-l" | "--syntax-check" | "--ri" | "--re" | "--rf" | "--rfunction" | "--rc", _] => {
            Some(Code::Looks)
        }
        _ => None,
    }
}

/// The code of a command line, except in Perl.
fn code(command: &Command, texts: &[&str], language: Language) -> Option<Code> {
    use names::{lua, node, php, python, ruby};
    let is_python = language == Language::Python;
    let (gives, harmless, valued) = match language {
        Language::Python => (python::CODE_OPTIONS, python::HARMLESS_OPTIONS, python::VALUED_OPTIONS),
        Language::Ruby => (ruby::CODE_OPTIONS, ruby::HARMLESS_OPTIONS, ruby::VALUED_OPTIONS),
        Language::Php => (php::CODE_OPTIONS, php::HARMLESS_OPTIONS, php::VALUED_OPTIONS),
        Language::Lua => (lua::CODE_OPTIONS, lua::HARMLESS_OPTIONS, lua::VALUED_OPTIONS),
        _ => (node::CODE_OPTIONS, node::HARMLESS_OPTIONS, node::VALUED_OPTIONS),
    };
    let mut at = 1;
    while let Some(text) = texts.get(at) {
        at += 1;
        match *text {
            "-m" if is_python => {
                let is_last = texts.len() <= at + 2;
                return match texts.get(at).copied()? {
                    module if python::PROGRAM_MODULES.has(module) => Some(Code::Module),
                    "json.tool" if is_last => Some(Code::Looks),
                    module if python::REPORTING_MODULES.get(module).is_some() => {
                        let options = python::REPORTING_MODULES.get(module)?;
                        let mut stated = texts.get(at + 1..)?.iter().filter(|text| text.starts_with('-'));
                        let is_listed = |text: &&&str| matches!(**text, "-h" | "--help") || options.has(text);
                        stated.all(|text| is_listed(&text)).then_some(Code::Looks)
                    }
                    "timeit" if !is_last => timed(command, texts, at + 1),
                    module => {
                        let options = python::SHOWING_MODULES.get(module)?;
                        let shows = match texts.get(at + 1..)? {
                            ["-h" | "--help"] => true,
                            // A text that the command contains.
                            [option] => {
                                options.has(option)
                                    && command.stdin.as_ref().is_some_and(|stdin| stdin.known().is_some())
                            }
                            [option, _] => options.has(option),
                            _ => false,
                        };
                        shows.then_some(Code::Looks)
                    }
                };
            }
            "-mjson.tool" if is_python && texts.len() <= at + 1 => return Some(Code::Looks),
            "--check" | "-c" if language == Language::Node && at + 1 == texts.len() => {
                return Some(Code::Looks);
            }
            // Python gives the script the words behind it.
            "-" if at == texts.len() || is_python => break,
            option if gives.has(option) => {
                // Other interpreters than Python take options behind the code, with more code.
                let later = texts.get(at + 1..).unwrap_or_default();
                let is_lua = language == Language::Lua && !later.is_empty();
                let has_more = is_lua || !is_python && later.iter().any(|text| text.starts_with('-'));
                return if has_more { None } else { known(command.words.get(at)) };
            }
            option if harmless.has(option) => {}
            // `ruby -rjson`.
            option
                if language == Language::Ruby
                    && option.strip_prefix("-r").is_some_and(|module| ruby::LOADED.has(module)) => {}
            option if valued.has(option) => at += 1,
            _ => return None,
        }
    }
    known(command.stdin.as_ref())
}

/// The statements after `python -m timeit`.
fn timed(command: &Command, texts: &[&str], from: usize) -> Option<Code> {
    let mut from = from;
    while matches!(texts.get(from).copied(), Some("-n" | "-r" | "-u")) {
        from += 2;
    }
    let statements: Option<Vec<&str>> = command.words.get(from..)?.iter().map(Word::known).collect();
    let statements = statements?;
    let is_plain = statements.iter().all(|statement| !statement.starts_with('-'));
    is_plain.then(|| Code::Runs(statements.join("\n")))
}

/// The code of a command line; `None` for options that do more.
fn perl_code(command: &Command, texts: &[&str]) -> Option<Code> {
    // `perl -V:version`.
    let setting = texts.get(1).and_then(|text| text.strip_prefix("-V:")).filter(|_| texts.len() == 2);
    if setting.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
        return Some(Code::Looks);
    }
    let mut code: Vec<&str> = Vec::new();
    let mut edits = false;
    let mut at = 1;
    while let Some(cluster) =
        texts.get(at).and_then(|text| text.strip_prefix('-')).filter(|rest| !rest.is_empty())
    {
        at += 1;
        let mut rest = cluster;
        while let Some(letter) = rest.chars().next() {
            rest = rest.get(letter.len_utf8()..)?;
            match letter {
                'n' | 'p' | 'a' | 'w' | 's' | 'W' => {}
                // Behind it stands the end of the names of copies.
                'i' if rest.chars().all(|c| c.is_ascii_alphanumeric() || "._~-".contains(c)) => {
                    edits = true;
                    rest = "";
                }
                '0' | 'l' => {
                    rest =
                        rest.trim_start_matches(|c: char| c.is_ascii_hexdigit() && !c.is_ascii_lowercase());
                }
                'F' if !rest.contains(['{', '$', '@']) => rest = "",
                'M' if names::perl::MODULES.has(rest.split('=').next().unwrap_or_default()) => {
                    rest = "";
                }
                // `-E'say 1'`.
                'e' | 'E' if !rest.is_empty() => {
                    let word = command.words.get(at - 1)?.known()?;
                    code.push(word.get(word.len() - rest.len()..)?);
                    rest = "";
                }
                'e' | 'E' => {
                    code.push(command.words.get(at)?.known()?);
                    at += 1;
                }
                _ => return None,
            }
        }
    }
    // An argument may be a command: `perl -ne … 'reboot |'`.
    let is_file = |text: &&str| !text.contains('|') && !text.starts_with(['<', '>', '+', ' ']);
    // `<(cat FILE)` is the path of a file.
    let is_substitution = |word: &&Word| {
        word.unknown
            .as_ref()
            .is_some_and(|unknown| unknown.source.starts_with("<(") && unknown.source == word.text)
    };
    let words = command.words.get(at..).unwrap_or_default().iter();
    let mut read = words.filter(|word| !is_substitution(word)).map(|word| word.text.as_str());
    let files = texts.get(at..).unwrap_or_default();
    if code.is_empty() && !edits && matches!(files, [] | ["-"]) {
        return known(command.stdin.as_ref());
    }
    let code = (!code.is_empty() && read.all(|text| is_file(&text))).then(|| code.join("\n"))?;
    Some(if edits { Code::Edits(code) } else { Code::Runs(code) })
}

/// What is known of a command line.
enum Code {
    /// It shows its version, or checks a file.
    Looks,
    /// It runs this code.
    Runs(String),
    /// It runs this code on each line of files, and writes them.
    Edits(String),
    /// It runs a module that is a program of its own: `python -m pip`.
    Module,
}

/// The code in a word or on standard input, if all of it is known.
fn known(word: Option<&Word>) -> Option<Code> {
    word?.known().map(|code| Code::Runs(code.to_owned()))
}
