//! `opsctl gate kubernetes`: the gate before the API of a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use rustix::process::getuid;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::gates::kubernetes::{Kubeconfig, agents_kubeconfig, run as serve};
use crate::guard::process::until_signal;
use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};

/// Judge requests to the API of a cluster, for kubectl and helm
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate kubernetes --listen 10.0.0.2:8443 --kubeconfig /guard/kubeconfig --user 1000
  opsctl gate kubernetes --listen 10.0.0.2:8443 --print-kubeconfig > agent.kubeconfig

The gate has the kubeconfig with the credentials. The agent's kubectl reaches it with plain HTTP and without credentials: listen
on a network that only the agent's container is in.")]
pub struct KubernetesArgs {
    /// The address on which it listens
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
    /// The kubeconfig of the guard, with a token or a client certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "print_kubeconfig")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; default: its current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The user id of the agent, whose running sessions determine the tier; default: the user of this process
    #[arg(long, value_name = "UID")]
    user: Option<u32>,
    /// Print the kubeconfig of the agent, which has no credentials
    #[arg(long)]
    print_kubeconfig: bool,
}

/// The facts of the verb.
pub const FACTS: Facts = Facts::operator("gate kubernetes");

/// Runs the verb.
pub fn run(args: &KubernetesArgs) -> Result<u8, Failure> {
    let Some(file) = args.kubeconfig.as_ref().filter(|_| !args.print_kubeconfig) else {
        print(&agents_kubeconfig(&args.listen.to_string()));
        return Ok(OK);
    };
    let config = Kubeconfig::load(file, args.context.as_deref())?;
    let user = args.user.unwrap_or_else(|| getuid().as_raw());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let signalled = until_signal()?;
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            Failure::new(format!("--listen {} cannot be used ({error}); choose another address", args.listen))
        })?;
        print(&format!("listening on {}\n", listener.local_addr()?));
        let (end, stop) = watch::channel(false);
        tokio::spawn(async move {
            signalled.await;
            let _ = end.send(true);
        });
        serve(listener, config, user, Environment::of_process(), stop).await?;
        Ok(OK)
    })
}
