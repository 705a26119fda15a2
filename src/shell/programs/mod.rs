//! Programs that run other programs: wrappers, shells, interpreters, `ssh`, `xargs`.

mod awk_lines;
mod batch;
mod embedded;
mod globbed;
mod interpreter;
mod interpreter_calls;
mod libraries;
mod remote;
mod sed_commands;
mod shell_program;
mod start;
mod wrapper;

pub use remote::AnsibleCall;
pub(crate) use wrapper::quoted;
