//! Reading, inventory, ledger and rules brought together: what hooks and `explain` ask.

pub mod acting;
pub mod audit;
pub mod budgets;
pub mod failures;
pub mod judge;
pub mod screen;
pub mod verification;
