//! The version of what the desk shows, and the reachability of hosts as last checked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use opsctl_probe::hosts::PingedHost;
use opsctl_probe::icmp::Reachability;

/// How often hosts are checked while a page is open.
const HOSTS: Duration = Duration::from_mins(1);

/// The maximum number of open event streams.
const MOST: usize = 64;

/// The reachability of hosts.
#[derive(Debug, Default)]
struct Reached {
    /// When the last check began.
    begun: Option<Instant>,
    /// The result of the last check that is complete.
    found: Option<Vec<PingedHost>>,
}

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
        let host = hosts.found.as_ref()?.iter().find(|found| found.name == name && found.address == address);
        Some(host.map_or(Reachability::Unknown, |found| found.reachability))
    }

    /// Begins a check of the hosts if one is due. Returns whether it is.
    pub fn begin_hosts(&self) -> bool {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = hosts.begun.is_none_or(|at| at.elapsed() >= HOSTS);
        if is_due {
            hosts.begun = Some(Instant::now());
        }
        is_due
    }

    /// Ends a check of the hosts.
    pub fn set_hosts(&self, found: Vec<PingedHost>) {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).found = Some(found);
        self.version.send_modify(|version| *version += 1);
    }
}
