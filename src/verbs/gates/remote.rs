//! `ssh`, `scp` and `sftp`: this program under another name. With a guard, its broker makes the connection; without one, the real
//! program runs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, splice};

use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::caller;
use crate::machine::link::message::{Call, Reply};
use crate::machine::link::pipe;
use crate::machine::link::stream::{HEAD, INPUT, Kind, MOST, head, read_head};
use crate::machine::programs::{is_program, other_in_path};
use crate::machine::request::Request;
use crate::verbs::guarding::guarded;
use crate::verbs::terminal::{Failure, Stream, complain, complain_as_is, pass_on, wait};

/// The names, the first of which is that of the program which makes connections.
const NAMES: [&str; 3] = [SSH, "scp", "sftp"];
const SSH: &str = "ssh";

/// The exit code of ssh for failures of its own.
const FAILED: u8 = 255;

/// The device and its numbers that have no input.
const NULL: &str = "/dev/null";

/// The name under which this program runs, if it stands for another one.
pub fn name(arguments: &[OsString]) -> Option<&'static str> {
    let own = Path::new(arguments.first()?).file_name()?;
    NAMES.into_iter().find(|name| own == OsStr::new(name))
}

/// Runs as the program of this name. Returns the exit code.
pub fn run(name: &'static str, arguments: &[OsString]) -> u8 {
    let arguments = arguments.get(1..).unwrap_or_default();
    let ran = match guarded::in_force() {
        None => Err(real(name, arguments, None)),
        Some(_) if name != SSH => own_ssh().map(|ssh| real(name, arguments, Some(&ssh))).and_then(Err),
        // It prints its version only.
        Some(_) if arguments == [OsStr::new("-V")] => Err(real(name, arguments, None)),
        Some((guard, request)) => through(&guard, &request, arguments),
    };
    ran.unwrap_or_else(|failure| {
        complain(format_args!("{name}: {failure}"));
        FAILED
    })
}

/// Becomes the real program, which connects with `ssh`. Returns only if it cannot.
fn real(name: &str, arguments: &[OsString], ssh: Option<&Path>) -> Failure {
    let Some(program) = other_in_path(name) else {
        return Failure::new(format!("the real `{name}` is not in PATH; install the OpenSSH client"));
    };
    let mut command = Command::new(&program);
    if let Some(ssh) = ssh {
        command.arg("-S").arg(ssh);
    }
    let error = command.args(arguments).exec();
    Failure::new(format!("{} cannot be started ({error})", program.display()))
}

/// The path in PATH under which this program is ssh.
fn own_ssh() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().and_then(|own| own.canonicalize())?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(SSH));
    let is_own = |ssh: &PathBuf| is_program(ssh) && ssh.canonicalize().is_ok_and(|found| found == own);
    found.find(is_own).ok_or_else(|| {
        Failure::new("`ssh` in PATH is not opsctl; link opsctl as `ssh` into a folder of PATH".to_owned())
    })
}

/// Makes a call through the broker of a guard.
fn through(guard: &Address, request: &Request, arguments: &[OsString]) -> Result<u8, Failure> {
    let payload: Vec<u8> =
        arguments.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect();
    let has_stdin = has_stdin();
    let stream = guard_link::begin(guard, Call::Ssh { has_stdin }, &payload, request)?;
    // What passes stdin on ends with the process, or when nothing reads any more.
    loop {
        match caller::reply(&stream) {
            Ok(Reply::Reads) => {
                let input = stream.try_clone()?;
                thread::spawn(move || send_stdin(has_stdin, &input));
            }
            Ok(Reply::Runs { pipe: false }) => break,
            Ok(Reply::Runs { pipe: true }) => {
                let input = pipe::receive(&stream)?;
                thread::spawn(move || fill(&input));
                break;
            }
            Ok(Reply::Refused(why)) => {
                complain_as_is(why);
                return Ok(FAILED);
            }
            Ok(_) => return Err(guard_link::unexpected().into()),
            Err(error) => return Err(Failure::new(format!("the guard ended before it answered ({error})"))),
        }
    }
    receive(&stream).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the guard has ended the call".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(format!("{why}; how the command ended is not known"))
    })
}

/// Whether stdin is open and not the empty device.
fn has_stdin() -> bool {
    let own = rustix::fs::fstat(rustix::stdio::stdin());
    let null = Path::new(NULL).metadata();
    let is_null = |own: &rustix::fs::Stat| {
        use std::os::unix::fs::MetadataExt as _;
        null.is_ok_and(|null| null.file_type().is_char_device() && null.rdev() == own.st_rdev)
    };
    own.is_ok_and(|own| !is_null(&own))
}

/// Writes stdin to its end into a pipe, without a copy in this process where the system can. It does not wait within `splice`,
/// which locks the pipe.
fn fill(input: &OwnedFd) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    loop {
        wait(stdin, PollFlags::IN)?;
        wait(input, PollFlags::OUT)?;
        match splice(stdin, None, input, None, MOST, SpliceFlags::NONBLOCK) {
            Ok(0) => return Ok(()),
            Err(Errno::INVAL) => break,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut data = vec![0; INPUT];
    loop {
        let mut rest = match read_stdin(&mut data) {
            [] => return Ok(()),
            rest => rest,
        };
        while !rest.is_empty() {
            let written = rustix::io::write(input, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
    }
}

/// Sends stdin to its end, in frames.
fn send_stdin(has_stdin: bool, mut stream: &UnixStream) -> io::Result<()> {
    use io::Write as _;

    let mut data = vec![0; INPUT];
    loop {
        let data = if has_stdin { read_stdin(&mut data) } else { &[] };
        stream.write_all(&head(Kind::Stdin, data.len()))?;
        if data.is_empty() {
            return Ok(());
        }
        stream.write_all(data)?;
    }
}

/// Reads a part of stdin; none is its end.
fn read_stdin(data: &mut [u8]) -> &[u8] {
    let stdin = rustix::stdio::stdin();
    loop {
        match rustix::io::read(stdin, &mut *data) {
            Err(Errno::INTR) => {}
            // Another process has set stdin to return at once.
            Err(Errno::AGAIN) if wait(stdin, PollFlags::IN).is_ok() => {}
            read => return data.get(..read.unwrap_or(0)).unwrap_or_default(),
        }
    }
}

/// Moves data from the connection to stdout if that is a pipe. Returns how much it has moved.
fn moved(stream: &UnixStream, length: usize) -> io::Result<usize> {
    let mut done = 0;
    while done < length {
        match splice(stream, None, rustix::stdio::stdout(), None, length - done, SpliceFlags::empty()) {
            Ok(0) | Err(Errno::INVAL | Errno::AGAIN) => break,
            Ok(moved) => done += moved,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// Passes on what the program prints, until it ends. Returns its exit code.
fn receive(mut stream: &UnixStream) -> io::Result<u8> {
    use io::Read as _;

    let mut data = vec![0; MOST];
    loop {
        let mut bytes = [0; HEAD];
        stream.read_exact(&mut bytes)?;
        let (kind, length) = read_head(bytes, MOST)?;
        // What is left after stdout has taken a part without a copy in this process.
        let length = if kind == Kind::Stdout { length - moved(stream, length)? } else { length };
        let data = data.get_mut(..length).unwrap_or_default();
        stream.read_exact(data)?;
        match kind {
            Kind::Stdout => pass_on(Stream::Stdout, data)?,
            // Errors of stderr cannot be reported.
            Kind::Stderr => drop(pass_on(Stream::Stderr, data)),
            Kind::Exit => return Ok(data.first().copied().unwrap_or(FAILED)),
            Kind::Stdin => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
