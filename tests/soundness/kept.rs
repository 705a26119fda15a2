//! Programs that the search found, in their smallest form: `found.jsonl`, one a line.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::forms::Form;
use crate::judge::{Failure, failures};
use crate::search::judged;
use crate::world::{Input, World};

/// A program that was read as less than it ran, and how it ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub program: String,
    pub form: Form,
    pub input: Input,
    /// True where the reader does not read it right yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/found.jsonl")
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(path()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// With `UPDATE_FOUND=1`, rows that fail are marked as open, and others are not.
#[test]
fn kept_programs_are_read_as_all_that_they_run() {
    let world = World::new();
    let (mut wrong, mut right_again) = (Vec::new(), 0);
    let mut rows = rows();
    let all = rows.len();
    for row in &mut rows {
        let (_, reading, calls) = judged(&world, &row.program, row.form, &row.input).expect("it ends");
        let found = failures(&reading, &calls);
        let fails = found.iter().any(Failure::is_failure);
        if fails && !row.open {
            let ran: Vec<String> = calls.iter().map(|call| call.join(" ")).collect();
            wrong.push(format!("{found:?}: {}\n  ran: {}\n{}", row.program, ran.join("; "), reading.shown()));
        }
        right_again += usize::from(row.open && !fails);
        row.open = fails;
    }
    let open = rows.iter().filter(|row| row.open).count();
    println!("{all} kept programs, {open} open, {right_again} marked as open but right");
    if std::env::var_os("UPDATE_FOUND").is_some() {
        let lines: String = rows.iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
        fs::write(path(), lines).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n\n"));
}
