//! Live updates: watches the ledger, and streams server-sent events that state the version of what the desk shows.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Extension, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;

use super::access::visitor::Visitor;
use super::problem::Problem;
use super::state::Desk;
use crate::guard::process::connections::{Peer, Stop};
use crate::machine::environment::Environment;
use crate::machine::installation;
use opsctl_ledger::Ledger;
use opsctl_probe::hosts;

/// How often the ledger is asked whether it has changed.
const INTERVAL: Duration = Duration::from_millis(500);

/// The least time between two versions: each open page is rendered again for each.
const PAUSE: Duration = Duration::from_secs(2);

/// A page is refreshed after this time even if nothing has changed, because it shows relative times.
const REFRESH: Duration = Duration::from_secs(30);

/// The timeout for checking all hosts.
const HOSTS_DEADLINE: Duration = Duration::from_secs(2);

/// Event streams end after this time, so that the login is checked again.
const LIFE: Duration = Duration::from_mins(10);

/// Watches the ledger while pages are open, until the process ends.
pub async fn watch(desk: Arc<Desk>, stop: Stop) {
    // One thread for all looks: the version of the ledger is that of a connection, which belongs to a thread.
    let _ = tokio::task::spawn_blocking(move || watch_here(&desk, &stop)).await;
}

fn watch_here(desk: &Arc<Desk>, stop: &Stop) {
    let mut watched = Watched::default();
    let mut renewed = Instant::now();
    let mut is_outdated = false;
    loop {
        std::thread::sleep(INTERVAL);
        if *stop.borrow() || stop.has_changed().is_err() {
            return;
        }
        if desk.live.version.receiver_count() == 0 {
            continue;
        }
        if desk.live.begin_hosts() {
            let of_desk = Arc::clone(desk);
            // Not awaited: hosts may take seconds to answer.
            tokio::task::spawn_blocking(move || look(&of_desk));
        }
        is_outdated |= watched.has_changed(desk.environment());
        if (is_outdated && renewed.elapsed() >= PAUSE) || renewed.elapsed() >= REFRESH {
            renewed = Instant::now();
            is_outdated = false;
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
            self.ledger = Ledger::open_existing(&environment.ledger).ok().flatten();
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

/// Checks all hosts.
fn look(desk: &Desk) {
    let compiled = installation::in_force(desk.environment(), &mut vec![]);
    desk.live.set_hosts(hosts::look(&compiled.installation.inventory.hosts, HOSTS_DEADLINE).0);
}

/// The stream of events: `version`, once at its beginning and whenever it changes.
pub async fn stream(
    State(desk): State<Arc<Desk>>,
    _visitor: Visitor,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Problem> {
    let place = Arc::clone(&desk.live.places).try_acquire_owned().map_err(|_| Problem::BUSY)?;
    peer.carry_events();
    let mut versions = desk.live.version.subscribe();
    versions.mark_changed();
    let end = tokio::time::Instant::now() + LIFE;
    let events = unfold((versions, desk, place), move |(mut versions, desk, place)| async move {
        tokio::time::timeout_at(end, versions.changed()).await.ok()?.ok()?;
        let version = desk.live.named(*versions.borrow_and_update());
        let event = Event::default().event("version").data(version);
        Some((Ok::<_, Infallible>(event), (versions, desk, place)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
