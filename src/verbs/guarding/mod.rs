//! Verbs of the guard: hooks, explanations, questions and the process.

pub mod approvals;
pub mod explain;
pub mod guarded;
pub mod hook;
pub mod notify;
pub mod serve;
