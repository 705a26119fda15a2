//! `opsctl serve`: the guard as a process of its own, which owns the ledger, the notification targets and the keys.
//!
//! One listener for each kind of peer: [`socket`] for hooks and verbs, [`desk`] for people, [`api`] for the client's
//! requests to the model.

pub mod api;
pub mod desk;
mod guard;
pub mod socket;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::runtime::environment::Environment;
pub use guard::{Guard, Stop, stopped};

/// Where the guard listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listeners {
    /// The Unix socket of hooks and verbs.
    pub socket: Option<PathBuf>,
    /// The address of the desk.
    pub desk: Option<SocketAddr>,
    /// The address to which the client sends its requests to the model.
    pub api: Option<SocketAddr>,
}

/// Serves all listeners until a signal ends the process.
pub async fn run(environment: Environment, listeners: Listeners, tell: &dyn Fn(&str)) -> io::Result<()> {
    let guard = Arc::new(Guard { environment });
    let (end, stop) = watch::channel(false);
    let mut tasks = tokio::task::JoinSet::new();
    if let Some(path) = listeners.socket {
        let listener = socket::bind(&path)?;
        tell(&format!("hooks: {}", path.display()));
        tasks.spawn(socket::serve(Arc::clone(&guard), listener, stop.clone()));
    }
    if let Some(address) = listeners.desk {
        let desk = desk::prepare(&guard, address, tell)?;
        let listener = tokio::net::TcpListener::bind(address).await?;
        tell(&format!("desk: http://{}", listener.local_addr()?));
        tasks.spawn(desk::serve(desk, listener, stop.clone()));
    }
    if let Some(address) = listeners.api {
        let listener = tokio::net::TcpListener::bind(address).await?;
        tell(&format!("API: http://{}", listener.local_addr()?));
        tasks.spawn(api::serve(Arc::clone(&guard), listener, stop.clone()));
    }
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let ended = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        ended = tasks.join_next() => ended,
    };
    let _ = end.send(true);
    while tasks.join_next().await.is_some() {}
    match ended {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(io::Error::other(error)),
        None => Ok(()),
    }
}
