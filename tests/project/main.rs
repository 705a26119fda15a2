//! What belongs to the project beside the program: documents, wording, the structure of the code, the image's sources.
#![cfg(test)]

mod classes;
mod docs;
mod egress;
mod guarantees;
mod hosts_reference;
mod metrics;
mod structure;
mod supply;
mod wording;
