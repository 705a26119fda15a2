//! Checks the guard as a process of its own (`CLAUDEOPS_GUARD`).

use std::path::Path;

use rustix::fs::{Access, access};

use super::examined::Examined;
use super::finding::Finding;
use crate::machine::link::VERSION;
use crate::machine::link::address::Address;
use crate::machine::link::caller::{LinkError, greet};

const CHECK: &str = "guard";

/// Checks that the guard answers, speaks this version, and serves this user, and that its socket cannot be replaced.
pub fn guard(examined: &Examined<'_>) -> Finding {
    let Some(address) = &examined.environment.guard else {
        return Finding::ok(CHECK, "in this process; CLAUDEOPS_GUARD is not set");
    };
    let (greeting, took) = match greet(address) {
        Ok(greeted) => greeted,
        Err(error @ LinkError::Address(_)) => {
            return Finding::failed(CHECK, error.to_string(), "set it to unix: and the path of the socket");
        }
        Err(error) => {
            return Finding::failed(CHECK, error.to_string(), "start `opsctl serve --socket PATH`");
        }
    };
    if let Some(why) = greeting.refused {
        return Finding::failed(CHECK, "the guard does not serve this user", why);
    }
    if greeting.version != VERSION {
        let what = format!("the guard is opsctl {} and uses other messages than this one", greeting.opsctl);
        return Finding::failed(CHECK, what, "run both from the same release");
    }
    let millis = took.as_secs_f64() * 1000.0;
    let what = format!("{address}, opsctl {}, answered in {millis:.1} ms", greeting.opsctl);
    let folder = match address {
        Address::Unix(path) => path.parent().unwrap_or(Path::new("/")),
        Address::Invalid(_) => Path::new("/"),
    };
    if !rustix::process::geteuid().is_root() && access(folder, Access::WRITE_OK).is_ok() {
        let remedy = format!("make {} writable only to the guard's user", folder.display());
        return Finding::warning(CHECK, format!("{what}; this user could replace the socket"), remedy);
    }
    Finding::ok(CHECK, what)
}
