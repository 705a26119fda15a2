//! What happens: events, questions, sessions and verdicts.

pub mod event;
pub mod notice;
pub mod question;
pub mod session;
pub mod verdict;
