//! MCP servers of repositories.

use crate::spanned::Spanned;

use super::values::check_name;
use crate::error::{Checked, Mistake, Mistakes};
use crate::yaml::forms::{Entries, entries};
use crate::yaml::repositories::RepositoryWire;
use crate::yaml::values::texts;
use opsctl_policy::model::installation::repository_server::RepositoryServer;

/// Checks the listed servers, in the order of the file. Whether the repositories define them is checked when they are
/// merged.
pub fn check(wire: Option<Entries<RepositoryWire>>, found: &mut Mistakes) -> Vec<RepositoryServer> {
    let mut listed = Vec::new();
    for (repository, wire) in entries(wire) {
        let repository = found.keep(check_name(repository)).unwrap_or_default();
        for (server, wire) in wire.servers.0 {
            listed.push(RepositoryServer {
                repository: repository.clone(),
                server: found.keep(check_server(server)).unwrap_or_default(),
                env: texts(wire.unwrap_or_default().env),
            });
        }
    }
    listed
}

/// The name of a server, which is part of the names of its tools.
fn check_server(name: Spanned<String>) -> Checked<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_server = !name.value.is_empty() && name.value.chars().all(is_plain);
    let remedy = "use letters, digits, `_` and `-`";
    Mistake::unless(is_server, &name, "is not the name of an MCP server", remedy)?;
    Ok(name.value)
}
