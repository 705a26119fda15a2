//! The socket through which the hooks of a session have notices delivered. Only the process that runs the session knows the
//! targets: the client, and with it every command of the agent, starts without them.
//!
//! The socket is in the abstract namespace of Linux: it needs no writable folder, and ends with its process.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The variable that names the socket to the hooks.
pub const VARIABLE: &str = "OPSCTL_NOTIFY_SOCKET";

/// How long a hook waits while the socket's queue is full.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest message; a notice is shorter.
pub const LONGEST: usize = 128 * 1024;

/// A message of a hook: the number of a recorded notice, or an unrecorded one as JSON.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// A notice of the ledger.
    Recorded(i64),
    /// A notice that is not recorded yet.
    Raised(String),
}

/// Opens the socket of a session; reading does not block.
pub fn open(session: &str) -> io::Result<(String, UnixDatagram)> {
    let name = format!("opsctl-{session}");
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    socket.set_nonblocking(true)?;
    Ok((name, socket))
}

/// Passes a request on to the process that runs the session.
pub(crate) fn send(name: &str, what: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    socket.send_to_addr(what.as_bytes(), &SocketAddr::from_abstract_name(name)?).map(drop)
}

impl Request {
    /// The text of the message.
    pub fn text(&self) -> String {
        match self {
            Self::Recorded(id) => id.to_string(),
            Self::Raised(text) => text.clone(),
        }
    }

    /// Reads a message; `None` for any other text.
    pub fn read(message: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok()?;
        match text.parse() {
            Ok(id) => Some(Self::Recorded(id)),
            Err(_) => text.starts_with('{').then(|| Self::Raised(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        let (name, socket) = open(&format!("test-{}", std::process::id())).unwrap();
        let mut buffer = [0; 100];
        for (what, is_request) in [("7", true), ("{\"title\":1}", true), ("--deliver", false)] {
            send(&name, what).unwrap();
            let length = socket.recv(&mut buffer).unwrap();
            let read = Request::read(&buffer[..length]);
            assert_eq!(read.map(|request| request.text()).as_deref(), is_request.then_some(what));
        }
        drop(socket);
        assert!(send(&name, "8").is_err());
    }
}
