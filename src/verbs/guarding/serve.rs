//! `opsctl serve`: runs the guard as a process of its own.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::gates::engine;
use crate::guard::process as serve;
use crate::guard::process::Listeners;
use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, complain, print};

/// Run the guard as a process of its own
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl serve --socket /guard/opsctl.sock
  opsctl serve --listen 127.0.0.1:8080 --api 0.0.0.0:8081
  opsctl serve --socket /guard/opsctl.sock --engine-gate /guard/docker.sock --engine /var/run/docker.sock

Hooks and verbs reach it with CLAUDEOPS_GUARD=unix:PATH. It ends on SIGTERM and SIGINT, with exit code 0.
With wrong settings of the API it exits with 1; as the first process of a container, it reports them once and waits for a signal.")]
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
    /// The Unix socket of a gate before a container engine
    #[arg(long, value_name = "PATH", requires = "engine")]
    engine_gate: Option<PathBuf>,
    /// The Unix socket of that engine
    #[arg(long, value_name = "PATH", requires = "engine_gate")]
    engine: Option<PathBuf>,
}

/// The id of the process that a container consists of. With wrong settings, it waits for a signal instead of exiting: the engine
/// would start it again and again.
const FIRST_PROCESS: u32 = 1;

/// The facts of the verb.
pub const FACTS: &[Facts] =
    &[Facts::operator("serve").writes(&["--socket", "--engine-gate", "--engine"]).with_state().with_keys()];

/// Runs the verb.
pub fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let engine = args.engine_gate.clone().zip(args.engine.clone());
    let engine = engine.map(|(gate, engine)| engine::Settings {
        listen: engine::Listen::Unix(gate),
        engine,
        user: None,
        only_listed: false,
    });
    let listeners = Listeners { socket: args.socket.clone(), desk: args.listen, api: args.api, engine };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve::run(Environment::of_process(), listeners, &|line| {
        print(&format!("{line}\n"));
    }));
    match served {
        Ok(()) => Ok(OK),
        Err(error) if error.kind() == ErrorKind::InvalidInput && std::process::id() == FIRST_PROCESS => {
            complain(format_args!("{error}; then create the container again"));
            runtime.block_on(async {
                serve::until_signal()?.await;
                io::Result::Ok(())
            })?;
            Ok(FAILED)
        }
        Err(error) => Err(error.into()),
    }
}
