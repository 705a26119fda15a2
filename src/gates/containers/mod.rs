//! What a container reaches on its host: for the gates before engines and before clusters, which run commands in containers.

pub mod commands;
pub mod mounts;
pub mod reach;
