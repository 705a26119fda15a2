//! The version of what the desk shows, and the reachability of hosts as last checked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use crate::probe::icmp::Reachability;

/// How often hosts are checked while a page is open.
const HOSTS: Duration = Duration::from_mins(1);

/// The maximum number of open event streams.
const MOST: usize = 64;

/// The reachability of hosts by name and address, as last checked.
type Reached = Option<(Instant, Vec<(String, String, Reachability)>)>;

/// The version of what the desk shows.
#[derive(Debug)]
pub struct Live {
    /// Differs between starts of the process.
    start: String,
    /// The number of changes since the start.
    pub version: watch::Sender<u64>,
    /// The free places for event streams.
    pub places: Arc<Semaphore>,
    hosts: Mutex<Reached>,
}

impl Live {
    /// The version of a process that starts now.
    pub fn new() -> Self {
        Self {
            start: uuid::Uuid::new_v4().simple().to_string(),
            version: watch::Sender::new(0),
            places: Arc::new(Semaphore::new(MOST)),
            hosts: Mutex::default(),
        }
    }

    /// The version, as pages and events state it.
    pub fn version(&self) -> String {
        self.named(*self.version.borrow())
    }

    /// A version, as pages and events state it.
    pub fn named(&self, version: u64) -> String {
        format!("{}-{version}", self.start)
    }

    /// The reachability of a host as last checked; `None` before the first check.
    pub fn reachability(&self, name: &str, address: &str) -> Option<Reachability> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = hosts.as_ref()?;
        let host = found.iter().find(|(of, at, _)| of == name && at == address);
        Some(host.map_or(Reachability::Unknown, |(_, _, reachability)| *reachability))
    }

    /// Whether the hosts have to be checked again.
    pub fn hosts_are_due(&self) -> bool {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.as_ref().is_none_or(|(at, _)| at.elapsed() >= HOSTS)
    }

    /// Keeps the reachability of all hosts: name, address, reachability.
    pub fn set_hosts(&self, found: Vec<(String, String, Reachability)>) {
        *self.hosts.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), found));
    }
}
