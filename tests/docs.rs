//! Every `console` block of the README and of `docs/` is run as it stands: the lines after `$ ` are
//! commands, the lines below each are what it prints.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A command and what the document says it prints.
struct Example {
    place: String,
    command: String,
    printed: String,
}

#[test]
fn every_example_prints_what_the_document_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md")];
    if let Ok(docs) = std::fs::read_dir(root.join("docs")) {
        documents.extend(
            docs.map(|doc| doc.unwrap().path()).filter(|path| path.extension() == Some("md".as_ref())),
        );
    }
    let mut count = 0;
    for document in documents {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(root.join("hosts.yaml"), folder.path().join("hosts.yaml")).unwrap();
        for example in examples(&document) {
            let printed = run(&example.command, folder.path());
            assert_eq!(masked(&printed), masked(&example.printed), "{}: {}", example.place, example.command);
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} examples were found");
}

fn examples(document: &PathBuf) -> Vec<Example> {
    let text = std::fs::read_to_string(document).unwrap();
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        match (inside, line) {
            (_, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example {
                    place: format!("{}:{}", document.display(), number + 1),
                    command: command.to_owned(),
                    printed: String::new(),
                }),
                (None, Some(example)) => example.printed += &format!("{line}\n"),
                (None, None) => panic!("{}: output before any command", document.display()),
            },
            (false, _) => {}
        }
    }
    examples
}

/// In a network of its own with loopback up: an example that looks at hosts must not reach real ones.
fn run(command: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_opsctl")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-c"])
        .arg(format!("ip link set lo up; {command}"))
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("CLAUDEOPS_STATE_DIR", folder)
        .output()
        .expect("unshare is missing: run tests/setup");
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// Times and temporary folders differ from run to run.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let words: Vec<String> = line.split(' ').map(mask).collect();
        masked += &(words.join(" ") + "\n");
    }
    masked
}

fn mask(word: &str) -> String {
    let trimmed = word.trim_end_matches(['.', ';']);
    if chrono::DateTime::parse_from_rfc3339(trimmed).is_ok() {
        return word.replace(trimmed, "TIME");
    }
    if word.starts_with("/tmp/") { "FOLDER".to_owned() } else { word.to_owned() }
}
