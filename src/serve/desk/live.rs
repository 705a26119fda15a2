//! Live updates: a version that changes with the ledger, and the stream of server-sent events that states it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Extension, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{Semaphore, watch};

use super::Desk;
use super::connections::Peer;
use super::problem::Problem;
use super::visitor::Visitor;
use crate::ledger::Ledger;
use crate::probe::hosts;
use crate::probe::icmp::Reachability;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::serve::Stop;

/// How often the ledger is asked whether it has changed.
const INTERVAL: Duration = Duration::from_millis(500);

/// A page is refreshed after this time even if nothing has changed, because it shows relative times.
const REFRESH: Duration = Duration::from_secs(30);

/// How often hosts are checked while a page is open, and the timeout of a check.
const HOSTS: Duration = Duration::from_mins(1);
const HOSTS_DEADLINE: Duration = Duration::from_secs(2);

/// The maximum number of open event streams.
const MOST: usize = 64;

/// Event streams end after this time, so that the login is checked again.
const LIFE: Duration = Duration::from_mins(10);

/// The reachability of hosts by name and address, as last checked.
type Reached = Option<(Instant, Vec<(String, String, Reachability)>)>;

/// The version of what the desk shows.
#[derive(Debug)]
pub struct Live {
    /// Differs between starts of the process.
    start: String,
    version: watch::Sender<u64>,
    places: Arc<Semaphore>,
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

    fn named(&self, version: u64) -> String {
        format!("{}-{version}", self.start)
    }

    /// The reachability of a host as last checked; `None` before the first check.
    pub fn reachability(&self, name: &str, address: &str) -> Option<Reachability> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = hosts.as_ref()?;
        let host = found.iter().find(|(of, at, _)| of == name && at == address);
        Some(host.map_or(Reachability::Unknown, |(_, _, reachability)| *reachability))
    }

    fn hosts_are_due(&self) -> bool {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.as_ref().is_none_or(|(at, _)| at.elapsed() >= HOSTS)
    }
}

/// Watches the ledger while pages are open, until the process ends.
pub async fn watch(desk: Arc<Desk>, stop: Stop) {
    // One thread for all looks: the version of the ledger is that of a connection, which belongs to a thread.
    let _ = tokio::task::spawn_blocking(move || watch_here(&desk, &stop)).await;
}

fn watch_here(desk: &Desk, stop: &Stop) {
    let mut watched = Watched::default();
    let mut renewed = Instant::now();
    loop {
        std::thread::sleep(INTERVAL);
        if *stop.borrow() || stop.has_changed().is_err() {
            return;
        }
        if desk.live.version.receiver_count() == 0 {
            continue;
        }
        let has_changed = watched.has_changed(desk.environment());
        let has_hosts = desk.live.hosts_are_due() && look(desk);
        if has_changed || has_hosts || renewed.elapsed() >= REFRESH {
            renewed = Instant::now();
            desk.live.version.send_modify(|version| *version += 1);
        }
    }
}

/// An open ledger with its last version.
#[derive(Debug, Default)]
struct Watched {
    ledger: Option<Ledger>,
    version: i64,
}

impl Watched {
    fn has_changed(&mut self, environment: &Environment) -> bool {
        if self.ledger.is_none() {
            self.ledger = Ledger::open_existing(&environment.db_path).ok().flatten();
            self.version =
                self.ledger.as_ref().and_then(|ledger| ledger.data_version().ok()).unwrap_or_default();
            return self.ledger.is_some();
        }
        if let Some(Ok(version)) = self.ledger.as_ref().map(Ledger::data_version) {
            return std::mem::replace(&mut self.version, version) != version;
        }
        self.ledger = None;
        true
    }
}

/// Checks all hosts. Returns whether there are any.
fn look(desk: &Desk) -> bool {
    let compiled = installation::in_force(desk.environment(), &mut vec![]);
    let (found, _) = hosts::look(&compiled.installation.inventory.hosts, HOSTS_DEADLINE);
    let found: Vec<_> = found
        .into_iter()
        .map(|found| (found.host.name.clone(), found.host.address.clone(), found.reachability))
        .collect();
    let has_hosts = !found.is_empty();
    *desk.live.hosts.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), found));
    has_hosts
}

/// The stream of events: `version`, once at its beginning and whenever it changes.
pub async fn events(
    State(desk): State<Arc<Desk>>,
    _visitor: Visitor,
    Extension(peer): Extension<Peer>,
) -> Response {
    let Ok(place) = Arc::clone(&desk.live.places).try_acquire_owned() else {
        return desk.problem(&Problem::BUSY);
    };
    peer.carry_events();
    let mut versions = desk.live.version.subscribe();
    versions.mark_changed();
    let end = tokio::time::Instant::now() + LIFE;
    let events = stream::unfold((versions, desk, place), move |(mut versions, desk, place)| async move {
        tokio::time::timeout_at(end, versions.changed()).await.ok()?.ok()?;
        let version = desk.live.named(*versions.borrow_and_update());
        let event = Event::default().event("version").data(version);
        Some((Ok::<_, Infallible>(event), (versions, desk, place)))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
