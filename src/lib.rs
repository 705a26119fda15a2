//! Guardrails for agents on real servers: see `ARCHITECTURE.md` for the flow.

pub mod actions;
pub mod model;
pub mod shell;
