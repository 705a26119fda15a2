//! The client on this machine: its process, its files and the mission that it works on.

pub mod client_process;
pub mod mission;
pub mod own_files;
pub mod release;
pub mod repositories;
pub mod tmux;
