//! The database: creation, locks, migrations, rights and copies.

pub mod creation;
pub mod database;
pub mod folder_lock;
pub mod health;
pub mod lock_timeout;
pub mod locks;
pub mod manager;
pub mod mark;
pub mod migrate;
pub mod rights;
pub mod transfer;
