//! Programs that run other programs: wrappers, shells, interpreters, `ssh`, `xargs`.

mod batch;
pub mod code;
mod git;
mod globbed;
mod pairs;
mod parallel;
mod remote;
mod script_file;
mod shell_program;
mod start;
mod stated;
mod tasks;
mod unit;
mod wrapper;

pub use pairs::pairs;
pub use remote::AnsibleCall;
pub(crate) use wrapper::quoted;
