//! The pinned client: where it is, and one run of it.

use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The client that `tests/setup` installed; a test fails without it, since a guard is proven by nothing less.
pub(super) fn path() -> PathBuf {
    let package = installed().join("node_modules/@anthropic-ai/claude-code-linux-x64");
    let pinned = pinned("CLIENT_VERSION");
    let manifest = fs::read(package.join("package.json")).unwrap_or_default();
    let manifest = serde_json::from_slice::<Value>(&manifest).unwrap_or_default();
    assert!(manifest["version"] == pinned, "the pinned client {pinned} is not installed: run tests/setup");
    package.join("claude")
}

/// The real `apprise` that `tests/setup` installed.
pub(super) fn apprise() -> PathBuf {
    let (environment, pinned) = (installed().join("apprise"), pinned("APPRISE_VERSION"));
    assert!(
        environment.join(pinned).exists(),
        "the pinned apprise {pinned} is not installed: run tests/setup"
    );
    environment.join("bin/apprise")
}

fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/.client")
}

fn pinned(name: &str) -> &'static str {
    let mut lines = include_str!("../versions").lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap()
}

/// What a run of the client left.
pub(super) struct Run {
    /// `None`: it was still running at the deadline, and was killed.
    pub(super) exit_code: Option<i32>,
    /// The lines of its `stream-json` output.
    pub(super) stream: Vec<Value>,
    pub(super) stderr: String,
    pub(super) elapsed: Duration,
}

/// Starts `command` with its output going to files in `output`: a straggler that keeps a pipe open would hold us up.
pub(super) fn start(command: &mut Command, output: &Path) -> Child {
    let file = |name| File::create(output.join(name)).unwrap();
    command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
    command.spawn().unwrap()
}

/// Waits for the client while the scripted model, on the same thread, answers it.
pub(super) async fn wait(mut client: Child, output: &Path, timeout: Duration) -> Run {
    let started = Instant::now();
    let exit_code = loop {
        if let Some(status) = client.try_wait().unwrap() {
            break Some(status.code().unwrap_or(-1));
        }
        if started.elapsed() > timeout {
            client.kill().unwrap();
            client.wait().unwrap();
            break None;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let elapsed = started.elapsed();
    let read = |name| String::from_utf8_lossy(&fs::read(output.join(name)).unwrap()).into_owned();
    let stream = read("stdout").lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Run { exit_code, stream, stderr: read("stderr"), elapsed }
}
