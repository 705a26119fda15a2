//! The gate before the API of a container engine: Docker, and Podman with both of its interfaces.
//!
//! Each request is stated as the command that does the same: `requests.yaml` lists all that are known. Others are refused.

mod archive;
mod calls;
mod container;
mod creation;
mod equal;
pub mod judge;
mod memory;
mod own;
mod registry;
mod stated;
mod table;
mod veil;
mod volumes;
mod words;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

use super::proxy::upstream::Upstream;
use super::proxy::{self, Listener, tls};
use crate::guard::process::socket;
use crate::machine::environment::Environment;
use judge::Engine;

/// What a gate before an engine needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where it listens.
    pub listen: Listen,
    /// The Unix socket of the engine.
    pub engine: PathBuf,
    /// The user of the agent's side whose sessions clients with certificates belong to.
    pub user: Option<u32>,
    /// Whether only containers that hosts.yaml lists exist for clients.
    pub only_listed: bool,
}

/// Where a gate listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// On this Unix socket.
    Unix(PathBuf),
    /// At this address, for clients with certificates.
    Tls {
        /// The address.
        address: SocketAddr,
        /// The certificate of the gate, its key, and the authorities of clients: files in PEM.
        files: [PathBuf; 3],
    },
}

/// A gate that listens.
pub struct Gate {
    listener: Listener,
    engine: Engine,
    upstream: Arc<Upstream>,
}

impl Gate {
    /// Listens. Errors state the setting that is wrong.
    pub async fn open(environment: Arc<Environment>, settings: Settings) -> io::Result<Self> {
        let listener = match &settings.listen {
            Listen::Unix(path) => Listener::Unix(socket::bind(path)?),
            Listen::Tls { address, files: [certificate, key, clients] } => {
                let acceptor = tls::acceptor(certificate, key, clients)?;
                let listener = TcpListener::bind(address).await.map_err(|error| {
                    let text = format!("{address} cannot be used ({error}); choose another address");
                    io::Error::new(error.kind(), text)
                })?;
                Listener::Tls(listener, acceptor)
            }
        };
        let upstream = Upstream::unix(settings.engine.clone());
        let engine = Engine::new(environment, Arc::clone(&upstream), None).map_err(io::Error::other)?;
        let engine = engine.limited(settings.user, settings.only_listed);
        Ok(Self { listener, engine, upstream })
    }

    /// Serves until `stop` changes.
    pub async fn serve(self, stop: watch::Receiver<bool>) -> io::Result<()> {
        proxy::serve(self.listener, self.engine, self.upstream, stop).await
    }
}
