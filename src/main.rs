//! The `opsctl` binary: see the library for everything it does.

fn main() {}
