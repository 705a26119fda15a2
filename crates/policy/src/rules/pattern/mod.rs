//! Patterns of commands: lines of words that are matched against the words of a command.
//!
//! The first word is the program, without its folder. Then, in order, the words that are not options:
//!
//! | pattern | matches |
//! |---|---|
//! | `word`, `a\|b`, `mkfs.*` | a word, one of several, a glob (`*`, `?`, `[a-z]`) |
//! | `...` | any number of words |
//! | `$` | no further word; without it, more may follow |
//! | `-f\|--force` | one of these options, at any position |
//! | `-X\|--method=PUT\|POST`, `-f={temporary}` | one of these options with one of these values |
//! | `<{temporary}` | standard input from a file of this kind |
//! | `@{temporary}` | a working directory of this kind |
//! | `!--dry-run`, `!-o=*.crt*` | none of these options, or none with one of these values |
//! | `{data}` `{contents}` `{folder}` `{store}` `{device}` `{pids}` `{init}` `{listed}` `{unknown}` `{temporary}` `{input}` `{secret}` `{doubtful}` | a word of that kind: see [`Kind`] |
//! | `{sql}` | SQL that destroys, in any word or on standard input |
//! | `{accounts}` | SQL that changes who may use a database, likewise |
//! | `{passwords}` | SQL that may print passwords of accounts, likewise |
//! | `{credentials}` | SQL that names what holds passwords of accounts or of other servers, likewise |
//! | `{code}` | code of another language that removes a data folder, likewise |

mod search;
mod token;

use opsctl_reader::catalogue::program::{Options, Program};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::Word;
use opsctl_reader::shell::{Command, Mode};

use opsctl_reader::languages::sql;
use search::{Search, has, lacks, values_of};
pub use token::Kind;
use token::{Token, is_one, kind, one_of};

/// What patterns say of SQL and code, wherever it stands.
const STATEMENTS: [&str; 5] = ["{sql}", "{accounts}", "{passwords}", "{credentials}", "{code}"];

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// Names of the program; empty if the pattern begins after it.
    program: &'a str,
    words: Vec<Token<'a>>,
    conditions: Vec<Condition<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition<'a> {
    Has {
        names: &'a str,
        value: Option<&'a str>,
    },
    Lacks {
        names: &'a str,
        value: Option<&'a str>,
    },
    /// Standard input from a file of one of these kinds.
    Reads(&'a str),
    /// A working directory of one of these kinds.
    In(&'a str),
    /// SQL that deletes data.
    Sql,
    /// SQL that changes accounts or rights.
    Accounts,
    /// SQL that may print passwords of accounts.
    Passwords,
    /// SQL that names what holds passwords of accounts or of other servers.
    Credentials,
    /// Code that removes data.
    Code,
}

/// Whether a pattern with this text applies to this program. Does not parse the pattern: most commands match no rule.
pub fn concerns(pattern: &str, program: &str) -> bool {
    pattern.split(' ').next().is_some_and(|first| one_of(first, program))
}

/// Whether a pattern with this text of the words after a program may match these words. Does not parse the pattern.
pub fn may_match(pattern: &str, texts: &[&str]) -> bool {
    let first = pattern.split(' ').next().unwrap_or_default();
    let is_word = !first.is_empty() && !first.starts_with(['-', '!', '$', '.']);
    !is_word || first.split('|').any(|one| one.starts_with('{') || texts.iter().any(|text| is_one(one, text)))
}

/// Why a pattern cannot be used. The texts continue "the pattern `…` ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum PatternError {
    #[error("is empty")]
    Empty,
    #[error("does not begin with a program")]
    NoProgram,
    #[error("continues after `$`")]
    AfterEnd,
    #[error("has an empty alternative in `{0}`")]
    EmptyAlternative(String),
    #[error(
        "has `{0}`, which is none of `{{data}}`, `{{contents}}`, `{{folder}}`, `{{store}}`, `{{device}}`, `{{pids}}`, `{{init}}`, `{{listed}}`, `{{unknown}}`, `{{temporary}}`, `{{input}}`, `{{secret}}`, `{{doubtful}}`, `{{sql}}`, `{{accounts}}`, `{{passwords}}`, `{{credentials}}`, `{{code}}`"
    )]
    Kind(String),
    #[error("has `{0}` among options; each begins with `-`")]
    Option(String),
}

impl<'a> Pattern<'a> {
    /// Parses a pattern.
    pub fn parse(text: &'a str) -> Result<Self, PatternError> {
        let mut tokens = text.split_whitespace();
        let program = tokens.next().ok_or(PatternError::Empty)?;
        if program.starts_with(['-', '!', '{', '$']) || program == "..." {
            return Err(PatternError::NoProgram);
        }
        Self::words_of(program, tokens)
    }

    /// Parses a pattern of the words after a program.
    pub fn behind_program(text: &'a str) -> Result<Self, PatternError> {
        Self::words_of("", text.split_whitespace())
    }

    fn words_of(program: &'a str, tokens: impl Iterator<Item = &'a str>) -> Result<Self, PatternError> {
        let mut pattern = Self { program, words: vec![], conditions: vec![] };
        for token in tokens {
            if pattern.words.last() == Some(&Token::End)
                && !token.starts_with(['-', '!'])
                && !STATEMENTS.contains(&token)
            {
                return Err(PatternError::AfterEnd);
            }
            match token {
                "..." => pattern.words.push(Token::Many),
                "$" => pattern.words.push(Token::End),
                "{sql}" => pattern.conditions.push(Condition::Sql),
                "{accounts}" => pattern.conditions.push(Condition::Accounts),
                "{passwords}" => pattern.conditions.push(Condition::Passwords),
                "{credentials}" => pattern.conditions.push(Condition::Credentials),
                "{code}" => pattern.conditions.push(Condition::Code),
                _ if token.starts_with('!') => {
                    let token = token.trim_start_matches('!');
                    // `!--dry-run|--dry-run=client` are names alone.
                    let stated = token.split_once('=').filter(|(_, value)| !value.contains("|-"));
                    let (names, value) = stated.map_or((token, None), |(names, value)| (names, Some(value)));
                    options(names)?;
                    pattern.conditions.push(Condition::Lacks { names, value });
                }
                _ if token.starts_with('-') && token.len() > 1 => {
                    let (names, value) = token.split_once('=').map_or((token, None), |(n, v)| (n, Some(v)));
                    options(names)?;
                    kinds(
                        value.into_iter().flat_map(|value| value.split('|')).filter(|one| one.ends_with('}')),
                    )?;
                    pattern.conditions.push(Condition::Has { names, value });
                }
                _ => {
                    let alternatives = token.trim_start_matches(['<', '@']);
                    if alternatives.split('|').any(str::is_empty) {
                        return Err(PatternError::EmptyAlternative(token.to_owned()));
                    }
                    kinds(alternatives.split('|'))?;
                    match token.strip_suffix(alternatives) {
                        Some("<") => pattern.conditions.push(Condition::Reads(alternatives)),
                        Some("@") => pattern.conditions.push(Condition::In(alternatives)),
                        _ => pattern.words.push(Token::Word(token)),
                    }
                }
            }
        }
        Ok(pattern)
    }

    /// Matches a command: the words that matched, in order, without what could be a secret. `is` states whether a word is of
    /// a kind.
    pub fn find(
        &self,
        command: &Command,
        catalogue: Catalogue,
        is: &dyn Fn(Kind, &Word) -> bool,
    ) -> Option<String> {
        let name = base_name(&command.words.first()?.text);
        if !one_of(self.program, name) {
            return None;
        }
        let values = catalogue.find(name).map(|program| values(program, catalogue)).unwrap_or_default();
        self.find_behind(command, Behind { name, start: 1, values: &values, vain: &[] }, is)
    }

    /// Matches the words of a command after its program.
    pub fn find_behind(
        &self,
        command: &Command,
        behind: Behind<'_>,
        is: &dyn Fn(Kind, &Word) -> bool,
    ) -> Option<String> {
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let valued = Some(behind.values).filter(|values| !values.is_empty());
        let mut evidence = vec![behind.name.to_owned()];
        let dashes = texts.iter().position(|text| *text == "--");
        let search = Search { words: &self.words, command, texts: &texts, valued, is, dashes };
        evidence.extend(search.run(behind.start)?);
        let fits = |alternatives: &str, word: &Word| {
            alternatives
                .split('|')
                .any(|one| kind(one).map_or_else(|| is_one(one, &word.text), |kind| is(kind, word)))
        };
        let has = |names: &str, value: Option<&str>| {
            let own_fits = |own: &str| fits(value.unwrap_or_default(), &Word::literal(own));
            has(&texts, names, value.is_some().then_some(&own_fits as &dyn Fn(&str) -> bool), valued)
        };
        // The last of several values wins, in some programs the first.
        let is_always = |texts: &[&str], names: &str, value: &str| {
            let mut given = values_of(texts, names, valued).into_iter().peekable();
            given.peek().is_some() && given.all(|own| fits(value, &Word::literal(own)))
        };
        for condition in &self.conditions {
            match condition {
                Condition::Has { names, value } => evidence.push(has(names, *value)?),
                Condition::Reads(alternatives) => {
                    let mut read = command.redirections.iter().filter(|one| one.mode == Mode::Read);
                    evidence.push(format!("< {}", read.find(|one| fits(alternatives, &one.path))?.path.text));
                }
                Condition::In(alternatives) if fits(alternatives, &Word::literal(".")) => {}
                Condition::Lacks { names, value: None }
                    if names.split('|').any(|name| behind.vain.contains(&name))
                        || lacks(&texts, names, valued) => {}
                Condition::Lacks { names, value: Some(value) } if !is_always(&texts, names, value) => {}
                Condition::In(_) | Condition::Lacks { .. } => return None,
                Condition::Sql => evidence.push(stated(command, sql::destroys)?.to_owned()),
                Condition::Code => {
                    let mut words = command.words.iter().skip(1).chain(&command.stdin);
                    words.find(|word| is(Kind::Code, word))?;
                }
                Condition::Passwords => {
                    stated(command, sql::shows_passwords)?;
                }
                Condition::Credentials => {
                    stated(command, sql::shows_credentials)?;
                }
                Condition::Accounts => evidence.push(stated(command, sql::changes_accounts)?.to_owned()),
            }
        }
        Some(evidence.join(" "))
    }
}

/// The start of the words that a pattern applies to.
#[derive(Debug, Clone, Copy)]
pub struct Behind<'a> {
    /// The program as denials name it: `docker compose`.
    pub name: &'a str,
    /// The index of the first word after the program.
    pub start: usize,
    /// Options that take a value; empty if they are not known.
    pub values: &'a [Options],
    /// Options of a dry run that have no effect in this command: they are taken back, or a value.
    pub vain: &'a [&'static str],
}

/// The options that take a value, of a program and of the program that gets its words; empty if they are not known.
pub fn values(program: &Program, catalogue: Catalogue) -> Vec<Options> {
    let next = program.verbs.iter().filter_map(|verb| verb.form.then);
    let next = next.filter_map(|key| catalogue.find(key)).filter_map(|program| program.value);
    program.value.into_iter().chain(next).collect()
}

fn options(names: &str) -> Result<(), PatternError> {
    match names.split('|').find(|name| !name.starts_with('-') || name.len() < 2) {
        Some(name) => Err(PatternError::Option(name.to_owned())),
        None => Ok(()),
    }
}

/// Checks the kinds of words among these alternatives.
fn kinds<'a>(alternatives: impl Iterator<Item = &'a str>) -> Result<(), PatternError> {
    match alternatives.filter(|one| one.starts_with('{')).find(|one| kind(one).is_none()) {
        Some(unknown) => Err(PatternError::Kind(unknown.to_owned())),
        None => Ok(()),
    }
}

/// The kind of the SQL in a word or on standard input.
fn stated(command: &Command, says: fn(&str, &str) -> Option<&'static str>) -> Option<&'static str> {
    let program = command.words.first().map(|word| base_name(&word.text)).unwrap_or_default();
    let words = command.words.iter().skip(1).map(|word| word.text.as_str()).map(|text| {
        // `--command=SQL` and `-cSQL`.
        match (text.strip_prefix("--"), text.strip_prefix('-')) {
            (Some(long), _) => long.split_once('=').map_or("", |(_, value)| value),
            (None, Some(short)) => short.get(1..).unwrap_or_default(),
            (None, None) => text,
        }
    });
    words.chain(command.stdin.iter().map(|stdin| stdin.text.as_str())).find_map(|text| says(text, program))
}
