//! Why a source cannot be imported.

use std::io;
use std::path::PathBuf;

use opsctl_inventory::error::HostsError;

/// Why a source gives nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// This file or folder cannot be read.
    #[error("{} cannot be read ({}); check its name and rights", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// A file is not YAML.
    #[error(transparent)]
    Syntax(HostsError),
    /// A compose file without services.
    #[error("{} has no `services`; put its services below that key, or remove the file", .0.display())]
    NoServices(PathBuf),
    /// A file or folder describes no host and no service.
    #[error(
        "no host and no service in {}; name a file or folder with compose files, inventories, quadlets or manifests", .0.display()
    )]
    Nothing(PathBuf),
    /// For a source as the operator named it, a program cannot be started, fails, or gives an answer that cannot be read; its
    /// reason.
    #[error("{0}: {1} failed: {2}; try it by hand")]
    Command(String, String, String),
    /// A list that is compiled in is invalid.
    #[error("a list that is built into opsctl cannot be read ({0}); report it")]
    BuiltIn(String),
}
