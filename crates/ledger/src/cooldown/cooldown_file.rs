//! `cooldown.json`: the action history for people, agents and dashboards, in either of its two shapes.
//!
//! An unreadable file is reported and treated as empty; an invalid entry is ignored.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::time;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;
use opsctl_policy::model::installation::inventory::Inventory;

/// The content of the file: times of restarts and redeployments per service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CooldownFile {
    services: BTreeMap<String, ServiceTimes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ServiceTimes {
    restarts: Vec<DateTime<Utc>>,
    redeployments: Vec<DateTime<Utc>>,
}

/// Why the file cannot be used as history.
#[derive(Debug, thiserror::Error)]
pub enum CooldownFileError {
    /// It does not exist, as is usual before the first action.
    #[error("no cooldown.json in {0}")]
    Missing(String),
    /// It is empty.
    #[error("{0} is empty")]
    Empty(String),
    /// It is larger than [`MAX_BYTES`].
    #[error("{path} has {bytes} bytes, more than the 4 MiB that are read")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size in bytes.
        bytes: u64,
    },
    /// It cannot be read.
    #[error("{0} cannot be read ({1})")]
    Unreadable(String, std::io::Error),
    /// Its content is invalid, for example truncated.
    #[error("{0} is not a cooldown file ({1}); fix it or move it away")]
    Malformed(String, serde_json::Error),
}

/// The maximum size of the file in bytes. A service that is restarted every four hours for ten years fills 1 MiB.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Deserialize)]
struct FileWire {
    #[serde(default)]
    services: BTreeMap<String, Value>,
}

impl CooldownFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, CooldownFileError> {
        let name = || path.display().to_string();
        let text = match plain_file::read(path, MAX_BYTES) {
            Ok(Content::Bytes(text)) => text,
            Ok(Content::TooLarge(bytes)) => return Err(CooldownFileError::TooLarge { path: name(), bytes }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(path);
                return Err(CooldownFileError::Missing(folder.display().to_string()));
            }
            Err(error) => return Err(CooldownFileError::Unreadable(name(), error)),
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(CooldownFileError::Empty(name()));
        }
        Self::parse(&text).map_err(|error| CooldownFileError::Malformed(name(), error))
    }

    /// Reads the text of a file.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let file: FileWire = serde_json::from_slice(text)?;
        let services =
            file.services.into_iter().map(|(name, service)| (name, service_times(&service))).collect();
        Ok(Self { services })
    }

    /// The times of a service's actions of one kind, `restart` or `redeployment`.
    pub fn times(&self, service: &str, kind: &str) -> &[DateTime<Utc>] {
        let Some(times) = self.services.get(service) else { return &[] };
        match kind {
            "restart" => &times.restarts,
            "redeployment" => &times.redeployments,
            _ => &[],
        }
    }

    /// Maps every entry to its service. Entries may be recorded under the name of a container or unit, which shares
    /// the service's budget.
    #[must_use]
    pub fn by_service(self, inventory: &Inventory) -> Self {
        let mut services: BTreeMap<String, ServiceTimes> = BTreeMap::new();
        for (written, times) in self.services {
            let service = services.entry(inventory.service_named(&written)).or_default();
            service.restarts.extend(times.restarts);
            service.redeployments.extend(times.redeployments);
        }
        Self { services }
    }

    /// The names in the file.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }
}

fn service_times(service: &Value) -> ServiceTimes {
    ServiceTimes {
        restarts: times(service, "restart_timestamps", "restarts"),
        redeployments: times(service, "redeployment_timestamps", "redeployments"),
    }
}

/// The times of both shapes, ascending: plain timestamps under one key, objects with a `timestamp` under the other. An action
/// that both have counts once, two actions of one second in one of them count twice.
fn times(service: &Value, plain: &str, objects: &str) -> Vec<DateTime<Utc>> {
    let list = |key: &str| -> Vec<DateTime<Utc>> {
        let entries = service.get(key).and_then(Value::as_array).into_iter().flatten();
        entries
            .filter_map(|entry| entry.as_str().or_else(|| entry.get("timestamp").and_then(Value::as_str)))
            .filter_map(time::read)
            .collect()
    };
    let mut times = list(plain);
    let mut known: BTreeMap<DateTime<Utc>, usize> = BTreeMap::new();
    for at in &times {
        *known.entry(*at).or_default() += 1;
    }
    for at in list(objects) {
        match known.get_mut(&at) {
            Some(left) if *left > 0 => *left -= 1,
            _ => times.push(at),
        }
    }
    times.sort_unstable();
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_shapes_and_ignores_invalid_entries() {
        #[derive(Deserialize)]
        struct Case {
            file: String,
            #[serde(default)]
            restarts: BTreeMap<String, Vec<DateTime<Utc>>>,
            error: Option<String>,
        }
        let cases: Vec<Case> = serde_saphyr::from_str(include_str!("cooldown_file.yaml")).unwrap();
        for Case { file, restarts, error } in cases {
            match (CooldownFile::parse(file.as_bytes()), error) {
                (Ok(read), None) => {
                    let all =
                        read.services().map(|name| (name.to_owned(), read.times(name, "restart").to_vec()));
                    assert_eq!(all.collect::<BTreeMap<_, _>>(), restarts, "{file}");
                }
                (read, error) => assert!(read.unwrap_err().to_string().contains(&error.unwrap()), "{file}"),
            }
        }
    }
}
