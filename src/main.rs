//! The `opsctl` binary: see the library for everything it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    opsctl::verbs::run(&std::env::args_os().collect::<Vec<_>>())
}
