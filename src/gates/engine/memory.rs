//! What the gate keeps of requests for those that follow from them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::container::Container;

/// How long a request may follow from another one.
const KEPT: Duration = Duration::from_mins(10);

/// The most entries of a kind.
const MOST: usize = 1024;

/// Entries that are kept for a while.
#[derive(Debug)]
pub struct Recent<T>(Mutex<VecDeque<(String, T, Instant)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Recent<T> {
    /// Keeps an entry. An older one of this key goes.
    pub fn put(&self, key: String, entry: T) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(known, _, since)| *known != key && since.elapsed() < KEPT);
        if entries.len() >= MOST {
            entries.pop_front();
        }
        entries.push_back((key, entry, Instant::now()));
    }

    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<T> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().find(|(known, _, since)| known == key && since.elapsed() < KEPT);
        found.map(|(_, entry, _)| entry.clone())
    }

    /// Takes the entry of a key: it is used once.
    pub fn take(&self, key: &str) -> Option<T> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = entries.iter().position(|(known, _, since)| known == key && since.elapsed() < KEPT)?;
        entries.remove(at).map(|(_, entry, _)| entry)
    }
}

/// What the gate keeps.
#[derive(Debug, Default)]
pub struct Memory {
    /// The commands that may be run in containers, by their ID: whether they read their standard input.
    pub execs: Recent<bool>,
    /// The containers that were created, by ID.
    pub created: Recent<Created>,
    /// The containers that were removed, by name.
    pub removed: Recent<Container>,
    /// Starts that belong to a stop which a hook has counted, by peer and service.
    pub stopped: Recent<()>,
}

/// A container that was created through the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The name that it may get, for a recreation.
    pub name: Option<String>,
    /// Whether its first start was judged with it.
    pub may_start: bool,
    /// Whether what it reads was judged with it.
    pub may_attach: bool,
    /// The names and addresses that it may get in networks.
    pub may_be: Endpoints,
}

/// The names and addresses that a container may get in networks.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoints {
    /// None.
    None,
    /// Those of the container that it replaces, of which this is the engine's description.
    Of(Arc<Value>),
    /// Any: it is a redeployment.
    Any,
}
