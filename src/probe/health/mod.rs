//! Whether services are healthy: all their checks at once, each again until it succeeds or its grace is over.

mod command;
mod container;
mod dns;
mod finding;
mod http;
mod plan;
mod tcp;
mod tls;
mod unit;

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::icmp::{RESOLVER_STACK, RESOLVERS};

pub use finding::{Finding, State};
pub use plan::{Check, plan};

/// The time between two looks grows from the first to the second of these.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A service, how to look at it, and how long it may take to become healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The service.
    pub service: String,
    /// The checks; none where nothing says how to look at it.
    pub checks: Vec<Check>,
    /// What is left of its grace.
    pub grace: Duration,
}

/// What the checks of a service came to, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The service.
    pub service: String,
    /// Each check with what it found at last.
    pub findings: Vec<(Check, Finding)>,
}

impl Report {
    /// Whether the service is healthy; `None` when no check could be carried out.
    ///
    /// A check that could not be carried out on this machine says nothing about the service.
    pub fn healthy(&self) -> Option<bool> {
        let words = self.findings.iter().filter_map(|(_, finding)| finding.state.healthy());
        words.reduce(|all, one| all && one)
    }
}

/// Looks at all of them at once; no later than after `deadline` there is an answer. An error means that no
/// runtime could be had.
pub fn verify(subjects: Vec<Subject>, deadline: Duration) -> io::Result<Vec<Report>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .thread_stack_size(RESOLVER_STACK)
        .build()?;
    let reports = runtime.block_on(verify_until(subjects, Instant::now() + deadline));
    runtime.shutdown_background();
    Ok(reports)
}

async fn verify_until(subjects: Vec<Subject>, ends: Instant) -> Vec<Report> {
    let mut reports = Vec::with_capacity(subjects.len());
    let mut looks = JoinSet::new();
    for (service, Subject { service: name, checks, grace }) in subjects.into_iter().enumerate() {
        let graced = (Instant::now() + grace).min(ends);
        let nothing = |check: &Check| (check.clone(), Finding::late());
        reports.push(Report { service: name, findings: checks.iter().map(nothing).collect() });
        for (nth, check) in checks.into_iter().enumerate() {
            looks.spawn(async move { (service, nth, look_again(&check, graced, ends).await) });
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

/// Looks until it is healthy or the grace is over. The last word counts.
async fn look_again(check: &Check, graced: Instant, ends: Instant) -> Finding {
    let mut pause = FIRST_PAUSE;
    loop {
        let look_ends = (Instant::now() + check.patience()).min(ends);
        let finding = timeout_at(look_ends, look(check, look_ends)).await.unwrap_or_else(|_| Finding::late());
        if finding.state.healthy() != Some(false) || Instant::now() + pause >= graced {
            return finding;
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

async fn look(check: &Check, ends: Instant) -> Finding {
    match check {
        Check::Http(health) => http::look(health, ends).await,
        Check::Dns { name, server } => dns::look(name, server.as_deref()).await,
        Check::Tcp { host, port } => tcp::look(host, *port, ends).await,
        Check::Container { engine, name, ssh } => container::look(*engine, name, ssh.as_deref()).await,
        Check::Unit { name, ssh } => unit::look(name, ssh.as_deref()).await,
    }
}
