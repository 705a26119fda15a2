//! Files, environment variables and limits of this machine.

pub mod held_variables;
pub mod kept_lines;
pub mod plain_file;
pub mod write_limit;
