//! The ledger on a PostgreSQL server, which the tests start themselves. Slow: `.ci/run` calls them, `tests/run` does not.
//!
//! The modules of `tests/ledger` that are not about a file run here, too, with a sandbox whose ledger is on a server.
#![cfg(test)]

#[path = "../support/database_server.rs"]
mod database_server;
mod faults;
mod sandbox;
#[path = "../cli/session.rs"]
mod session;
mod shared_server;

#[path = "../ledger/answer.rs"]
mod answer;
#[path = "../ledger/at_once.rs"]
mod at_once;
mod away;
mod budgets;
#[path = "../ledger/clock.rs"]
mod clock;
#[path = "../ledger/commands.rs"]
mod commands;
#[path = "../ledger/cooldown_json.rs"]
mod cooldown_json;
mod copies;
#[path = "../ledger/fault_rows.rs"]
mod fault_rows;
#[path = "../support/guard_process.rs"]
mod guard_process;
#[path = "../ledger/input.rs"]
mod input;
#[path = "../ledger/kills.rs"]
mod kills;
mod leases;
#[path = "../ledger/life_cycle.rs"]
mod life_cycle;
mod networks;
mod outages;
mod plans;
#[path = "../support/pooler.rs"]
mod pooler;
mod pooling;
#[path = "../ledger/random.rs"]
mod random;
mod roles;
#[path = "../ledger/stdin.rs"]
mod stdin;
#[path = "../support/mod.rs"]
mod support;
mod unit_tests;

/// How often 200 processes ask at once.
const ROUNDS_AT_ONCE: usize = 3;
