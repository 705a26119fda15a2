//! `opsctl demo`.

use clap::Args;

/// Show a whole incident on a temporary state folder
#[derive(Debug, Args)]
pub struct DemoArgs {}

/// Runs it.
pub fn run(_: &DemoArgs) -> u8 {
    0
}
