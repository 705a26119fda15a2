//! Checks every code block of the README, of CONTRIBUTING and of `docs/`.
//!
//! One shell runs all commands of a document in reading order, in a fresh folder, with only the variables that the document
//! itself sets. `opsctl` is the program itself; stand-ins (`tests/fixtures/stand-ins`) replace programs that build an
//! image, reach another machine or call a model, and check their arguments.
//!
//! - `sh`: commands, which must succeed.
//! - `console`: the lines after `$ ` are commands, whose output must be the lines below.
//! - `yaml`: `hosts.yaml` or a part of it, which must render. A block that begins with a comment such as `# lab.yaml`
//!   is a file of this name for all commands of the document.
//! - `text`: output of a program or a file, without commands: no line begins with the name of a program.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands of a document.
struct Example {
    position: String,
    commands: String,
    /// What the document says that they print; `None` if they must only succeed.
    printed: Option<String>,
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
fn every_command_does_what_the_document_says() {
    let (mut count, mut wrong) = (0, String::new());
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let clone = clone(folder.path());
        for yaml in fenced(&text, "yaml") {
            let name = yaml.lines().next().and_then(|line| line.strip_prefix("# "));
            if let Some(name) =
                name.filter(|name| name.strip_suffix(".yaml").is_some_and(|stem| !stem.contains(' ')))
            {
                std::fs::write(clone.join(name), yaml).unwrap();
            }
        }
        let examples = examples(&document, &text);
        let installed = !text.contains("cargo install");
        let outputs = run(&script(&examples), &clone, installed);
        for (at, example) in examples.iter().enumerate() {
            let Example { position, commands, printed } = example;
            let output = outputs.get(at).map_or("not reached", String::as_str);
            let as_said = printed.as_ref().is_none_or(|printed| masked(output) == masked(printed));
            if outputs.len() <= at + 1 || !as_said {
                wrong += &format!("{position}: {commands}{output}\n");
                break;
            }
        }
        count += examples.len();
    }
    assert_eq!(wrong, "", "(the first difference of each document)");
    assert!(count >= 40, "only {count} examples were found");
}

/// What separates the outputs of examples.
const SEPARATOR: &str = "\u{1e}";

/// A script that runs all examples; a failure of commands without an expected output ends it.
fn script(examples: &[Example]) -> String {
    let mut script = String::from("exec 2>&1\n");
    for Example { commands, printed, .. } in examples {
        let on_error = if printed.is_some() { "set +e" } else { "set -eo pipefail" };
        script += &format!("{on_error}\n{commands}printf '\\036'\n");
    }
    script
}

/// A folder like a fresh clone, with those files that the documents' commands use, and a downloaded release.
fn clone(folder: &Path) -> PathBuf {
    let clone = folder.join("opsctl");
    std::fs::create_dir_all(clone.join("release")).unwrap();
    for file in ["hosts.yaml", "Dockerfile", "release/image-sbom"] {
        std::fs::copy(root().join(file), clone.join(file)).unwrap();
    }
    download_release(&clone);
    for own in ["tests/run", ".ci/quick", ".ci/run", "release/build", "release/images"] {
        assert!(root().join(own).is_file(), "{own}");
        let stand_in = clone.join(own);
        std::fs::create_dir_all(stand_in.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/bin/true", stand_in).unwrap();
    }
    clone
}

/// The files of the release for this platform, as `release/build` names them; the program is empty.
fn download_release(folder: &Path) {
    let name = concat!("opsctl-", env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-gnu");
    let pack = format!(
        "mkdir -p {name}/man && touch {name}/opsctl {name}/man/opsctl.1 {name}.cdx.json \
         && tar czf {name}.tar.gz {name} && rm -r {name} && sha256sum {name}.tar.gz {name}.cdx.json >{name}.sha256"
    );
    let packed = Command::new("sh").args(["-c", &pack]).current_dir(folder).status().unwrap();
    assert!(packed.success());
}

#[test]
fn every_piece_of_yaml_renders() {
    let mut count = 0;
    for document in documents() {
        for yaml in fenced(&std::fs::read_to_string(&document).unwrap(), "yaml") {
            let folder = tempfile::tempdir().unwrap();
            let hosts = if yaml.contains("host:") {
                "hosts: {ie01: {address: 192.0.2.1}, pie01: {address: 192.0.2.2}}\n"
            } else {
                ""
            };
            let clone = clone(folder.path());
            std::fs::write(clone.join("hosts.yaml"), format!("{hosts}{yaml}")).unwrap();
            let printed =
                run("exec 2>&1; opsctl render --tier none --empty --out rendered > /dev/null", &clone, true);
            let printed: Vec<&str> = printed.iter().flat_map(|text| text.lines()).collect();
            let is_notice =
                |line: &&str| line.starts_with("opsctl: a mod of the client can silence the hooks in ");
            assert!(printed.iter().all(is_notice), "{printed:?}, {}:\n{yaml}", document.display());
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
            assert!(
                inside || ["console", "sh", "yaml", "text"].contains(&line),
                "{}: {line}",
                document.display()
            );
            inside = !inside;
        }
        for line in fenced(&text, "text").iter().flat_map(|shown| shown.lines()) {
            let first = line.split(' ').next().unwrap();
            let is_command = first == "$" || line.starts_with(char::is_alphabetic) && is_program(first);
            assert!(!is_command, "{}: a command in a block of text: {line}", document.display());
        }
    }
}

/// Whether a shell could run a command that begins with this word.
fn is_program(word: &str) -> bool {
    let folders = std::env::var("PATH").unwrap();
    let stand_ins = root().join("tests/fixtures/stand-ins");
    let installed = std::env::split_paths(&folders).any(|folder| folder.join(word).is_file());
    installed
        || stand_ins.join(word).exists()
        || root().join(word).is_file()
        || ["cd", "export", "opsctl"].contains(&word)
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

fn examples(document: &Path, text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut kind = None;
    for (number, line) in text.lines().enumerate() {
        let position = format!("{}:{}", document.display(), number + 1);
        match (kind, line.strip_prefix("```")) {
            (Some(_), Some(_)) => kind = None,
            (None, Some("sh")) => {
                kind = Some("sh");
                examples.push(Example { position, commands: String::new(), printed: None });
            }
            (None, Some(begun)) => kind = Some(begun),
            (Some("sh"), None) => examples.last_mut().unwrap().commands += &format!("{line}\n"),
            (Some("console"), None) => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example {
                    position,
                    commands: format!("{command}\n"),
                    printed: Some(String::new()),
                }),
                (None, Some(Example { printed: Some(printed), .. })) => *printed += &format!("{line}\n"),
                (None, _) => panic!("{position}: output before any command"),
            },
            _ => {}
        }
    }
    examples
}

/// The output of each example, and the rest. Runs in a separate network with loopback only, so that an example that checks
/// hosts cannot reach real ones. Without `installed`, a document has to install opsctl itself.
fn run(script: &str, folder: &Path, installed: bool) -> Vec<String> {
    let home = folder.parent().unwrap();
    let programs = home.join(".cargo/bin");
    std::fs::create_dir_all(&programs).unwrap();
    if installed {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_opsctl"), programs.join("opsctl")).unwrap();
    }
    let stand_ins = root().join("tests/fixtures/stand-ins");
    let path = format!("{}:{}:{}", stand_ins.display(), programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "bash", "-c"])
        .arg(format!("ip link set lo up; {script}"))
        .current_dir(folder)
        .env_clear()
        .envs([("PATH", path), ("HOME", home.display().to_string())])
        .envs([("ROOT", root().display().to_string()), ("OPSCTL", env!("CARGO_BIN_EXE_opsctl").to_owned())])
        .output()
        .expect("unshare is missing: run tests/setup");
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    text.split(SEPARATOR).map(str::to_owned).collect()
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
