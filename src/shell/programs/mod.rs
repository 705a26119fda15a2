//! Programs that run other programs: wrappers, shells, interpreters, `ssh`, `xargs`.

mod batch;
mod git;
mod interpreter;
mod interpreter_calls;
mod remote;
mod script_file;
mod shell_program;
mod start;
mod tasks;
mod unit;
mod wrapper;

pub use remote::AnsibleCall;
