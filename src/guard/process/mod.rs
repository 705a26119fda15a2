//! `opsctl serve`: the guard as a process of its own, which owns the ledger, the notification targets and the keys.
//!
//! One listener for each kind of peer: [`socket`] for hooks and verbs, [`desk`] for people, [`api`] for the client's
//! requests to the model.

use crate::pages::desk;
pub mod api;
pub mod connections;
mod places;
pub mod socket;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::gates::engine;
use crate::guard::approval::rotation;
use crate::machine::client::own_files;
use crate::machine::environment::Environment;
use crate::machine::installation;
use opsctl_ledger::{Ledger, Pool};

/// How often the guard looks after its ledger, and how long it takes at most each time.
const UPKEEP_EVERY: Duration = Duration::from_hours(1);
const UPKEEP_WITHIN: Duration = Duration::from_mins(2);

/// Where the guard listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listeners {
    /// The Unix socket of hooks and verbs.
    pub socket: Option<PathBuf>,
    /// The address of the desk.
    pub desk: Option<SocketAddr>,
    /// The address to which the client sends its requests to the model.
    pub api: Option<SocketAddr>,
    /// The gate before a container engine.
    pub engine: Option<engine::Settings>,
}

/// The number of files that the guard opens at most: each call of ssh needs six.
const FILES: u64 = 8192;

/// Serves all listeners until a signal ends the process.
pub async fn run(environment: Environment, listeners: Listeners, tell: &dyn Fn(&str)) -> io::Result<()> {
    let files = getrlimit(Resource::Nofile);
    let current = files.maximum.map_or(FILES, |most| most.min(FILES)).max(files.current.unwrap_or(FILES));
    // Where it cannot be raised, calls are refused when there are no files left.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..files });
    // A guard keeps its connections to the ledger open, and would wait for its own answer as a client of itself.
    let mut ledger = environment.ledger.clone();
    ledger.pool = Some(Pool::default());
    let environment = Arc::new(Environment { ledger, guard: None, ..environment });
    // The first start of a release that keeps its keys to itself.
    let state_dir = &environment.state_dir;
    environment.create_own_state_dir()?;
    if state_dir.is_dir() {
        rotation::note(state_dir, &own_files::answering_keys(&environment))?;
    }
    let signalled = until_signal()?;
    let (end, stop) = watch::channel(false);
    let mut tasks = tokio::task::JoinSet::new();
    // The socket comes last: hooks find either no guard, or one that is complete.
    if let Some(address) = listeners.desk {
        let desk = desk::prepare(&environment, address, tell)?;
        let listener = listen(address, "--listen").await?;
        tell(&format!("desk: http://{}", listener.local_addr()?));
        tasks.spawn(desk::serve(desk, listener, stop.clone()));
    }
    if let Some(address) = listeners.api {
        let api = api::prepare(&environment)?;
        let listener = listen(address, "--api").await?;
        tell(&format!("API: http://{}", listener.local_addr()?));
        tasks.spawn(api::serve(api, listener, stop.clone()));
    }
    if let Some(settings) = listeners.engine {
        let gate = engine::Gate::open(Arc::clone(&environment), settings).await?;
        tell("engine gate: ready");
        tasks.spawn(gate.serve(stop.clone()));
    }
    if let Some(path) = listeners.socket {
        let listener = socket::bind(&path)?;
        tell(&format!("hooks: {}", path.display()));
        tasks.spawn(socket::serve(Arc::clone(&environment), listener, stop.clone()));
    }
    tasks.spawn(upkeep(environment, stop));
    let ended = tokio::select! {
        () = signalled => None,
        ended = tasks.join_next() => ended,
    };
    let _ = end.send(true);
    while tasks.join_next().await.is_some() {}
    match ended {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(io::Error::other(error)),
        None => Ok(()),
    }
}

/// Counts and deletes old rows of the ledger each hour, until `stop` changes.
async fn upkeep(environment: Arc<Environment>, mut stop: watch::Receiver<bool>) -> io::Result<()> {
    let mut hours = tokio::time::interval(UPKEEP_EVERY);
    loop {
        tokio::select! {
            _ = stop.changed() => return Ok(()),
            _ = hours.tick() => {}
        }
        let (environment, ends) = (Arc::clone(&environment), stop.clone());
        let tidied = tokio::task::spawn_blocking(move || {
            let policy = installation::in_force(&environment, &mut vec![]).installation.policy;
            let keep = policy.keep.delta().max(policy.longest_window().delta());
            // A ledger that cannot be used is reported by the next hook.
            let _ = Ledger::tidy_at(&environment.ledger, Some(keep), UPKEEP_WITHIN, Utc::now(), |_| {
                !*ends.borrow()
            });
        });
        // The guard serves on, also if the upkeep fails.
        let _ = tidied.await;
    }
}

/// What ends with the first SIGTERM or SIGINT that comes after this call. Call it before the first listener exists: clients
/// that wait for a socket may end the process at once.
pub fn until_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn listen(address: SocketAddr, option: &str) -> io::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let text = format!("{option} {address} cannot be used ({error}); choose another address");
        io::Error::new(error.kind(), text)
    })
}
