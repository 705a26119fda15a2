//! `opsctl serve`: runs the guard as a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::guard::process as serve;
use crate::guard::process::Listeners;
use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};

/// Run the guard as a process of its own
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl serve --socket /guard/opsctl.sock
  opsctl serve --listen 127.0.0.1:8080 --api 0.0.0.0:8081

Hooks and verbs reach it with CLAUDEOPS_GUARD=unix:PATH. It ends on SIGTERM and SIGINT, with exit code 0.")]
#[group(required = true, multiple = true)]
pub struct ServeArgs {
    /// The Unix socket of hooks and verbs
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The address of the desk, the page for people
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The address to which the client sends its requests to the model
    #[arg(long, value_name = "ADDR")]
    api: Option<SocketAddr>,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("serve").writes(&["--socket"]).with_state().with_keys()];

/// Runs the verb.
pub fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let listeners = Listeners { socket: args.socket.clone(), desk: args.listen, api: args.api };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve::run(
        Environment::of_process(),
        listeners,
        &|line| print(&format!("{line}\n")),
    ))?;
    Ok(OK)
}
