//! Checks of the database: what SQLite reports of a file, and what a server reports of itself.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::database::Ledger;
use super::rights::{self, Rights};
use super::{locks, migrate};
use crate::engine::{Connection, Engine, EngineResult, OptionalExtension as _, Place, Result, Server};
use crate::location::Location;

/// The oldest release of PostgreSQL that is tested.
pub const OLDEST_SERVER: u32 = 15;

/// The result of a check of the database.
#[derive(Debug, Clone, PartialEq)]
pub enum Health {
    /// A SQLite file.
    File(FileHealth),
    /// A server.
    Server(Box<ServerHealth>),
}

/// What SQLite reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHealth {
    /// The first error that SQLite's integrity check reports.
    pub damage: Option<String>,
    /// The journal mode, such as `wal`.
    pub journal: String,
    /// The schema version of the file.
    pub version: u32,
    /// The schema version of this release.
    pub newest: u32,
}

/// What a server reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerHealth {
    /// The number of its release, such as 15.
    pub release: u32,
    /// The schema version; 0 if it has no tables of opsctl.
    pub version: u32,
    /// The schema version of this release.
    pub newest: u32,
    /// The shortest time for a question and its answer.
    pub round_trip: Duration,
    /// By how much its clock is ahead of that of this machine.
    pub clock_ahead: TimeDelta,
    /// The version of TLS; `None` if the connection is not encrypted.
    pub tls: Option<String>,
    /// Whether a password crosses a network without TLS.
    pub exposes_password: bool,
    /// The role of the connection.
    pub role: String,
    /// Its rights, compared with those of an agent; `None` without tables.
    pub rights: Option<Rights>,
    /// If it follows another server: by how many seconds it is behind; `None` within it: unknown.
    pub behind: Option<Option<f64>>,
    /// The servers that follow it; `None`: this role may not see them.
    pub standbys: Option<Vec<Standby>>,
}

/// A server that follows another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Standby {
    /// Its name.
    pub name: String,
    /// By how many seconds it is behind.
    pub behind: f64,
}

impl Ledger {
    /// Checks the database; `None` if there is no file. `thorough` also reads every page of a file, which takes seconds for a
    /// gigabyte.
    pub fn health(location: &Location, thorough: bool) -> Result<Option<Health>> {
        let ledger = match &location.place {
            Place::File(_) => match Self::open_existing(location)? {
                Some(ledger) => ledger,
                None => return Ok(None),
            },
            Place::Server(_) => Self::to_check(location)?,
        };
        let health = match &ledger.connection.engine {
            Engine::File(_) => of_file(&ledger.connection, thorough).map(Health::File),
            Engine::Server(server) => {
                let has_password =
                    matches!(&location.place, Place::Server(address) if address.has_password());
                of_server(&ledger.connection, server, has_password)
                    .map(|health| Health::Server(Box::new(health)))
            }
        };
        health.map(Some)
    }
}

fn of_file(connection: &Connection, thorough: bool) -> Result<FileHealth> {
    let text = |pragma: &str| connection.query_row(pragma, &[], |row| row.get::<String>(0));
    let damage = if thorough { Some(text("PRAGMA integrity_check(1)")?) } else { None };
    Ok(FileHealth {
        damage: damage.filter(|found| found != "ok"),
        journal: text("PRAGMA journal_mode")?,
        version: migrate::version(connection)?,
        newest: migrate::newest(),
    })
}

fn of_server(connection: &Connection, server: &Server, has_password: bool) -> Result<ServerHealth> {
    let (round_trip, clock_ahead) = clock(server).map_err(|cause| connection.failure(cause))?;
    let (release, role, is_local) = connection.query_row(
        "SELECT current_setting('server_version_num')::integer / 10000, current_user::text, inet_server_addr() IS NULL",
        &[],
        |row| Ok((row.get(0)?, row.get(1)?, row.get::<bool>(2)?)),
    )?;
    let tls: Option<String> = connection
        .query_row("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl", &[], |row| {
            row.get(0)
        })
        .optional()?;
    let version = migrate::version(connection)?;
    Ok(ServerHealth {
        release,
        version,
        newest: migrate::newest(),
        round_trip,
        clock_ahead,
        exposes_password: tls.is_none() && !is_local && has_password,
        tls,
        role,
        rights: if version > 0 { Some(rights::of(connection)?) } else { None },
        behind: behind(connection)?,
        standbys: standbys(connection)?,
    })
}

/// The shortest round trip, and by how much the clock of the server is ahead.
fn clock(server: &Server) -> EngineResult<(Duration, TimeDelta)> {
    let mut best: Option<(Duration, TimeDelta)> = None;
    for _ in 0..5 {
        let (began, here): (Instant, DateTime<Utc>) = (Instant::now(), Utc::now());
        let there = locks::time_of(&server.batch(locks::CLOCK)?)?;
        let took = began.elapsed();
        let ahead = there - here - TimeDelta::from_std(took / 2).unwrap_or_default();
        if best.is_none_or(|(shortest, _)| took < shortest) {
            best = Some((took, ahead));
        }
    }
    Ok(best.unwrap_or_default())
}

#[expect(clippy::option_option, reason = "whether it follows another server, and whether it knows how far")]
fn behind(connection: &Connection) -> Result<Option<Option<f64>>> {
    let sql =
        "SELECT pg_is_in_recovery(), extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8";
    connection.query_row(sql, &[], |row| Ok(if row.get(0)? { Some(row.get(1)?) } else { None }))
}

fn standbys(connection: &Connection) -> Result<Option<Vec<Standby>>> {
    let sql = "SELECT coalesce(nullif(application_name, ''), host(client_addr), 'standby'), state,
             coalesce(extract(epoch FROM replay_lag)::float8, 0.0::float8)
         FROM pg_stat_replication ORDER BY 1";
    let standbys = connection.query(sql, &[], |row| {
        // Without rights, a row has no state.
        let state: Option<String> = row.get(1)?;
        Ok(if state.is_some() { Some(Standby { name: row.get(0)?, behind: row.get(2)? }) } else { None })
    })?;
    Ok(standbys.into_iter().collect())
}
