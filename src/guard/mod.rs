//! A tool call and the verdict on it, from the reading, the inventory, the ledger and the rules: for hooks and verbs.

pub mod acting;
pub mod approval;
pub mod asking;
pub mod audit;
pub mod budgets;
pub mod decision;
pub mod explain;
pub mod failures;
pub mod judge;
pub mod kept;
pub mod looks;
pub mod lost;
pub mod outage;
pub mod process;
pub mod recording;
pub mod screen;
pub mod spending;

pub mod verification;
