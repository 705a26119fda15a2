//! Hooks and verbs of the agent's side, through a Unix socket.
//!
//! `listener` binds the socket, `peers` decides who may connect, `connection` reads a request within its limits, `event`,
//! `record` and `verb` serve it. Work on the ledger runs on threads for blocking work, a few at a time.

mod connection;
pub mod event;
mod listener;
pub mod peers;
mod rates;
mod record;
mod repeats;
mod stated;
pub mod veil;
mod verb;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connections::{Stop, stopped};
use crate::machine::environment::Environment;
use connection::Limits;
pub use listener::bind;
use peers::Peers;

/// The most connections at once. Others wait until one ends.
const MOST_CONNECTIONS: usize = 512;

/// How long requests may take to end when the guard is to end.
const LAST_REQUESTS: Duration = Duration::from_secs(8);

/// The pause after a failed accept, such as without free file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until the process ends. Requests that have arrived are finished.
pub async fn serve(environment: Arc<Environment>, listener: UnixListener, stop: Stop) -> io::Result<()> {
    let file = listener::File::of(&listener);
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let shared = Arc::new((environment, Peers::of_process(), Limits::default()));
    let mut connections = JoinSet::new();
    let mut end = std::pin::pin!(stopped(stop.clone()));
    loop {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let (shared, stop) = (Arc::clone(&shared), stop.clone());
        connections.spawn(async move {
            let (own, peers, limits) = &*shared;
            // A connection that breaks needs no answer: the caller asks again.
            let _ = connection::serve(own, peers, limits, (stream, stop)).await;
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    file.remove();
    let _ = timeout(LAST_REQUESTS, async { while connections.join_next().await.is_some() {} }).await;
    shared.2.broker.end().await;
    Ok(())
}
