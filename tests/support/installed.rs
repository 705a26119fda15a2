//! What `tests/setup` installed, in the pinned versions.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The real client; a test fails without it, since a guard is proven by nothing less.
pub fn client() -> PathBuf {
    client_below(&installed(), pinned("CLIENT_VERSION"))
}

/// An earlier release of it, by its name in `tests/versions`.
pub fn earlier_client(name: &str) -> PathBuf {
    let pinned = pinned(name);
    client_below(&installed().join(pinned), pinned)
}

/// Codex CLI.
pub fn codex() -> PathBuf {
    let folder = installed().join("codex/node_modules/@openai");
    require(&folder.join("codex"), pinned("CODEX_VERSION"));
    folder.join("codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
}

/// Gemini CLI.
pub fn gemini() -> PathBuf {
    let package = installed().join("gemini/node_modules/@google/gemini-cli");
    require(&package, pinned("GEMINI_VERSION"));
    package.join("bundle/gemini.js")
}

fn client_below(folder: &Path, pinned: &str) -> PathBuf {
    let package = folder.join("node_modules/@anthropic-ai/claude-code-linux-x64");
    require(&package, pinned);
    package.join("claude")
}

/// Fails unless a package is installed in this version.
fn require(package: &Path, pinned: &str) {
    let manifest = fs::read(package.join("package.json")).unwrap_or_default();
    let manifest = serde_json::from_slice::<Value>(&manifest).unwrap_or_default();
    assert!(manifest["version"] == pinned, "the pinned client {pinned} is not installed: run tests/setup");
}

/// The real `apprise`.
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
