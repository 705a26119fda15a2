//! Requests of sftp, and of scp above it: the server of the system carries out what is allowed. Each request that names a file
//! is judged as the command that does the same. A client reads of a refusal in the reply: sshd discards what the server of a
//! subsystem writes to stderr.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::reasons::in_one_line;
use super::{environment, run};
use crate::gates::admission::{Admission, admit};
use crate::machine::request::Request;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_probe::health::quoted;

/// Where systems have the server.
const SERVERS: [&str; 4] = [
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/libexec/sftp-server",
    "/usr/lib/ssh/sftp-server",
];

/// The maximum size of a packet in bytes, as the server has it.
const MOST: usize = 256 * 1024;

/// Flags of an opened file with which it may be changed: write, append, create, truncate, exclusive.
const CHANGES: u32 = 0x3a;

const OPEN: u8 = 3;
const FSETSTAT: u8 = 10;
const EXTENDED: u8 = 200;
const HANDLE: u8 = 102;
const STATUS: u8 = 101;
const PERMISSION_DENIED: u32 = 3;

/// How long a change of names may take before the next request is refused.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the replies of the server state.
#[derive(Default)]
struct Replies {
    /// Requests that open a file for changes.
    opens: BTreeSet<u32>,
    /// Handles of files that are open for changes.
    handles: BTreeSet<Vec<u8>>,
    /// The request that changes names: the next one is judged when it is done.
    renames: Option<u32>,
}

/// A connection: what the server has replied, and the stream to the client.
struct Connection {
    replies: Mutex<Replies>,
    is_renamed: Condvar,
    out: Mutex<File>,
}

/// What a request asks for.
enum Asks {
    /// Nothing that is judged: metadata, or a file that is open.
    Nothing,
    /// To open a file for reading, as this command.
    Open(String),
    /// To open a file for changes, as this command.
    Change(String),
    /// To change or remove what a path names, as this command.
    Names(String),
    /// Something that is not known, or a new link: what a path means would depend on it.
    Unknown,
}

/// Serves a client until it ends, or states why it cannot.
pub fn serve(request: &Request) -> Result<u8, String> {
    let server = SERVERS.iter().find(|server| Path::new(server).exists()).ok_or(
        "this host has no sftp-server: install the package openssh-sftp-server, or copy with `scp -O`",
    )?;
    let mut command = Command::new(server);
    if request.tier.is_none_or(|tier| tier == Tier::Observe) {
        command.arg("-R");
    }
    command.env_clear().envs(environment::variables()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let failed = |error: io::Error| format!("{server} cannot serve this connection ({error})");
    let mut child = command.spawn().map_err(failed)?;
    let (Some(mut to), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(format!("{server} has no streams"));
    };
    let out = rustix::stdio::stdout().try_clone_to_owned().map(File::from).map_err(failed)?;
    let connection =
        Connection { replies: Mutex::default(), is_renamed: Condvar::new(), out: Mutex::new(out) };
    run::outliving(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| connection.reply(&mut from));
            // The end of the client's stream, or of the server, ends both.
            let _ = connection.ask(&mut to, request);
            drop(to);
        });
    })
    .map_err(failed)?;
    child.wait().map(run::code).map_err(failed)
}

impl Connection {
    /// Does something with what the server has replied.
    fn with<T>(&self, work: impl FnOnce(&mut Replies) -> T) -> T {
        work(&mut self.replies.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Passes replies of the server on.
    fn reply(&self, from: &mut impl Read) {
        while let Ok(Some(packet)) = packet(from) {
            let id = packet.get(1..).and_then(number);
            self.with(|replies| {
                let Some((id, rest)) = id else { return };
                if replies.renames == Some(id) {
                    replies.renames = None;
                    self.is_renamed.notify_all();
                }
                let is_handle = replies.opens.remove(&id) && packet.first() == Some(&HANDLE);
                replies.handles.extend(bytes(rest).filter(|_| is_handle).map(|(handle, _)| handle.to_vec()));
            });
            if self.send(&packet).is_err() {
                return;
            }
        }
    }

    /// Passes the client's requests on that are allowed, and answers the others.
    fn ask(&self, to: &mut ChildStdin, request: &Request) -> io::Result<()> {
        let mut client = io::stdin().lock();
        while let Some(packet) = packet(&mut client)? {
            let id = packet.get(1..).and_then(number).map_or(0, |(id, _)| id);
            let asks = self.asks(&packet);
            let refusal = match &asks {
                Asks::Nothing => None,
                Asks::Unknown => Some("opsctl cannot judge this request of sftp".to_owned()),
                Asks::Open(command) | Asks::Change(command) | Asks::Names(command) => {
                    refusal(command, request)
                }
            };
            if let Some(why) = refusal {
                self.send(&status(id, &why))?;
                continue;
            }
            self.with(|replies| match asks {
                Asks::Change(_) => {
                    replies.opens.insert(id);
                }
                Asks::Names(_) => replies.renames = Some(id),
                Asks::Nothing | Asks::Open(_) | Asks::Unknown => {}
            });
            to.write_all(&length(&packet).to_be_bytes())?;
            to.write_all(&packet)?;
            self.wait_for_names()?;
        }
        Ok(())
    }

    /// Waits until a change of names is done: what a later path means may depend on it.
    fn wait_for_names(&self) -> io::Result<()> {
        let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pending = |replies: &mut Replies| replies.renames.is_some();
        let waited = self.is_renamed.wait_timeout_while(replies, PATIENCE, is_pending);
        let (_replies, ended) = waited.unwrap_or_else(PoisonError::into_inner);
        if ended.timed_out() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn send(&self, packet: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&length(packet).to_be_bytes())?;
        out.write_all(packet)
    }

    /// What a packet asks for (draft-ietf-secsh-filexfer-02, and the extensions of OpenSSH).
    fn asks(&self, packet: &[u8]) -> Asks {
        let Some((&kind, rest)) = packet.split_first() else { return Asks::Unknown };
        let body = number(rest).map_or(&[][..], |(_, body)| body);
        match kind {
            // Init; close, read, write, fstat, readdir: a file that is open; lstat, opendir, realpath, stat, readlink: metadata.
            1 | 4..=8 | 11 | 12 | 16 | 17 | 19 => Asks::Nothing,
            OPEN => {
                let Some((path, rest)) = path(body) else { return Asks::Unknown };
                match number(rest) {
                    Some((flags, _)) if flags & CHANGES == 0 => Asks::Open(format!("cat -- {path}")),
                    Some((flags, _)) if flags & 1 == 0 => Asks::Change(format!("tee -- {path}")),
                    Some(_) => Asks::Change(format!("cat -- {path}; tee -- {path}")),
                    None => Asks::Unknown,
                }
            }
            FSETSTAT => {
                let is_changed = bytes(body)
                    .is_some_and(|(handle, _)| self.with(|replies| replies.handles.contains(handle)));
                if is_changed { Asks::Nothing } else { Asks::Unknown }
            }
            9 => of_path("chmod u+r --", body),
            13 => of_path("rm --", body),
            14 => of_path("mkdir --", body),
            15 => of_path("rmdir --", body),
            18 => of_paths("mv --", body),
            EXTENDED => match bytes(body) {
                Some((b"posix-rename@openssh.com", rest)) => of_paths("mv --", rest),
                Some((b"lsetstat@openssh.com", rest)) => of_path("chmod u+r --", rest),
                Some((
                    b"limits@openssh.com"
                    | b"expand-path@openssh.com"
                    | b"statvfs@openssh.com"
                    | b"fstatvfs@openssh.com"
                    | b"fsync@openssh.com"
                    | b"home-directory"
                    | b"users-groups-by-id@openssh.com",
                    _,
                )) => Asks::Nothing,
                _ => Asks::Unknown,
            },
            _ => Asks::Unknown,
        }
    }
}

/// Why a request is refused.
fn refusal(command: &str, request: &Request) -> Option<String> {
    match admit(Gate::Host, command, &request.at(chrono::Utc::now())) {
        Admission::Refused(reasons) => Some(in_one_line(&reasons)),
        Admission::Passes(ticket) => {
            ticket.settle(&ToolResult::Succeeded, request);
            None
        }
    }
}

fn of_path(program: &str, body: &[u8]) -> Asks {
    path(body).map_or(Asks::Unknown, |(path, _)| Asks::Names(format!("{program} {path}")))
}

fn of_paths(program: &str, body: &[u8]) -> Asks {
    let paths = path(body).and_then(|(first, rest)| Some((first, path(rest)?.0)));
    paths.map_or(Asks::Unknown, |(first, second)| Asks::Names(format!("{program} {first} {second}")))
}

/// The next packet, without its length; `None` at the end of the stream.
fn packet(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut packet = vec![0; length];
    from.read_exact(&mut packet)?;
    Ok(Some(packet))
}

fn length(packet: &[u8]) -> u32 {
    u32::try_from(packet.len()).unwrap_or(u32::MAX)
}

/// The answer that a request is refused.
fn status(id: u32, why: &str) -> Vec<u8> {
    let mut packet = vec![STATUS];
    packet.extend(id.to_be_bytes());
    packet.extend(PERMISSION_DENIED.to_be_bytes());
    for text in [why, "en"] {
        packet.extend(length(text.as_bytes()).to_be_bytes());
        packet.extend(text.as_bytes());
    }
    packet
}

/// A number, and what follows it.
fn number(from: &[u8]) -> Option<(u32, &[u8])> {
    from.split_first_chunk::<4>().map(|(number, rest)| (u32::from_be_bytes(*number), rest))
}

/// A string, and what follows it.
fn bytes(from: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(from)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// A path as a word of a command, and what follows it; `None` for one that is not text.
fn path(from: &[u8]) -> Option<(String, &[u8])> {
    let (path, rest) = bytes(from)?;
    let path = std::str::from_utf8(path).ok().filter(|path| !path.contains('\0'))?;
    // An empty path is the working directory.
    Some((quoted(if path.is_empty() { "." } else { path }), rest))
}
