//! Guardrails for agents on real servers: see `ARCHITECTURE.md` for the flow.

pub mod actions;
pub mod inventory;
pub mod ledger;
pub mod model;
pub mod policy;
pub mod shell;
