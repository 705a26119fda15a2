//! The caller's end of the link: a hook or a verb. No asynchronous runtime is needed.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde_json::Value;

use super::address::Address;
use super::lookup::Lookup;
use super::message::{Greeting, LookupAnswer, Reply, Request};
use super::{Timed, VERSION, frame};

/// How long a caller tries to reach the guard, which may be restarting.
pub const REACH: Duration = Duration::from_millis(1500);

/// How long a program that is to run tries: it has nothing else to do, and many may start at once.
const REACH_TO_RUN: Duration = Duration::from_secs(10);

/// The pause between two attempts to reach the guard.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a request is sent at most: a guard that ends while it serves one has to be reached again.
const MOST_ATTEMPTS: usize = 4;

/// Why the guard did not answer.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum LinkError {
    #[error("CLAUDEOPS_GUARD is `{0}`, not unix:PATH")]
    Address(String),
    #[error("the guard at {path} cannot be reached ({error})")]
    Unreachable { path: String, error: io::Error },
    #[error("the guard at {path} did not answer ({error})")]
    Unanswered { path: String, error: io::Error },
    #[error(
        "the guard uses version {guard} of its messages and this opsctl version {VERSION}; run both from the same release"
    )]
    Version { guard: u32 },
    #[error("the guard refuses the request: {0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

/// Sends a request and returns the last message of the guard, which has `limit` to answer. `look` answers its questions. A
/// request is sent again if the connection breaks: the guard counts the same call once.
pub fn call(
    address: &Address,
    (request, payload): (&Request, &[u8]),
    limit: Duration,
    look: &mut dyn FnMut(&Lookup) -> Value,
) -> Result<Reply, LinkError> {
    let path = socket(address)?;
    let request = serde_json::to_vec(request).map_err(|error| LinkError::Failed(error.to_string()))?;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let stream = reach(path, Instant::now() + REACH)?;
        match exchange(&stream, [&request, payload], limit, look) {
            Ok(Reply::Refused(why)) => return Err(LinkError::Refused(why)),
            Ok(Reply::Failed(why)) => return Err(LinkError::Failed(why)),
            Ok(reply) => return Ok(reply),
            Err(error) if error.kind() == ErrorKind::TimedOut || attempts >= MOST_ATTEMPTS => {
                return Err(LinkError::Unanswered { path: path.display().to_string(), error });
            }
            Err(_) => sleep(PAUSE),
        }
    }
}

/// Sends a request once, and returns the connection, from which the answer is to be read with [`reply`].
pub fn begin(address: &Address, request: &Request, payload: &[u8]) -> Result<UnixStream, LinkError> {
    let path = socket(address)?;
    let text = serde_json::to_vec(request).map_err(|error| LinkError::Failed(error.to_string()))?;
    let stream = reach(path, Instant::now() + REACH_TO_RUN)?;
    stream
        .set_read_timeout(None)
        .and_then(|()| frame::write(&mut &stream, &text))
        .and_then(|()| frame::write(&mut &stream, payload))
        .map_err(|error| LinkError::Unanswered { path: path.display().to_string(), error })?;
    Ok(stream)
}

/// Reads the answer to a request. It may take as long as it needs.
pub fn reply(stream: &UnixStream) -> io::Result<Reply> {
    Ok(serde_json::from_slice(&frame::read(&mut &*stream, frame::REPLY)?)?)
}

fn socket(address: &Address) -> Result<&Path, LinkError> {
    match address {
        Address::Unix(path) => Ok(path),
        Address::Invalid(value) => Err(LinkError::Address(value.clone())),
    }
}

/// Connects to a guard that greets with this version, until `until`.
fn reach(path: &Path, until: Instant) -> Result<UnixStream, LinkError> {
    loop {
        let found = open(path).and_then(|stream| Ok((greeting(&stream, until)?, stream)));
        match found {
            Ok((Greeting { refused: Some(why), .. }, _)) => return Err(LinkError::Refused(why)),
            Ok((Greeting { version: VERSION, .. }, stream)) => return Ok(stream),
            Ok((Greeting { version, .. }, _)) => return Err(LinkError::Version { guard: version }),
            Err(error) if Instant::now() + PAUSE >= until || error.kind() == ErrorKind::PermissionDenied => {
                return Err(LinkError::Unreachable { path: path.display().to_string(), error });
            }
            Err(_) => sleep(PAUSE),
        }
    }
}

/// Connects without waiting: a guard that does not accept connections any more would be waited for without end.
fn open(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn greeting(stream: &UnixStream, until: Instant) -> io::Result<Greeting> {
    let text = frame::read(&mut Timed::new(stream, until), frame::REQUEST)?;
    serde_json::from_slice(&text).map_err(io::Error::from)
}

fn exchange(
    stream: &UnixStream,
    request: [&[u8]; 2],
    limit: Duration,
    look: &mut dyn FnMut(&Lookup) -> Value,
) -> io::Result<Reply> {
    let mut stream = Timed::new(stream, Instant::now() + limit);
    for part in request {
        frame::write(&mut stream, part)?;
    }
    loop {
        let reply = serde_json::from_slice(&frame::read(&mut stream, frame::REPLY)?)?;
        let Reply::Ask(lookup) = reply else { return Ok(reply) };
        let mut found = serde_json::to_vec(&LookupAnswer { found: look(&lookup) })?;
        if found.len() > frame::REPLY {
            found = serde_json::to_vec(&LookupAnswer { found: Value::Null })?;
        }
        frame::write(&mut stream, &found)?;
    }
}

/// The greeting of the guard, and how long it took.
pub fn greet(address: &Address) -> Result<(Greeting, Duration), LinkError> {
    let path = socket(address)?;
    let began = Instant::now();
    let greeted = open(path).and_then(|stream| greeting(&stream, began + REACH));
    let unreachable = |error| LinkError::Unreachable { path: path.display().to_string(), error };
    greeted.map(|greeting| (greeting, began.elapsed())).map_err(unreachable)
}
