//! Why a source cannot be imported.

use std::io;
use std::path::PathBuf;

use opsctl_inventory::error::HostsError;

/// Why a source gives nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or folder cannot be read.
    #[error("{} cannot be read ({error}); check its name and rights", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// A file is not YAML.
    #[error(transparent)]
    Syntax(HostsError),
    /// A compose file without services.
    #[error("{} has no `services`; put its services below that key, or remove the file", .0.display())]
    NoServices(PathBuf),
    /// A file or folder describes no host and no service.
    #[error(
        "no compose file, Ansible inventory or playbook in {}; name a file, or a folder that contains some", .0.display()
    )]
    Nothing(PathBuf),
    /// A program cannot be started, fails, or gives an answer that cannot be read.
    #[error("{source_name}: {program} failed: {why}; try it by hand")]
    Command {
        /// The source as the operator named it.
        source_name: String,
        /// The program.
        program: String,
        /// Its reason.
        why: String,
    },
    /// A list that is compiled in is invalid.
    #[error("a list that is built into opsctl cannot be read ({0}); report it")]
    BuiltIn(String),
}
