//! The installation that is examined.

use std::path::PathBuf;

use super::hooks::Survey;
use crate::inventory::compiled::Compiled;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;

/// What is examined.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The variables.
    pub environment: &'a Environment,
    /// The policy in force.
    pub policy: &'a Compiled,
    /// Problems with the variables and with the source of the policy.
    pub warnings: &'a [Warning],
    /// The client's program, if there is one.
    pub client: Option<PathBuf>,
    /// This program.
    pub opsctl: PathBuf,
    /// The hooks of every source.
    pub hooks: &'a Survey,
    /// Leave out whatever takes longer than a moment: hosts, services, other programs, the whole ledger.
    pub quick: bool,
}
