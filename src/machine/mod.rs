//! The edge: the process environment, files that hooks look up, and child processes.

pub mod agent_side;
pub mod client;
pub mod disk;
pub mod engines;
pub mod environment;
pub mod guard_link;
pub mod installation;
pub mod link;
pub mod local;
pub mod notify;
pub mod programs;
pub mod records;
pub mod request;
pub mod runner;
pub mod started;
pub mod unreported;
pub mod warning;
