//! An installation: its files, its checks, its rehearsal and its import.

pub mod doctor;
pub mod import;
pub mod lint;
pub mod policy_tests;
pub mod rehearse;
pub mod render;
pub mod replay;
pub mod suggest;
