//! The reader against real bash: what ran must be what was reported.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/deed.rs"]
mod deed;
#[path = "support/sandbox/mod.rs"]
mod sandbox;
#[path = "support/scripts.rs"]
mod scripts;
#[path = "support/what_ran.rs"]
mod what_ran;

use std::fmt::Write as _;
use std::path::Path;

use deed::{Deed, list};
use opsctl::actions::read_command;
use sandbox::{Case, Outcome};

const HERE: &str = "/app";
/// How many differences a failing test shows; the shortest first.
const SHOWN: usize = 1000;

struct Difference {
    text: String,
    ran: Vec<Deed>,
    told: String,
}

fn fail_on(what: &str, of: usize, mut differences: Vec<Difference>) {
    if differences.is_empty() {
        return;
    }
    differences.sort_by_key(|difference| difference.text.len());
    let mut report = format!("{what}: {} of {of}\n", differences.len());
    for Difference { text, ran, told } in differences.iter().take(SHOWN) {
        let ran = list(ran);
        write!(report, "\n{text}\n    ran:  {ran}\n    told: {told}\n").expect("writes to a string");
    }
    panic!("{report}");
}

/// The deeds that ran and that no reported deed accounts for: what a guard would have let through unseen.
///
/// A reported deed accounts for one that is equal to it; for any number of them where it repeats, where its
/// service cannot be told, or where it is forbidden altogether.
fn unreported(ran: &[Deed], reported: &[Deed]) -> Vec<Deed> {
    let mut left: Vec<&Deed> = reported.iter().collect();
    ran.iter()
        .filter(|deed| {
            let equal = left.iter().position(|told| {
                told.kind == deed.kind
                    && told.verb == deed.verb
                    && told.service == deed.service
                    && told.host == deed.host
            });
            match equal {
                Some(place) => {
                    if !left[place].repeats {
                        left.remove(place);
                    }
                    false
                }
                None => !reported.iter().any(|told| {
                    told.host == deed.host
                        && (told.kind == "forbidden"
                            || told.service.is_none() && told.kind == deed.kind && told.verb == deed.verb)
                }),
            }
        })
        .cloned()
        .collect()
}

fn deeds_of(outcome: &Outcome) -> Vec<Deed> {
    outcome.ran.iter().flat_map(what_ran::deeds).collect()
}

fn told_of(text: &str, cwd: &str) -> (Vec<Deed>, Vec<String>) {
    let reading = read_command(text, Some(Path::new(cwd)));
    (reading.actions.iter().map(Deed::of).collect(), reading.complaints)
}

/// Every row, once with lookups that succeed and once with lookups that fail.
fn corpus_cases() -> (Vec<corpus::Row>, Vec<Case>) {
    let rows: Vec<_> = corpus::rows().into_iter().flat_map(|row| [row.clone(), row]).collect();
    let cases = rows.iter().enumerate().map(|(number, row)| Case {
        text: row.command.clone(),
        cwd: row.cwd.clone(),
        lookups_exit: u8::from(number % 2 == 1),
    });
    let cases = cases.collect();
    (rows, cases)
}

#[test]
fn whatever_a_corpus_command_runs_the_corpus_and_the_reader_both_know_of() {
    let (rows, cases) = corpus_cases();
    let outcomes = sandbox::run(&cases, 1);
    let (mut corpus_misses, mut reader_misses) = (Vec::new(), Vec::new());
    let (mut acting, mut seen_to_act) = (0_u32, 0_u32);
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let ran = deeds_of(outcome);
        let expected: Vec<Deed> = row.expect.iter().map(|expected| expected_deed(expected, &ran)).collect();
        if !unreported(&ran, &expected).is_empty() {
            corpus_misses.push(Difference {
                text: row.command.clone(),
                ran: ran.clone(),
                told: list(&expected),
            });
        }
        // The stand-ins of the guard and of the client only answer: what they would loosen is not in this world, and
        // neither are the interpreters of other languages.
        if !row.expect.is_empty() && !matches!(row.family.as_str(), "guard" | "interpreters") {
            acting += 1;
            seen_to_act += u32::from(!ran.is_empty());
        }
        let (told, _) = told_of(&row.command, &row.cwd);
        if !unreported(&ran, &told).is_empty() {
            reader_misses.push(Difference { text: row.command.clone(), ran, told: list(&told) });
        }
    }
    // Bash refuses broken syntax; nearly everything else has to act.
    assert!(
        seen_to_act * 10 >= acting * 9,
        "only {seen_to_act} of {acting} acting rows acted: the world is broken"
    );
    fail_on("rows that state less than what runs", rows.len(), corpus_misses);
    fail_on("rows of which the reader reports less than what runs", rows.len(), reader_misses);
}

/// A row states a verb only where it matters; elsewhere that of the run holds.
fn expected_deed(expected: &corpus::Expected, ran: &[Deed]) -> Deed {
    let host = expected.host.value();
    let alike = ran.iter().find(|deed| deed.kind == expected.kind && deed.service == expected.service);
    let alike = alike.or_else(|| ran.iter().find(|deed| deed.kind == expected.kind));
    let verb = expected.verb.as_deref().or(alike.map(|deed| deed.verb.as_str())).unwrap_or_default();
    let deed = Deed::new(&expected.kind, verb, expected.service.as_deref(), host);
    Deed { repeats: expected.repeats.unwrap_or(false), ..deed }
}

fn cases_for(scripts: &[scripts::Script]) -> Vec<Case> {
    let case =
        |script: &scripts::Script| Case { text: script.text.clone(), cwd: HERE.to_owned(), lookups_exit: 0 };
    scripts.iter().map(case).collect()
}

#[test]
fn a_generated_script_all_of_which_runs_is_read_to_the_letter() {
    let scripts: Vec<_> = (0..2000).map(scripts::steady).collect();
    let outcomes = sandbox::run(&cases_for(&scripts), 20);
    let mut differences = Vec::new();
    for (script, outcome) in scripts.iter().zip(&outcomes) {
        let (mut ran, (told, complaints)) = (deeds_of(outcome), told_of(&script.text, HERE));
        let mut told: Vec<Deed> = told.iter().map(Deed::without_repeats).collect();
        if !script.in_order {
            ran.sort();
            told.sort();
        }
        if told != ran || !complaints.is_empty() {
            let told = format!("{} {complaints:?} (bash: {})", list(&told), outcome.complaint.trim());
            differences.push(Difference { text: script.text.clone(), ran, told });
        }
    }
    fail_on("scripts that are read otherwise than they run", scripts.len(), differences);
}

#[test]
fn whatever_a_generated_script_with_unknown_branches_runs_is_reported() {
    let scripts: Vec<_> = (0..1000).map(scripts::wild).collect();
    let outcomes = sandbox::run(&cases_for(&scripts), 3);
    let mut differences = Vec::new();
    for (script, outcome) in scripts.iter().zip(&outcomes) {
        let (ran, (told, _)) = (deeds_of(outcome), told_of(&script.text, HERE));
        if !unreported(&ran, &told).is_empty() {
            differences.push(Difference { text: script.text.clone(), ran, told: list(&told) });
        }
    }
    fail_on("scripts that do more than was reported", scripts.len(), differences);
}
