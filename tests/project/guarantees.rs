//! `docs/guarantees.md` and `tests/conformance/README.md` name tests that exist, every guarantee that is rehearsed, and every
//! requirement.

use std::path::{Path, PathBuf};

fn path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(file: &str) -> String {
    let path = path(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tests that a document names, as `path::name`, and that do not exist.
fn missing_tests(document: &str) -> Vec<String> {
    let named: Vec<(&str, &str)> = document.split('`').filter_map(|word| word.split_once(".rs::")).collect();
    assert!(named.len() > 30, "{named:?}");
    let exists = |(file, test): &(&str, &str)| {
        std::fs::read_to_string(path(&format!("{file}.rs")))
            .is_ok_and(|source| source.contains(&format!("#[test]\nfn {test}()")))
    };
    let missing = named.iter().filter(|named| !exists(named));
    missing.map(|(file, test)| format!("{file}.rs::{test}")).collect()
}

#[test]
fn every_named_test_exists() {
    for document in ["docs/guarantees.md", "tests/conformance/README.md"] {
        assert_eq!(missing_tests(&read(document)), [""; 0], "{document}");
    }
}

/// The rows of `tests/conformance/README.md`: number, requirement and proof.
fn requirements(document: &str) -> Vec<[&str; 3]> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| {
        let mut cells = row.splitn(3, " | ");
        [(); 3].map(|()| cells.next().unwrap_or_default())
    });
    cells.filter(|[number, ..]| *number != "no.").collect()
}

#[test]
fn every_requirement_has_a_row() {
    let (document, table) = (read("tests/conformance/README.md"), read("tests/conformance/requirements.txt"));
    let listed: Vec<&str> = table.lines().filter_map(|line| line.split(' ').next()).collect();
    let of = |letter: &str| listed.iter().filter(|number| number.starts_with(letter)).count();
    let expected: Vec<String> = ["G-", "O-", "C-"]
        .into_iter()
        .flat_map(|letter| (1..=of(letter)).map(move |number| format!("{letter}{number}")))
        .collect();
    assert_eq!(listed, expected, "the numbers of the table are consecutive");
    let numbers: Vec<&str> = requirements(&document).iter().map(|[number, ..]| *number).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn every_row_of_a_requirement_states_it_and_its_proof() {
    let document = read("tests/conformance/README.md");
    let incomplete: Vec<&str> = requirements(&document)
        .iter()
        .filter(|[_, requirement, proof]| {
            let stated = requirement.starts_with("WHEN ") && requirement.contains(" THEN ");
            !stated || !(proof.contains(".rs::") || proof.contains("`tests/image/run`"))
        })
        .map(|[number, ..]| *number)
        .collect();
    assert_eq!(incomplete, [""; 0]);
}

#[test]
fn every_guarantee_has_a_proof() {
    let document = read("docs/guarantees.md");
    let is_row = |line: &&str| {
        line.starts_with("| ") && !line.starts_with("| guarantee") && !line.starts_with("| threat")
    };
    let rows = document.lines().filter(is_row);
    let without: Vec<&str> = rows.filter(|row| !row.contains(".rs::")).collect();
    assert_eq!(without, [""; 0]);
}

#[test]
fn every_guarantee_that_is_rehearsed_is_listed() {
    let document = read("docs/guarantees.md");
    let scenes = read("src/setup/rehearse/scenes.rs");
    let (_, scenes) = scenes.split_once("pub const SCENES").unwrap();
    let (scenes, _) = scenes.split_once("\n];").unwrap();
    // The guarantees are the only texts of the list.
    let rehearsed: Vec<&str> = scenes.split('"').skip(1).step_by(2).collect();
    assert!(rehearsed.len() >= 12, "{rehearsed:?}");
    for guarantee in rehearsed {
        assert!(document.contains(&format!("*{guarantee}*")), "{guarantee}");
    }
}
