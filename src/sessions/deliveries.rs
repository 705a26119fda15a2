//! Delivers the notices that the hooks of a session pass on, because the client starts without the targets.

use std::io;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixDatagram;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::machine::environment::Environment;
use crate::machine::notify::apprise::Target;
use crate::machine::notify::deliver_apart;
use crate::machine::notify::session_socket::{LONGEST, Request, open};

/// The shortest time between two deliveries: the agent, too, can write to the socket.
const PAUSE: Duration = Duration::from_millis(50);
/// The maximum number of requests that are delivered after the client has ended.
const MOST_AFTERWARDS: usize = 16;

/// The deliveries of a running session.
pub struct Deliveries {
    /// The name of the socket.
    pub socket: String,
    requests: Arc<UnixDatagram>,
    environment: Environment,
    task: JoinHandle<()>,
}

impl Deliveries {
    /// Delivers what hooks pass on from now on; `None` without a target.
    pub fn begin(session: &str, environment: &Environment) -> io::Result<Option<Self>> {
        if Target::of(environment).is_none() {
            return Ok(None);
        }
        let (name, socket) = open(session)?;
        let requests = Arc::new(UnixDatagram::from_std(socket)?);
        let task = tokio::spawn(deliver_all(Arc::clone(&requests), environment.clone()));
        Ok(Some(Self { socket: name, requests, environment: environment.clone(), task }))
    }

    /// Delivers what arrived before the client ended.
    pub fn end(self) {
        self.task.abort();
        let mut buffer = vec![0; LONGEST];
        for _ in 0..MOST_AFTERWARDS {
            let Ok(length) = self.requests.try_recv(&mut buffer) else { return };
            deliver(&self.environment, buffer.get(..length).unwrap_or_default());
        }
    }
}

async fn deliver_all(requests: Arc<UnixDatagram>, environment: Environment) {
    let mut buffer = vec![0; LONGEST];
    let mut started: Vec<Child> = Vec::new();
    while let Ok(length) = requests.recv(&mut buffer).await {
        started.extend(deliver(&environment, buffer.get(..length).unwrap_or_default()));
        // Collects those that have ended.
        started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        sleep(PAUSE).await;
    }
}

/// Starts the delivery of a request. If that fails, a recorded notice waits for the next flush.
fn deliver(environment: &Environment, message: &[u8]) -> Option<Child> {
    deliver_apart(environment, &Request::read(message)?).ok()
}
