//! Checks every code block of the README, of CONTRIBUTING and of `docs/`.
//!
//! - `console`: the test runs the lines after `$ ` unchanged, and compares their output with the lines below.
//! - indented: commands, which the test runs unchanged and in order, with `opsctl` itself and stand-ins
//!   (`tests/fixtures/stand-ins`) for programs that build an image, reach another machine or call a model. A stand-in
//!   checks its arguments.
//! - `yaml`: `hosts.yaml` or a part of it, which must render. A block that begins with a comment such as `# lab.yaml`
//!   is a file of this name for all commands of the document.
//! - `text`: output of a program, without commands.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A command and what the document says it prints.
struct Example {
    position: String,
    command: String,
    printed: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|doc| doc.unwrap().path());
    let mut documents: Vec<PathBuf> = docs.filter(|path| path.extension() == Some("md".as_ref())).collect();
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    assert!(documents.len() > 10, "{documents:?}");
    documents
}

#[test]
fn every_example_prints_what_the_document_says() {
    let mut count = 0;
    for document in documents() {
        let folder = folder();
        for yaml in fenced(&std::fs::read_to_string(&document).unwrap(), "yaml") {
            let name = yaml.lines().next().and_then(|line| line.strip_prefix("# "));
            if let Some(name) =
                name.filter(|name| name.strip_suffix(".yaml").is_some_and(|stem| !stem.contains(' ')))
            {
                std::fs::write(folder.path().join(name), yaml).unwrap();
            }
        }
        for example in examples(&document) {
            let printed = run(&example.command, folder.path());
            assert_eq!(
                masked(&printed),
                masked(&example.printed),
                "{}: {}",
                example.position,
                example.command
            );
            count += 1;
        }
    }
    assert!(count >= 20, "only {count} examples were found");
}

#[test]
fn every_indented_command_runs() {
    let stand_ins = root().join("tests/fixtures/stand-ins");
    let mut count = 0;
    for document in documents() {
        let commands = indented(&std::fs::read_to_string(&document).unwrap());
        count += commands.lines().count();
        let folder = tempfile::tempdir().unwrap();
        let sources = folder.path().join("opsctl");
        std::fs::create_dir(&sources).unwrap();
        for file in ["hosts.yaml", "Dockerfile"] {
            std::fs::copy(root().join(file), sources.join(file)).unwrap();
        }
        for own in ["tests/run", ".ci/quick", ".ci/run"] {
            assert!(root().join(own).is_file(), "{own}");
            let stand_in = sources.join(own);
            std::fs::create_dir_all(stand_in.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("/bin/true", stand_in).unwrap();
        }
        std::fs::write(sources.join("commands"), format!("{commands}\necho all ran\n")).unwrap();
        let (stand_ins, root) = (stand_ins.display(), root().display());
        let script = format!("PATH={stand_ins}:$PATH ROOT={root} HERE=$PWD bash -eo pipefail commands");
        let printed = run(&script, &sources);
        assert!(printed.contains("all ran\n"), "{}: {printed}\n{commands}", document.display());
    }
    assert!(count >= 20, "only {count} commands were found");
}

#[test]
fn every_piece_of_yaml_renders() {
    let mut count = 0;
    for document in documents() {
        for yaml in fenced(&std::fs::read_to_string(&document).unwrap(), "yaml") {
            let folder = folder();
            let hosts = if yaml.contains("host:") {
                "hosts: {ie01: {address: 192.0.2.1}, pie01: {address: 192.0.2.2}}\n"
            } else {
                ""
            };
            std::fs::write(folder.path().join("hosts.yaml"), format!("{hosts}{yaml}")).unwrap();
            let printed = run("opsctl render --out rendered > /dev/null", folder.path());
            assert_eq!(printed, "", "{}:\n{yaml}", document.display());
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} pieces were found");
}

#[test]
fn there_are_no_other_blocks() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let mut inside = false;
        for line in text.lines().filter_map(|line| line.strip_prefix("```")) {
            assert!(inside == line.is_empty(), "{}: {line}", document.display());
            assert!(inside || ["console", "yaml", "text"].contains(&line), "{}: {line}", document.display());
            inside = !inside;
        }
        for shown in fenced(&text, "text") {
            assert!(!shown.lines().any(|line| line.starts_with("$ ")), "{}: {shown}", document.display());
        }
    }
}

/// A folder that contains the inventory of the repository.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(root().join("hosts.yaml"), folder.path().join("hosts.yaml")).unwrap();
    folder
}

/// The contents of the blocks of this kind.
fn fenced(text: &str, kind: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut of_kind = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), of_kind) {
            (Some(_), Some(_)) => of_kind = None,
            (Some(begun), None) => {
                of_kind = Some(begun == kind);
                found.extend((begun == kind).then(String::new));
            }
            (None, Some(true)) => *found.last_mut().unwrap() += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    found
}

/// The lines of blocks that are indented by four, outside of fences. A section begins where the document began, unless it
/// is a numbered step.
fn indented(text: &str) -> String {
    let mut commands = String::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let step = |title: &str| title.starts_with(|c: char| c.is_ascii_digit());
        if !fenced && line.strip_prefix("## ").is_some_and(|title| !step(title)) {
            commands += "cd \"$HERE\"\n";
        }
        if let (false, Some(command)) = (fenced, line.strip_prefix("    ")) {
            commands += &format!("{command}\n");
        }
    }
    commands
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
                    position: format!("{}:{}", document.display(), number + 1),
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

/// Runs in a separate network with loopback only, so that an example that checks hosts cannot reach real ones.
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
