//! The ledger: a database of actions, reservations, events and sessions, in a SQLite file or on a PostgreSQL server. No other
//! folder uses SQL.

pub mod cooldown_file;
mod log;
mod migrate;
pub mod time;
pub mod transfer;

mod actions;
mod call_id;
mod checks;
pub mod client_runs;
mod containers;
pub mod cooldown_edit;
pub mod counters;
mod creation;
mod database;
pub mod decisions;
pub mod desk;
mod engine;
mod error;
mod events;
#[cfg(test)]
mod fixture;
mod folder_lock;
mod grants;
mod health;
pub mod history;
mod kept_open;
mod leases;
mod lock_timeout;
mod locks;
mod manager;
pub mod mark;
pub mod notices;
#[cfg(test)]
mod plans;
pub mod questions;
mod reminders;
mod requests;
mod resets;
pub mod rights;
pub mod seen;
pub mod sessions;
pub mod spend;
mod turns;
mod usage;
mod verifications;

use crate as ledger;
use opsctl_machine::{plain_file, write_limit};
use opsctl_policy as policy;
use opsctl_policy::model;
use opsctl_redact as redact;

pub use actions::Settled;
pub use call_id::CallId;
pub use checks::{APART, Checker, HEALTHY_CHECKS, LastCheck, NewCheck, Streak};
pub use containers::KnownContainer;
pub use database::{Change, Ledger};
pub use engine::address::{Location, Place, ServerAddress};
pub use engine::patience::{limit_rest, limit_waiting};
pub use error::LedgerError;
pub use events::{Event, Source, WhichEvents};
pub use health::{FileHealth, Health, OLDEST_SERVER, ServerHealth, Standby};
pub use kept_open::{close_connections, keep_connections};
pub use leases::Lease;
pub use locks::Scope;
pub use requests::{HookRequest, REPEATABLE};
pub use verifications::{Outcome, SessionActions, VerificationState};
