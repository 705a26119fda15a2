//! Every row of `tests/corpus` says what a command does; the reader must say the same.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::corpus;
use crate::corpus::Expected;
use opsctl_reader::actions::CommandReading;
use opsctl_reader::terms::action::Action;

/// Same actions, in any order: every expected one takes one found one.
fn agrees(reading: &CommandReading, expected: &[Expected]) -> bool {
    let mut by_detail: Vec<&Expected> = expected.iter().collect();
    by_detail.sort_by_key(|expected| Reverse(expected.detail()));
    let mut left: Vec<&Action> = reading.actions.iter().collect();
    for expected in by_detail {
        let Some(at) = left.iter().position(|action| expected.admits(action)) else { return false };
        left.remove(at);
    }
    left.is_empty()
}

#[test]
fn every_corpus_row_is_read_as_it_says() {
    let rows = corpus::rows();
    let mut wrong = Vec::new();
    for row in &rows {
        let reading = row.read();
        if !agrees(&reading, &row.expect) {
            let tree = reading.script.lines().join("\n    ");
            wrong.push(format!(
                "{}.jsonl:{}: {}\n  expected {:?}\n  found {:#?}\n  complaints {:?}\n  tree\n    {tree}",
                row.family, row.line, row.command, row.expect, reading.actions, reading.complaints
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} rows are read wrongly:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_corpus_has_at_least_as_many_quiet_rows_as_acting_ones_and_none_twice() {
    let rows = corpus::rows();
    let quiet = rows.iter().filter(|row| row.expect.is_empty()).count();
    assert!(rows.len() >= 500, "only {} rows", rows.len());
    assert!(quiet * 2 >= rows.len(), "only {quiet} of {} rows are quiet", rows.len());
    let mut seen = HashSet::new();
    for row in &rows {
        assert!(seen.insert((&row.command, &row.cwd, &row.files)), "twice: {}", row.command);
    }
}
