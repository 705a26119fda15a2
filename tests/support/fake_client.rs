//! A program that hooks take for the client: a process named `claude` that states a release and runs its hook.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

/// `--version` prints the name of its folder, as soon as there is no file `wait` in it; `-p PROGRAM ARGUMENT…` runs a hook, which then has this process above it.
const SOURCE: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "--version" {
        let program = std::env::current_exe().unwrap();
        let folder = program.parent().unwrap();
        if folder.join("wait").exists() {
            std::fs::write(folder.join("asked"), "").unwrap();
            while folder.join("wait").exists() {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        let folder = folder.file_name().unwrap().to_str().unwrap();
        println!("{folder} (Claude Code)");
        return;
    }
    let hook: Vec<&String> = arguments.iter().skip_while(|argument| argument.starts_with("-")).collect();
    let status = std::process::Command::new(hook[0]).args(&hook[1..]).status().unwrap();
    std::process::exit(status.code().unwrap_or(99));
}
"#;

static COMPILED: Mutex<()> = Mutex::new(());

/// The client of this release.
pub fn fake_client(version: &str) -> PathBuf {
    let _turn = COMPILED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clients-{}", std::process::id()));
    let client = folder.join(version).join("claude");
    if client.exists() {
        return client;
    }
    std::fs::create_dir_all(client.parent().unwrap()).unwrap();
    let source = folder.join("claude.rs");
    std::fs::write(&source, SOURCE).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(compiler)
        .args(["--edition", "2024", "-C", "opt-level=1", "-o"])
        .arg(&client)
        .arg(&source)
        .status()
        .unwrap();
    assert!(built.success());
    client
}

/// Runs the hook of a call below the client of this release with these arguments.
pub fn hook_of(sandbox: &Sandbox, client: &str, arguments: &[&str], input: &Value) -> Run {
    let hook = sandbox.command(&["hook", "pre-tool-use"]);
    let program = hook.get_program().to_str().unwrap();
    let words = [arguments, &[program, "hook", "pre-tool-use"]].concat();
    sandbox.in_place_of(&fake_client(client), &words, input.to_string().as_bytes())
}

/// Runs the hook of a call below a client without a terminal that can wait for a person.
pub fn hook(sandbox: &Sandbox, input: &Value) -> Run {
    hook_of(sandbox, "2.1.330", &["-p"], input)
}
