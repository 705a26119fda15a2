//! The installation to examine.

use std::path::PathBuf;

use super::hooks::Survey;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use opsctl_inventory::compiled::Compiled;

/// The installation to examine.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// The policy in use.
    pub policy: &'a Compiled,
    /// Problems with the environment and the source of the policy.
    pub warnings: &'a [Warning],
    /// The client's program, if it was found.
    pub client: Option<PathBuf>,
    /// The path of this program.
    pub opsctl: PathBuf,
    /// The hooks of all sources.
    pub hooks: &'a Survey,
    /// Skips slow checks: hosts, services, other programs, the whole ledger.
    pub quick: bool,
}
