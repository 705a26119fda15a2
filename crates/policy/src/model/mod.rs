//! Plain types that all layers share. They access no file, socket, clock or database, and do not depend on JSON, YAML
//! or SQL.

pub mod display;
pub mod installation;
pub mod records;
pub mod rights;
