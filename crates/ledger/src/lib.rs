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
mod events;
#[cfg(test)]
mod fixture;
mod folder_lock;
mod grants;
mod health;
pub mod history;
mod leases;
mod location;
mod lock_timeout;
mod locks;
mod manager;
pub mod mark;
pub mod notices;
#[cfg(test)]
mod plans;
mod pool;
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
pub use checks::{Checker, LastCheck, NewCheck, Streak};
pub use containers::KnownContainer;
pub use database::{Change, Ledger};
pub use engine::{LedgerError, Patience, Place, ServerAddress};
pub use events::{Event, Source};
pub use health::{FileHealth, Health, OLDEST_SERVER, ServerHealth, Standby};
pub use leases::Lease;
pub use location::Location;
pub use locks::Scope;
pub use pool::Pool;
pub use requests::HookRequest;
pub use verifications::{Outcome, SessionActions};
