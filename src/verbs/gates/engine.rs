//! `opsctl gate engine`: the gate before the API of a container engine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tokio::sync::watch;

use crate::gates::engine::{Gate, Listen, Settings};
use crate::guard::process::until_signal;
use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};
use opsctl_ledger::Pool;

/// Judge requests to the API of a container engine, Docker or Podman
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate engine --listen unix:/gate/docker.sock --engine unix:/var/run/docker.sock
  opsctl gate engine --listen tcp:0.0.0.0:2376 --certificate gate.pem --key gate.key --clients ca.pem --user 1000 --engine unix:/var/run/docker.sock

The agent uses it with DOCKER_HOST=unix:/gate/docker.sock, and cannot reach the socket of the engine. `opsctl serve` has a
gate of its own, with --engine-gate and --engine.")]
pub struct EngineArgs {
    /// Where it listens: `unix:PATH`, or `tcp:ADDRESS` for clients with certificates
    #[arg(long, value_name = "ADDR", value_parser = place)]
    listen: Place,
    /// The Unix socket of the engine: `unix:PATH`
    #[arg(long, value_name = "ADDR", value_parser = socket)]
    engine: PathBuf,
    /// The certificate of the gate, in PEM
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The certificates of the authorities that sign those of clients, in PEM
    #[arg(long, value_name = "FILE")]
    clients: Option<PathBuf>,
    /// The id of the user whose sessions clients with certificates belong to
    #[arg(long, value_name = "UID")]
    user: Option<u32>,
    /// Hide containers that hosts.yaml does not list
    #[arg(long)]
    only_listed: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

fn place(text: &str) -> Result<Place, String> {
    match text.strip_prefix("tcp:") {
        Some(address) => address
            .parse()
            .map(Place::Tcp)
            .map_err(|_| "state an address and a port: tcp:0.0.0.0:2376".to_owned()),
        None => socket(text).map(Place::Unix),
    }
}

fn socket(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path));
    path.filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .ok_or_else(|| "state an absolute path: unix:/var/run/docker.sock".to_owned())
}

/// The facts of the verb.
pub const FACTS: Facts = Facts::operator("gate engine").writes(&["--listen"]).with_state().with_keys();

/// Runs the verb.
pub fn run(args: &EngineArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let mut ledger = environment.ledger.clone();
    ledger.pool = Some(Pool::default());
    environment.create_own_state_dir()?;
    let environment = Arc::new(Environment { ledger, guard: None, ..environment });
    let settings = Settings {
        listen: listen(args)?,
        engine: args.engine.clone(),
        user: args.user,
        only_listed: args.only_listed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let signalled = until_signal()?;
        let gate = Gate::open(environment, settings).await?;
        print("engine gate: ready\n");
        let (end, stop) = watch::channel(false);
        let served = gate.serve(stop);
        let mut served = std::pin::pin!(served);
        tokio::select! {
            result = served.as_mut() => return result,
            () = signalled => {}
        }
        let _ = end.send(true);
        served.await
    })?;
    Ok(OK)
}

fn listen(args: &EngineArgs) -> Result<Listen, Failure> {
    let address = match &args.listen {
        Place::Unix(path) => return Ok(Listen::Unix(path.clone())),
        Place::Tcp(address) => *address,
    };
    let (Some(certificate), Some(key), Some(clients), Some(_)) =
        (&args.certificate, &args.key, &args.clients, args.user)
    else {
        let text = "--listen tcp:… needs --certificate, --key, --clients and --user";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, text).into());
    };
    Ok(Listen::Tls { address, files: [certificate.clone(), key.clone(), clients.clone()] })
}
