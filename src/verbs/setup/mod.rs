//! Verbs that set up and check an installation.

pub mod demo;
pub mod doctor;
pub mod doctor_hooks;
pub mod hosts;
pub mod init;
pub mod key;
pub mod manual;
pub mod rehearse;
pub mod render;
pub mod services;
pub mod suggest;
