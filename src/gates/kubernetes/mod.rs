//! The gate before the API of a cluster: the guard has the kubeconfig, and the agent's `kubectl` and `helm` reach the cluster
//! through it only.

mod body;
mod command;
mod judge;
mod kubeconfig;
mod pods;
mod protobuf;
mod releases;
mod resource;
mod secrets;
mod server;

use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::gates::proxy::{Listener, serve};
use crate::machine::environment::Environment;
use judge::Kubernetes;
pub use kubeconfig::{ConfigError, Kubeconfig};
use releases::Releases;

/// Serves the gate on a port until `stop` becomes true: the cluster of a kubeconfig, for the sessions of a user.
pub async fn run(
    listener: TcpListener,
    config: Kubeconfig,
    user: u32,
    environment: Environment,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let Kubeconfig { upstream, token } = config;
    let judge = Kubernetes {
        environment,
        user,
        token,
        upstream: Arc::clone(&upstream),
        releases: Releases::default(),
    };
    serve(Listener::Plain(listener), judge, upstream, stop).await
}

/// The kubeconfig of the agent: the address of the gate, and no credentials.
pub fn agents_kubeconfig(address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: gate\nclusters:\n- name: gate\n  cluster: {{server: \"http://{address}\"}}\n\
         contexts:\n- name: gate\n  context: {{cluster: gate, user: agent}}\nusers:\n- name: agent\n  user: {{}}\n"
    )
}
