//! The ledger on a PostgreSQL server, which the tests start themselves. Slow: `.ci/run` calls them, `tests/run` does not.
#![cfg(test)]

#[path = "../support/database_server.rs"]
mod database_server;
#[path = "../support/sandbox.rs"]
mod sandbox;

mod budgets;
mod outage;
