//! Standard input of hooks, limited in size and time.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use thiserror::Error;

/// The maximum size of hook input in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How long a hook waits for the end of its input, from the start of the process.
const TIMEOUT: Duration = Duration::from_secs(8);

/// The size in bytes of the first buffer, which holds most inputs.
const FIRST_BUFFER: usize = 16 * 1024;

/// Why the input of a hook is not available.
#[derive(Debug, Error)]
pub enum InputError {
    /// The writer keeps it open.
    #[error("stdin was not closed within {} s", TIMEOUT.as_secs())]
    NotClosed,
    /// It is larger than [`MAX_BYTES`]; the rest is not read.
    #[error("stdin has more than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// It cannot be read.
    #[error("stdin cannot be read ({0})")]
    Unreadable(#[from] io::Error),
}

/// Reads standard input to its end. `since` is when the process started.
pub fn read_all(since: Instant) -> Result<Vec<u8>, InputError> {
    // The standard library would buffer it once more.
    let stdin = rustix::stdio::stdin();
    let mut bytes = Vec::with_capacity(FIRST_BUFFER);
    while bytes.len() <= MAX_BYTES {
        // A read that would block has no timeout.
        let left = TIMEOUT.checked_sub(since.elapsed()).ok_or(InputError::NotClosed)?;
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Err(InputError::NotClosed),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(InputError::Unreadable(error.into())),
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(bytes.len());
        }
        match read(stdin, spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(InputError::Unreadable(error.into())),
        }
    }
    Err(InputError::TooLarge)
}
