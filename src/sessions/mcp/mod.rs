//! Merges the MCP servers of the baseline and of repositories. Each merge starts from the baseline, so that the servers
//! of a removed repository disappear.

pub mod definition;
pub mod tier;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::machine::client::repositories::folders;
use definition::{DefinitionError, ServersError, in_file, isolated, missing_program, servers};
use opsctl_policy::model::installation::repository_server::RepositoryServer;
use opsctl_policy::model::rights::policy::TierPolicy;

/// The file in a repository that lists its servers.
const IN_REPOSITORY: &str = ".claude-ops/mcp.json";

/// MCP servers that are left out, and the remedy.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum LeftOut {
    #[error(
        "the repositories in {} cannot be listed ({error}); check its rights, or name another folder with CLAUDEOPS_REPOS_DIR",
        folder.display()
    )]
    Repositories { folder: PathBuf, error: io::Error },
    #[error("the MCP servers in {} are left out: {error}; correct the file", file.display())]
    File { file: PathBuf, error: ServersError },
    #[error(
        "the MCP server `{server}` of the repository `{repository}` is left out: hosts.yaml does not list it; add it to \
         `repositories.{repository}.servers` if it may run"
    )]
    NotListed { repository: String, server: String },
    #[error(
        "the MCP server `{server}` of the repository `{repository}` is left out: {by} has a server of this name; rename one of them"
    )]
    NameTaken { repository: String, server: String, by: String },
    #[error(
        "the MCP server `{server}` of {of} is left out: its program `{program}` is not installed; install it in the image, or \
         remove the server"
    )]
    NoProgram { server: String, of: String, program: String },
    #[error("the MCP server `{server}` of the repository `{repository}` is left out: {error}")]
    Definition { repository: String, server: String, error: DefinitionError },
    #[error(
        "the MCP server `{server}` is left out of every session: no tier names it; add `mcp__{server}` or its tools to `policy.tiers.N.tools`"
    )]
    NoTier { server: String },
}

/// The merged servers.
#[derive(Debug, Default)]
pub struct Merged {
    servers: Map<String, Value>,
    /// The origin of each server, by name.
    origins: Vec<(String, String)>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
}

/// What determines which servers are merged.
#[derive(Debug)]
pub struct Order<'a> {
    /// The file with the baseline servers.
    pub baseline: &'a Path,
    /// The folder of the repositories.
    pub repos: &'a Path,
    /// The servers of repositories that may run.
    pub listed: &'a [RepositoryServer],
    /// The tiers, whose tools name the servers that their sessions get.
    pub tiers: &'a [TierPolicy],
    /// The path of this program, through which the servers of repositories start.
    pub opsctl: &'a str,
}

impl Merged {
    /// Adds a server, unless there is one of this name.
    fn add(&mut self, source: &str, name: String, server: Value) -> Result<(), String> {
        if let Some((_, first)) = self.origins.iter().find(|(known, _)| *known == name) {
            return Err(first.clone());
        }
        self.servers.insert(name.clone(), server);
        self.origins.push((name, source.to_owned()));
        Ok(())
    }

    /// Adds the servers of a repository that `hosts.yaml` lists.
    fn add_repository(&mut self, repository: &str, servers: Map<String, Value>, order: &Order<'_>) {
        for (server, definition) in servers {
            let (repository, name) = (repository.to_owned(), server.clone());
            let listed =
                order.listed.iter().find(|listed| listed.repository == repository && listed.server == server);
            let Some(listed) = listed else {
                self.left_out.push(LeftOut::NotListed { repository, server });
                continue;
            };
            let of = format!("the repository `{repository}`");
            if let Some(program) = missing_program(&definition) {
                self.left_out.push(LeftOut::NoProgram { server, of, program });
                continue;
            }
            let left_out = match isolated(&definition, &listed.env, order.opsctl) {
                Ok(definition) => match self.add(&of, name, definition) {
                    Ok(()) => continue,
                    Err(by) => LeftOut::NameTaken { repository, server, by },
                },
                Err(error) => LeftOut::Definition { repository, server, error },
            };
            self.left_out.push(left_out);
        }
    }

    /// Whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The origin of each server, one line each.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        self.origins.iter().map(|(server, source)| format!("{server}: from {source}"))
    }

    /// The content of the file for sessions.
    pub fn to_json(&self) -> String {
        in_file(&self.servers)
    }
}

/// Merges the baseline and the listed servers of the repositories, ordered by name. The first server of a name is used,
/// that of the baseline before all others. A file with an error is left out as a whole.
pub fn merge(order: &Order<'_>) -> Merged {
    let mut merged = Merged::default();
    match servers(order.baseline) {
        Ok(found) => {
            for (name, server) in found.unwrap_or_default() {
                match missing_program(&server) {
                    Some(program) => {
                        let of = "the baseline".to_owned();
                        merged.left_out.push(LeftOut::NoProgram { server: name, of, program });
                    }
                    // A map has one server of a name.
                    None => drop(merged.add("the baseline", name, server)),
                }
            }
        }
        Err(error) => merged.left_out.push(LeftOut::File { file: order.baseline.to_owned(), error }),
    }
    let folders = match folders(order.repos) {
        Ok(folders) => folders,
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
        Err(error) => {
            merged.left_out.push(LeftOut::Repositories { folder: order.repos.to_owned(), error });
            vec![]
        }
    };
    for (repository, folder) in folders {
        let file = folder.join(IN_REPOSITORY);
        match servers(&file) {
            Ok(found) => merged.add_repository(&repository, found.unwrap_or_default(), order),
            Err(error) => merged.left_out.push(LeftOut::File { file, error }),
        }
    }
    let is_used = |server: &str| order.tiers.iter().any(|tier| tier::names(&tier.tools, server));
    let unused = merged.servers.keys().filter(|server| !is_used(server));
    let unused: Vec<LeftOut> = unused.map(|server| LeftOut::NoTier { server: server.clone() }).collect();
    merged.left_out.extend(unused);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::rights::policy::Tier;
    use serde_json::json;

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

    fn merged(folder: &tempfile::TempDir, listed: &[(&str, &str)], tools: &[&str]) -> Merged {
        let listed: Vec<RepositoryServer> = listed
            .iter()
            .map(|(repository, server)| RepositoryServer {
                repository: (*repository).to_owned(),
                server: (*server).to_owned(),
                env: vec![],
            })
            .collect();
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let tiers = [TierPolicy { tools, ..TierPolicy::default_of(Tier::Observe) }];
        merge(&Order {
            baseline: &folder.path().join("mcp.json"),
            repos: &folder.path().join("repos"),
            listed: &listed,
            tiers: &tiers,
            opsctl: "/bin/opsctl",
        })
    }

    fn left_out(merged: &Merged) -> Vec<String> {
        merged.left_out.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_baseline_wins_over_repositories_and_an_earlier_repository_over_a_later_one() {
        let folder = folder_of(&[
            ("mcp.json", r#"{"mcpServers": {"a": {"command": "sh"}}}"#),
            ("repos/two/.claude-ops/mcp.json", r#"{"mcpServers": {"c": {"url": "http://two"}}}"#),
            (
                "repos/one/.claude-ops/mcp.json",
                r#"{"mcpServers": {"a": {"command": "cat"}, "c": {"url": "http://one"}}}"#,
            ),
            ("repos/without/README", ""),
        ]);
        let merged = merged(&folder, &[("one", "a"), ("one", "c"), ("two", "c")], &["mcp__a", "mcp__c"]);
        let expected = json!({"mcpServers": {"a": {"command": "sh"}, "c": {"url": "http://one"}}});
        assert_eq!(serde_json::from_str::<Value>(&merged.to_json()).unwrap(), expected);
        assert_eq!(
            merged.origins().collect::<Vec<_>>(),
            ["a: from the baseline", "c: from the repository `one`"]
        );
        assert_eq!(
            left_out(&merged),
            [
                "the MCP server `a` of the repository `one` is left out: the baseline has a server of this name; rename one of them",
                "the MCP server `c` of the repository `two` is left out: the repository `one` has a server of this name; rename one of them"
            ]
        );
    }

    #[test]
    fn a_server_that_hosts_yaml_or_no_tier_names_is_left_out_with_the_remedy() {
        let folder = folder_of(&[
            ("mcp.json", r#"{"mcpServers": {"unused": {"command": "sh"}}}"#),
            ("repos/media/.claude-ops/mcp.json", r#"{"mcpServers": {"lab": {"command": "sh"}}}"#),
        ]);
        let merged = merged(&folder, &[("other", "lab")], &["Bash", "mcp__lab"]);
        assert_eq!(
            left_out(&merged),
            [
                "the MCP server `lab` of the repository `media` is left out: hosts.yaml does not list it; add it to `repositories.media.servers` if it may run",
                "the MCP server `unused` is left out of every session: no tier names it; add `mcp__unused` or its tools to `policy.tiers.N.tools`"
            ]
        );
        assert!(!merged.to_json().contains("lab"), "{merged:?}");
    }

    #[test]
    fn a_file_with_an_error_is_reported_and_left_out() {
        let good = r#"{"mcpServers": {"z": {"command": "sh"}}}"#;
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
        let merged = merged(&folder, &[("z", "z")], &["mcp__z__look"]);
        assert_eq!(merged.origins().collect::<Vec<_>>(), ["z: from the repository `z`"]);
        let words = [
            "line 1, column 3",
            "no object",
            "neither `command`",
            "not a valid server name",
            "a symbolic link",
        ];
        let left_out = left_out(&merged);
        assert_eq!(left_out.len(), words.len(), "{left_out:?}");
        for (left_out, words) in left_out.iter().zip(words) {
            assert!(left_out.contains(words), "{left_out}");
        }
    }

    #[test]
    fn a_server_whose_program_is_not_installed_is_left_out_by_name() {
        let folder = folder_of(&[
            (
                "mcp.json",
                r#"{"mcpServers": {
                    "found": {"command": "sh"}, "remote": {"url": "http://lab"}, "absolute": {"command": "/bin/sh"},
                    "expanded": {"command": "${PROGRAM}"}, "web": {"command": "no-such-npx", "args": ["-y", "web"]},
                    "own": {"command": "tool", "env": {"PATH": "FOLDER/bin"}}, "gone": {"command": "/no/such/uvx"}}}"#,
            ),
            ("repos/media/.claude-ops/mcp.json", r#"{"mcpServers": {"lab": {"command": "no-such-uvx"}}}"#),
            ("bin/tool", ""),
        ]);
        let baseline = folder.path().join("mcp.json");
        let text = std::fs::read_to_string(&baseline).unwrap();
        std::fs::write(&baseline, text.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path().join("bin/tool"), executable).unwrap();
        let names = ["found", "remote", "absolute", "expanded", "web", "own", "gone", "lab"];
        let tools = names.map(|name| format!("mcp__{name}"));
        let merged = merged(&folder, &[("media", "lab")], &tools.each_ref().map(String::as_str));
        let kept: Vec<&str> = merged.servers.keys().map(String::as_str).collect();
        assert_eq!(kept, ["found", "remote", "absolute", "expanded", "own"]);
        let reasons = [
            ("web", "the baseline", "no-such-npx"),
            ("gone", "the baseline", "/no/such/uvx"),
            ("lab", "the repository `media`", "no-such-uvx"),
        ];
        let reason = |(server, of, program)| {
            format!(
                "the MCP server `{server}` of {of} is left out: its program `{program}` is not installed; install it in the image, or remove the server"
            )
        };
        assert_eq!(left_out(&merged), reasons.map(reason));
    }

    #[test]
    fn merging_no_files_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let merged = merged(&folder, &[], &[]);
        assert!(merged.is_empty() && merged.left_out.is_empty(), "{merged:?}");
    }
}
