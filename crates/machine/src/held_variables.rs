//! Environment variables that `opsctl launch` holds back: every process of a user can read the environment of the others,
//! so those that it starts have these in none, and its verbs ask for them.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The variables that are held back: the client's commands have no use for them.
pub const NAMES: [&str; 3] = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDEOPS_APPRISE_URLS"];

/// The variable with the name of the socket at which `opsctl launch` answers, in the abstract namespace of Linux.
pub const SOCKET: &str = "OPSCTL_LAUNCH_SOCKET";

/// How long to wait for the answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The size of a pipe's buffer in bytes: a write beyond it waits for a reader.
const PIPE_BUFFER: usize = 64 * 1024;

/// The maximum size of the answer in bytes; the kernel allows no larger environment.
const MOST: u64 = 4 * 1024 * 1024;

static HELD: LazyLock<Vec<(String, OsString)>> = LazyLock::new(|| ask().unwrap_or_default());

/// The value of a variable, from the environment of this process or from `opsctl launch`.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).or_else(|| {
        let mut held = NAMES.contains(&name).then(all)?.iter();
        held.find(|(held, _)| held == name).map(|(_, value)| value.clone())
    })
}

/// The variables that are held back from this process.
pub fn all() -> &'static [(String, OsString)] {
    &HELD
}

/// Denies other processes of the same user, without `CAP_SYS_PTRACE`, this process's environment and memory.
pub fn hide_process() {
    // Fails only on kernels that cannot do it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// A pipe with a secret, for processes that are started while it exists.
pub fn inherited_pipe(secret: &str) -> io::Result<PipeReader> {
    if secret.len() > PIPE_BUFFER {
        return Err(io::ErrorKind::ArgumentListTooLong.into());
    }
    let (pipe, mut writer) = io::pipe()?;
    writer.write_all(secret.as_bytes())?;
    fcntl_setfd(&pipe, FdFlags::empty())?;
    Ok(pipe)
}

/// The answer to a process that may have the variables.
pub fn answer(held: &[(&str, OsString)]) -> Vec<u8> {
    held.iter().flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()).collect()
}

fn ask() -> Option<Vec<(String, OsString)>> {
    let socket = SocketAddr::from_abstract_name(std::env::var_os(SOCKET)?.as_bytes()).ok()?;
    let stream = UnixStream::connect_addr(&socket).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let mut text = Vec::new();
    stream.take(MOST).read_to_end(&mut text).ok()?;
    Some(entries(&text))
}

fn entries(answer: &[u8]) -> Vec<(String, OsString)> {
    let entry = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (entry.get(..at)?, entry.get(at + 1..)?);
        Some((String::from_utf8(name.to_vec()).ok()?, OsString::from_vec(value.to_vec())))
    };
    answer.split(|byte| *byte == 0).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_given() {
        let held = [("A", OsString::from("x=y\nz")), ("B", OsString::from_vec(vec![0xff]))];
        let read = entries(&answer(&held));
        assert_eq!(read, held.map(|(name, value)| (name.to_owned(), value)));
        assert!(entries(b"").is_empty());
    }
}
