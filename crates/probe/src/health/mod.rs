//! Health checks of services: concurrent, each retried until it succeeds or its grace is over.

mod container;
mod dns;
mod finding;
mod guest;
mod http;
mod own;
mod plan;
pub(crate) mod programs;
mod tcp;
pub mod tls;
mod unit;
mod workload;

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::runtime;

pub use container::container_listing;
use finding::Looked;
pub use finding::{Finding, State};
pub use guest::guest_status;
pub use plan::{Check, plan, plan_on};
pub use programs::{Rights, Way, line, quoted};
pub use unit::unit_state;
pub use workload::workload_selection;

/// The pause before the first retry; it grows up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The maximum pause between retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A service to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The service.
    pub service: String,
    /// Its checks; empty if none is configured.
    pub checks: Vec<Check>,
    /// The remaining grace, in which checks are retried.
    pub grace: Duration,
    /// Whether it is checked because a service that it needs was restarted.
    pub is_dependent: bool,
    /// Why it is not checked.
    pub unasked: Option<String>,
}

/// The results of a service's checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The service.
    pub service: String,
    /// Each check with its last finding, in order.
    pub findings: Vec<(Check, Finding)>,
    /// Why it was not checked.
    pub unasked: Option<String>,
}

impl Report {
    /// Whether all checks found the service healthy. Unavailable checks are ignored; `None` if all are.
    pub fn healthy(&self) -> Option<bool> {
        let words = self.findings.iter().filter_map(|(_, finding)| finding.state.healthy());
        words.reduce(|all, one| all && one)
    }
}

/// Checks all services concurrently, for at most `deadline`. An error means that the runtime could not be created.
pub fn verify(subjects: Vec<Subject>, deadline: Duration) -> io::Result<Vec<Report>> {
    runtime::run(async { verify_until(subjects, Instant::now() + deadline).await })
}

async fn verify_until(subjects: Vec<Subject>, ends: Instant) -> Vec<Report> {
    let mut reports = Vec::with_capacity(subjects.len());
    let mut looks = JoinSet::new();
    for (service, subject) in subjects.into_iter().enumerate() {
        let Subject { service: name, checks, grace, is_dependent, unasked } = subject;
        let graced = (Instant::now() + grace).min(ends);
        let nothing = |check: &Check| (check.clone(), check.late());
        reports.push(Report { service: name, findings: checks.iter().map(nothing).collect(), unasked });
        for (nth, check) in checks.into_iter().enumerate() {
            looks.spawn(async move {
                let finding = look_again(&check, graced, ends).await;
                (service, nth, if is_dependent { finding.of_dependent() } else { finding })
            });
        }
    }
    while let Some(look) = looks.join_next().await {
        if let Ok((service, nth, finding)) = look
            && let Some(report) = reports.get_mut(service)
            && let Some(slot) = report.findings.get_mut(nth)
        {
            slot.1 = finding;
        }
    }
    reports
}

/// Repeats a check until it is healthy or the grace is over. Returns the last finding.
async fn look_again(check: &Check, graced: Instant, ends: Instant) -> Finding {
    let mut pause = FIRST_PAUSE;
    loop {
        let finding = timeout_at(ends, Box::pin(look(check, ends))).await;
        let finding = finding.unwrap_or_else(|_| check.late());
        // A host that was just restarted may not be reachable yet.
        let repeat = finding.state.healthy() == Some(false) || finding.state == State::Unknown;
        if !repeat || Instant::now() + pause >= graced {
            return finding;
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

async fn look(check: &Check, ends: Instant) -> Finding {
    let limit = check.timeout();
    let look_ends = (Instant::now() + limit).min(ends);
    let looked = match check {
        Check::Http(health) => in_time(look_ends, http::look(health, look_ends)).await,
        Check::Dns { name, server } => in_time(look_ends, dns::look(name, server.as_deref())).await,
        Check::Tcp { host, port } => in_time(look_ends, tcp::look(host, *port, look_ends)).await,
        // Programs wait for their turn before their time begins.
        Check::Container { engine, names, way } => container::look(*engine, names, way, limit).await,
        Check::Unit { name, way } => unit::look(name, way, limit).await,
        Check::Workload { workload, way } => workload::look(workload, way, limit).await,
        Check::Guest { program, name, way } => guest::look(*program, name, way, limit).await,
        Check::Command { check, way } => own::look(check, way, ends).await,
    };
    looked.unwrap_or_else(|finding| finding)
}

async fn in_time(ends: Instant, look: impl Future<Output = Looked>) -> Looked {
    timeout_at(ends, look).await.unwrap_or_else(|_| Err(Finding::late()))
}
