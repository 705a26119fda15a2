//! The `engine_containers` table: the containers that engines have named, by ID.

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::{Result, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::model::installation::container::Container;

/// A container is kept for this time after its engine has named it.
const KEPT: TimeDelta = TimeDelta::days(1);

const BY_ID: &str = "SELECT container FROM engine_containers
     WHERE host = ?1 AND engine = ?2 AND id >= ?3 AND id < ?3 || 'g' AND seen_at >= ?4 LIMIT 2";

/// A container of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownContainer {
    /// The name of the host; `None` for this machine.
    pub host: Option<String>,
    /// The engine's program.
    pub engine: &'static str,
    /// The container.
    pub container: Container,
}

impl Ledger {
    /// The container of an engine whose ID begins with these digits; `None` if there is none or more than one.
    pub fn container(
        &self,
        host: Option<&str>,
        engine: &str,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Container>> {
        let values = params![host.unwrap_or_default(), engine, id, time::write(now - KEPT)];
        let found: Vec<String> = self.query(BY_ID, values, |row| row.get(0))?;
        Ok(match found.as_slice() {
            [one] => Container::read(one),
            _ => None,
        })
    }
}

impl Change<'_> {
    /// Keeps the containers that engines have named, for a day.
    pub fn keep_containers(&self, known: &[KnownContainer], now: DateTime<Utc>) -> Result<()> {
        if known.is_empty() {
            return Ok(());
        }
        let outdated = "DELETE FROM engine_containers WHERE seen_at < ?1";
        self.run(outdated, params![time::write(now - KEPT)])?;
        // In one order, so that two agents do not wait for each other.
        let mut known: Vec<_> = known.iter().collect();
        known.sort_by_key(|known| (&known.host, known.engine.to_string(), &known.container.id));
        for KnownContainer { host, engine, container } in known {
            let host = host.as_deref().unwrap_or_default();
            insert!(self.run into engine_containers {
                host: host, engine: engine, id: container.id, container: container.line(), seen_at: time::write(now)
            }, "ON CONFLICT (host, engine, id) DO UPDATE SET container = excluded.container, seen_at = excluded.seen_at")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn container(id: &str, name: &str) -> Container {
        Container::read(&format!("{id}{}|{name}||||", "0".repeat(64 - id.len()))).unwrap()
    }

    #[test]
    fn finds_a_container_by_the_beginning_of_its_id_for_a_day() {
        let (_folder, mut ledger) = fixture::ledger();
        let now: DateTime<Utc> = "2026-03-21T14:30:00Z".parse().unwrap();
        let known =
            |id, name| KnownContainer { host: None, engine: "docker", container: container(id, name) };
        let change = ledger.change().unwrap();
        change
            .keep_containers(&[known("3f2a", "old"), known("3f2a", "jellyfin"), known("3f2b", "sonarr")], now)
            .unwrap();
        change.commit().unwrap();
        let name = |ledger: &Ledger, host, engine, id, hours| {
            let found = ledger.container(host, engine, id, now + TimeDelta::hours(hours)).unwrap();
            found.map(|container| container.name)
        };
        assert_eq!(name(&ledger, None, "docker", "3f2a", 23).as_deref(), Some("jellyfin"));
        assert_eq!(name(&ledger, None, "docker", "3f2", 1), None);
        assert_eq!(name(&ledger, None, "docker", "3f2a", 25), None);
        assert_eq!(name(&ledger, None, "podman", "3f2a", 1), None);
        assert_eq!(name(&ledger, Some("ie01"), "docker", "3f2a", 1), None);
        let change = ledger.change().unwrap();
        change.keep_containers(&[known("4f", "new")], now + TimeDelta::hours(25)).unwrap();
        change.commit().unwrap();
        assert_eq!(name(&ledger, None, "docker", "3f2a", 1), None);
    }
}
