//! SQLite's write-ahead log, which every hook reads completely.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, passes};

/// What a hook may find, in bytes: what is cut off, and one change more.
const MOST: u64 = 600 * 1024;

fn restart(sandbox: &Sandbox, services: std::ops::Range<usize>) {
    for n in services {
        passes(&sandbox.before(&format!("t{n}"), &format!("docker restart service-{n}")));
    }
}

fn length(sandbox: &Sandbox) -> u64 {
    std::fs::metadata(sandbox.path("claudeops.db-wal")).unwrap().len()
}

#[test]
fn the_log_does_not_grow_with_the_number_of_hooks() {
    let sandbox = Sandbox::new();
    for tenth in 0..10 {
        restart(&sandbox, tenth * 20..tenth * 20 + 20);
        assert!(length(&sandbox) < MOST, "{} bytes after {} hooks", length(&sandbox), tenth * 20 + 20);
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions"), "200");
    assert_eq!(sandbox.sql("PRAGMA integrity_check"), "ok");
}

#[test]
fn a_long_reader_blocks_no_hook_and_the_log_is_truncated_after_it() {
    let sandbox = Sandbox::new();
    restart(&sandbox, 0..1);
    let mut reader = Command::new("sqlite3")
        .arg(sandbox.path("claudeops.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = reader.stdin.take().unwrap();
    questions.write_all(b"BEGIN; SELECT count(*) FROM hook_actions;\n").unwrap();
    let mut answer = String::new();
    BufReader::new(reader.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "1\n");

    restart(&sandbox, 1..60);
    assert!(length(&sandbox) > MOST, "the reader did not keep the log");

    drop(questions);
    reader.wait().unwrap();
    restart(&sandbox, 60..61);
    assert!(length(&sandbox) < MOST, "{} bytes", length(&sandbox));
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions"), "61");
}
