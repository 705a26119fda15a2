//! Releases of Helm that are in progress: one has counted when it began, with the workloads of its service that it changes.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Method;

use super::command::Asked;

/// How long a release that does not end counts as in progress.
const MOST: Duration = Duration::from_hours(1);

/// A release in progress.
#[derive(Debug)]
struct Release {
    since: Instant,
    command: String,
    /// The paths of the objects that it has changed. A second change is not a part of it.
    changed: HashSet<String>,
}

/// The releases in progress, by the path of their records without the version.
#[derive(Debug, Default)]
pub struct Releases(Mutex<HashMap<String, Release>>);

impl Releases {
    /// The commands of the releases that this request can be a part of. Each object is a part once.
    pub fn around(&self, asked: &Asked<'_>) -> Vec<String> {
        let is_change = [Method::POST, Method::PATCH, Method::PUT].contains(asked.method);
        if !is_change || asked.resource.part.is_some() || asked.resource.is_secret() {
            return Vec::new();
        }
        let (Some(name), Some(namespace)) = (asked.stated_name(), &asked.resource.namespace) else {
            return Vec::new();
        };
        let object = format!("{}/{name}", asked.resource.word());
        let mut releases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        releases.retain(|_, release| release.since.elapsed() < MOST);
        let own = releases.iter_mut().filter(|(key, _)| key.split('/').next() == Some(namespace.as_str()));
        own.filter_map(|(_, release)| release.changed.insert(object.clone()).then(|| release.command.clone()))
            .collect()
    }

    /// Notes that a record of a release is written: it begins, or ends.
    pub fn note(&self, asked: &Asked<'_>, command: &str) {
        let (Some(release), Some(namespace)) = (asked.release(), &asked.resource.namespace) else { return };
        let key = format!("{namespace}/{release}");
        let is_pending = asked.status().is_some_and(|status| status.starts_with("pending"));
        let mut releases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.method == Method::POST && is_pending {
            let release =
                Release { since: Instant::now(), command: command.to_owned(), changed: HashSet::new() };
            releases.insert(key, release);
        } else if !is_pending {
            releases.remove(&key);
        }
    }
}
