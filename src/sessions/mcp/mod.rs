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
