//! Hooks and verbs of the agent's side, through a Unix socket.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::UnixListener;

use super::{Guard, Stop, stopped};

/// Binds the socket.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    UnixListener::bind(path)
}

/// Serves connections until the process ends.
pub async fn serve(_guard: Arc<Guard>, _listener: UnixListener, stop: Stop) -> io::Result<()> {
    stopped(stop).await;
    Ok(())
}
