//! The requests under way, with a limit for all and one for each peer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::guard::process::places::{Place, Places};

/// The maximum number of requests under way: the most that can exceed a spending limit.
pub const MOST: usize = 32;

/// The maximum number of requests under way of one peer.
pub const MOST_OF_PEER: usize = 24;

/// How long a request waits until others have ended.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause until a peer that has used up its places is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// The requests under way.
#[derive(Debug)]
pub struct UnderWay {
    all: Arc<Semaphore>,
    of_peers: Places,
}

/// The place of a request, which is given back when this is dropped.
#[derive(Debug)]
pub struct Permit {
    _own: Place,
    _all: OwnedSemaphorePermit,
}

impl UnderWay {
    /// None yet.
    pub fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST)), of_peers: Places::new(MOST_OF_PEER) }
    }

    /// A place for a request of this peer; `None` if there was none for a minute.
    pub async fn take(&self, peer: IpAddr) -> Option<Permit> {
        let taken = async {
            loop {
                if let Some(own) = self.of_peers.take(peer) {
                    let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
                    return Some(Permit { _own: own, _all: all });
                }
                sleep(PAUSE).await;
            }
        };
        timeout(PATIENCE, taken).await.ok().flatten()
    }
}
