//! Reading a file that others write, without being held up or filled up by what they put in its place.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// What a file holds.
#[derive(Debug)]
pub enum Content {
    /// All of it.
    Bytes(Vec<u8>),
    /// It is larger than what is read; so many bytes it has.
    TooLarge(u64),
}

/// Reads a regular file of at most `limit` bytes. A pipe would keep its reader waiting, and a device may
/// have no end, so neither is read.
pub fn read(path: &Path, limit: u64) -> io::Result<Content> {
    open_and_read(path, OFlags::empty(), limit)
}

/// As [`read`], and a symbolic link is not followed: who may put a link there may not choose what is read.
pub fn read_no_link(path: &Path, limit: u64) -> io::Result<Content> {
    open_and_read(path, OFlags::NOFOLLOW, limit).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::new(ErrorKind::InvalidInput, "a symbolic link"),
        _ => error,
    })
}

fn open_and_read(path: &Path, flags: OFlags, limit: u64) -> io::Result<Content> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > limit {
        return Ok(Content::TooLarge(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes))
}
