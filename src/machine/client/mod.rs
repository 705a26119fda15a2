//! The client on this machine: its process and its files.

pub mod client_process;
pub mod clients;
pub mod own_files;
pub mod refusals;
pub mod release;
pub mod repositories;
pub mod verifier;
