//! The edge: the process environment, files that hooks look up, and child processes.

pub mod client;
pub mod client_process;
pub mod disk;
pub mod engines;
pub mod environment;
pub mod installation;
pub mod machine;
pub mod mission;
pub mod notify;
pub mod programs;
pub mod repositories;
pub mod runner;
pub mod started;
pub mod tmux;
pub mod warning;
