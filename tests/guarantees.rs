//! `docs/guarantees.md` names tests that exist, and every guarantee that is rehearsed.
#![cfg(test)]

use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_test_that_proves_a_guarantee_exists() {
    let document = read("docs/guarantees.md");
    let named: Vec<(&str, &str)> = document.split('`').filter_map(|word| word.split_once(".rs::")).collect();
    assert!(named.len() > 30, "{named:?}");
    for (file, test) in named {
        let source = read(&format!("{file}.rs"));
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "{file}.rs has no test {test}");
    }
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
    let scenes = read("src/rehearse/scenes.rs") + &read("src/rehearse/rendered.rs");
    let rehearsed: Vec<&str> =
        scenes.split("guarantee: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(rehearsed.len() >= 8, "{rehearsed:?}");
    for guarantee in rehearsed {
        assert!(document.contains(&format!("*{guarantee}*")), "{guarantee}");
    }
}
