//! What the listeners of the guard share.

use tokio::sync::watch;

use crate::machine::environment::Environment;

/// What all listeners share.
#[derive(Debug)]
pub struct Guard {
    /// The guard's own environment.
    pub environment: Environment,
}

/// Becomes true when the process is to end.
pub type Stop = watch::Receiver<bool>;

/// Waits until the process is to end.
pub async fn stopped(mut stop: Stop) {
    // An error means that the sender is gone: the process ends.
    let _ = stop.wait_for(|stopped| *stopped).await;
}
