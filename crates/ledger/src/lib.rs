//! The ledger: a database of actions, reservations, events and sessions, in a SQLite file or on a PostgreSQL server. No other
//! folder uses SQL.

mod log;
pub mod time;

mod call_id;
pub mod cooldown;
mod engine;
pub mod file;
#[cfg(test)]
mod fixture;
mod location;
mod pool;
pub mod records;
pub mod sessions;
pub mod upkeep;

pub use call_id::CallId;
pub use cooldown::leases::Lease;
pub use engine::{LedgerError, Patience, Place, Result, SMALL_TABLES, ServerAddress};
pub use file::database::{Change, Ledger};
pub use file::health::{FileHealth, Health, OLDEST_SERVER, ServerHealth, Standby};
pub use file::locks::Scope;
pub use location::Location;
pub use pool::Pool;
pub use records::actions::Settled;
pub use records::checks::{Checker, LastCheck, Streak};
pub use records::containers::KnownContainer;
pub use records::events::{Event, Source};
pub use records::gates::GATE_CALL;
pub use records::unreported::{Open, UnknownOutcome};
pub use records::verifications::{Acted, SessionActions, VerificationResult};
pub use sessions::requests::HookRequest;
