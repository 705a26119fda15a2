//! Merges the MCP servers of the baseline and of repositories. Each merge starts from the baseline, so that the servers
//! of a removed repository disappear.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::plain_file::{self, Content};

/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The file in a repository that lists its servers.
const IN_REPOSITORY: &str = ".claude-ops/mcp.json";

/// Why the servers of a file are left out. No text quotes the file, which may hold secrets.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum ServersError {
    #[error("{0} bytes are more than 1 MiB")]
    TooLarge(u64),
    #[error("the file cannot be read ({0})")]
    Unreadable(io::Error),
    #[error("invalid JSON at line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("no object `mcpServers`")]
    NoServers,
    #[error("`{}` is not a valid server name", .0.escape_debug())]
    Name(String),
    #[error("server `{0}` has neither `command` nor `url`")]
    Neither(String),
}

/// A file or folder whose MCP servers are left out.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum LeftOut {
    #[error(
        "the repositories in {} cannot be listed ({error}); check its rights, or name another folder with CLAUDEOPS_REPOS_DIR",
        folder.display()
    )]
    Repositories { folder: PathBuf, error: io::Error },
    #[error("the MCP servers in {} are left out: {error}", file.display())]
    File { file: PathBuf, error: ServersError },
}

/// The merged servers.
#[derive(Debug, Default)]
pub struct Merged {
    servers: Map<String, Value>,
    /// The origin of each server, one line each.
    pub origins: Vec<String>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
}

impl Merged {
    /// Adds the servers of one source. A server replaces an earlier one with its name.
    fn add(&mut self, source: &str, servers: Map<String, Value>) {
        for (name, server) in servers {
            let replaced = self.servers.insert(name.clone(), server).is_some();
            let how = if replaced { "replaced by" } else { "from" };
            self.origins.push(format!("{name}: {how} {source}"));
        }
    }

    /// Whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The content of the file for the client.
    pub fn to_json(&self) -> String {
        format!("{:#}\n", json!({"mcpServers": self.servers}))
    }
}

/// Merges the baseline and the repositories in `repos`, ordered by name. Later repositories override earlier ones, and
/// all override the baseline. A file with an error is left out as a whole.
pub fn merge(baseline: &Path, repos: &Path) -> Merged {
    let mut merged = Merged::default();
    let mut sources = vec![("the baseline".to_owned(), baseline.to_owned())];
    match folders(repos) {
        Ok(folders) => {
            sources.extend(folders.into_iter().map(|(name, folder)| (name, folder.join(IN_REPOSITORY))));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => merged.left_out.push(LeftOut::Repositories { folder: repos.to_owned(), error }),
    }
    for (name, file) in sources {
        match servers(&file) {
            Ok(Some(servers)) => merged.add(&name, servers),
            Ok(None) => {}
            Err(error) => merged.left_out.push(LeftOut::File { file, error }),
        }
    }
    merged
}

fn folders(repos: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut folders: Vec<(String, PathBuf)> = std::fs::read_dir(repos)?
        .filter_map(Result::ok)
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    folders.sort();
    Ok(folders)
}

/// The servers in a file; `None` if it does not exist.
fn servers(file: &Path) -> Result<Option<Map<String, Value>>, ServersError> {
    let text = match plain_file::read_no_link(file, MAX_BYTES) {
        Ok(Content::Bytes(text)) => text,
        Ok(Content::TooLarge(bytes)) => return Err(ServersError::TooLarge(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(ServersError::Unreadable(error)),
    };
    let mut whole: Value = serde_json::from_slice(&text)
        .map_err(|error| ServersError::NotJson { line: error.line(), column: error.column() })?;
    let Some(Value::Object(servers)) = whole.get_mut("mcpServers").map(Value::take) else {
        return Err(ServersError::NoServers);
    };
    for (name, server) in &servers {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(ServersError::Name(name.clone()));
        }
        let text = |key: &str| server.get(key).is_some_and(Value::is_string);
        if !text("command") && !text("url") {
            return Err(ServersError::Neither(name.clone()));
        }
    }
    Ok(Some(servers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a baseline and repositories.
    fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn merged(folder: &tempfile::TempDir) -> Merged {
        merge(&folder.path().join("mcp.json"), &folder.path().join("repos"))
    }

    #[test]
    fn later_repositories_override_earlier_ones_and_the_baseline() {
        let folder = folder_of(&[
            ("mcp.json", r#"{"mcpServers": {"a": {"command": "base"}, "b": {"command": "base"}}}"#),
            ("repos/two/.claude-ops/mcp.json", r#"{"mcpServers": {"c": {"url": "http://two"}}}"#),
            (
                "repos/one/.claude-ops/mcp.json",
                r#"{"mcpServers": {"b": {"command": "one"}, "c": {"command": "one"}}}"#,
            ),
            ("repos/without/README", ""),
        ]);
        let merged = merged(&folder);
        let expected = json!({"mcpServers": {
            "a": {"command": "base"}, "b": {"command": "one"}, "c": {"url": "http://two"}}});
        assert_eq!(serde_json::from_str::<Value>(&merged.to_json()).unwrap(), expected);
        assert_eq!(
            merged.origins,
            [
                "a: from the baseline",
                "b: from the baseline",
                "b: replaced by one",
                "c: from one",
                "c: replaced by two"
            ]
        );
        assert!(merged.left_out.is_empty());
    }

    #[test]
    fn a_file_with_an_error_is_reported_and_left_out() {
        let good = r#"{"mcpServers": {"z": {"command": "x"}}}"#;
        let folder = folder_of(&[
            ("mcp.json", "{ half"),
            ("repos/a/.claude-ops/mcp.json", "[]"),
            ("repos/b/.claude-ops/mcp.json", r#"{"mcpServers": {"x": {}}}"#),
            ("repos/c/.claude-ops/mcp.json", r#"{"mcpServers": {"x y": {"command": "x"}}}"#),
            ("repos/z/.claude-ops/mcp.json", good),
            ("elsewhere.json", good),
        ]);
        std::fs::create_dir_all(folder.path().join("repos/d/.claude-ops")).unwrap();
        std::os::unix::fs::symlink(
            folder.path().join("elsewhere.json"),
            folder.path().join("repos/d/.claude-ops/mcp.json"),
        )
        .unwrap();
        let merged = merged(&folder);
        assert_eq!(merged.origins, ["z: from z"]);
        let words = [
            "line 1, column 3",
            "no object",
            "neither `command`",
            "not a valid server name",
            "a symbolic link",
        ];
        assert_eq!(merged.left_out.len(), words.len(), "{:?}", merged.left_out);
        for (left_out, words) in merged.left_out.iter().zip(words) {
            assert!(left_out.to_string().contains(words), "{left_out}");
        }
    }

    #[test]
    fn merging_no_files_is_empty() {
        let merged = merge(Path::new("/no/such/mcp.json"), Path::new("/no/such/repos"));
        assert!(merged.is_empty() && merged.left_out.is_empty(), "{merged:?}");
    }
}
