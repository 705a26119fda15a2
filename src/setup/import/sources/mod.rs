//! The forms of files that state hosts and services.

pub mod ansible;
pub mod compose;
pub mod container;
pub mod home_assistant;
pub mod kubernetes;
pub mod kustomize;
pub mod labels;
pub mod proxmox;
pub mod quadlet;
pub mod tasks;
pub mod variables;
