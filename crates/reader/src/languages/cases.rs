//! The rows of `tests/languages/`: code and other texts, and what is expected of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::sql::{self, Functions};
use super::{awk, flux, mongo, node, perl, plain_words, python, redis, sed};
use crate::catalogue::program::Language;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Cases {
    /// Code that is proved to read.
    reads: Vec<String>,
    /// Code that is not.
    unproved: Vec<String>,
    /// Code that is proved to read where the commands that it starts do, and code that is not.
    starts: Vec<String>,
    starts_unproved: Vec<String>,
    /// Code that changes nothing but files and folders of scratch, and code that may change others.
    tidies: Vec<String>,
    tidies_not: Vec<String>,
    /// Code that reads but for a file that it writes, by the file.
    writes: BTreeMap<String, Vec<String>>,
    /// Statements by what they destroy; an empty text for nothing.
    destroys: BTreeMap<String, Vec<String>>,
    /// Statements by how they change accounts; an empty text for not at all.
    changes_accounts: BTreeMap<String, Vec<String>>,
}

/// What is in a file of `tests/languages/`.
pub(crate) fn rows<T: DeserializeOwned>(name: &str) -> T {
    let file = format!("{}/../../tests/languages/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Checks a table of a file: results, each with the texts that lead to it.
pub(crate) fn check_rows(file: &str, table: &str, result: impl Fn(&str) -> String) {
    let mut tables: BTreeMap<String, BTreeMap<String, Vec<String>>> = rows(file);
    for (expected, texts) in tables.remove(table).unwrap() {
        for text in texts {
            assert_eq!(result(&text), expected, "{table}: {text}");
        }
    }
}

/// Checks a prover, which returns the files that code writes, and `None` for code that may do more.
fn check(language: &str, written: impl Fn(&str) -> Option<Vec<String>>) {
    let cases = rows::<Cases>(language);
    let reads = cases.reads.iter().map(|code| (code, Some(vec![])));
    let unproved = cases.unproved.iter().map(|code| (code, None));
    let writes = cases
        .writes
        .iter()
        .flat_map(|(file, codes)| codes.iter().map(move |code| (code, Some(vec![file.clone()]))));
    let wrong: Vec<String> = reads
        .chain(unproved)
        .chain(writes)
        .filter(|(code, expected)| written(code) != *expected)
        .map(|(code, expected)| format!("{code}\n    {:?}, not {expected:?}", written(code)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks what statements destroy, and how they change accounts.
fn check_statements(
    destroys: impl Fn(&str, &str) -> Option<&'static str>,
    changes_accounts: impl Fn(&str, &str) -> Option<&'static str>,
) {
    let cases = rows::<Cases>("sql");
    let each = |rows: BTreeMap<String, Vec<String>>, found: &dyn Fn(&str, &str) -> Option<&'static str>| {
        for (expected, codes) in rows {
            for code in codes {
                // `mysql: SELECT 1` is a text for this client.
                let (client, text) =
                    code.split_once("mysql: ").map_or(("psql", &*code), |(_, sql)| ("mysql", sql));
                assert_eq!(found(text, client).unwrap_or_default(), expected, "{code}");
            }
        }
    };
    each(cases.destroys, &destroys);
    each(cases.changes_accounts, &changes_accounts);
}

/// Whether code is proved to read.
type Prover = fn(&str) -> bool;

/// A prover that is also given whether the commands that the code starts are determined.
type ProverOfStarts = fn(&str, bool) -> bool;

#[test]
fn only_code_that_is_proved_to_read_reads() {
    check("awk", |program| awk::written(program, false));
    check("sed", sed::written);
    check("sql", |text| sql::reading(text, Functions::Listed));
    let provers: [(&str, Prover); 9] = [
        ("flux", flux::only_reads),
        ("mongo", mongo::only_reads),
        ("lua", |code| plain_words::is_harmless(code, Language::Lua, false)),
        ("node", |code| node::is_harmless(code, false, &|_| true)),
        ("perl", |code| perl::is_harmless(code, false)),
        ("python", |code| python::is_harmless(code, false, &|_| true)),
        ("php", |code| plain_words::is_harmless(code, Language::Php, false)),
        ("redis", redis::line_reads),
        ("ruby", |code| plain_words::is_harmless(code, Language::Ruby, false)),
    ];
    for (language, reads) in provers {
        check(language, |code| reads(code).then(Vec::new));
    }
}

#[test]
fn only_commands_that_stand_literally_in_code_are_proved() {
    let provers: [(&str, ProverOfStarts); 5] = [
        ("perl", perl::is_harmless),
        ("php", |code, starts| plain_words::is_harmless(code, Language::Php, starts)),
        ("ruby", |code, starts| plain_words::is_harmless(code, Language::Ruby, starts)),
        ("python", |code, starts| python::is_harmless(code, starts, &|_| true)),
        ("node", |code, starts| node::is_harmless(code, starts, &|_| true)),
    ];
    for (language, reads) in provers {
        let Cases { starts, starts_unproved, .. } = rows(language);
        assert!(!starts.is_empty() && !starts_unproved.is_empty(), "{language}");
        let all = starts.iter().map(|code| (code, true));
        let all = all.chain(starts_unproved.iter().map(|code| (code, false)));
        let wrong: Vec<&String> =
            all.filter(|(code, expected)| reads(code, true) != *expected).map(|(code, _)| code).collect();
        assert!(wrong.is_empty(), "{language}: {wrong:#?}");
        assert!(starts.iter().all(|code| !reads(code, false)), "{language}");
    }
}

#[test]
fn distinguishes_statements_that_destroy_or_change_accounts_from_queries() {
    check_statements(sql::destroys, sql::changes_accounts);
}

#[test]
fn code_that_tidies_scratch_changes_nothing_else() {
    let Cases { tidies, tidies_not, .. } = rows("python");
    let all = tidies.iter().map(|code| (code, true)).chain(tidies_not.iter().map(|code| (code, false)));
    for (code, expected) in all {
        assert_eq!(python::only_tidies_scratch(code, &|_| true), expected, "{code}");
    }
}
