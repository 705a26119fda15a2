//! Plain types that every layer above shares. No file, socket, clock or database is reached from here.

pub mod action;
