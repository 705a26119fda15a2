//! Reading a file that others write, without being held up or filled up by what they put in its place.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
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

/// The first bytes of a regular file, at most `limit`, and how many it has. A symbolic link is not followed.
pub fn read_head(path: &Path, limit: u64) -> io::Result<(Vec<u8>, u64)> {
    let (file, size) = open(path, OFlags::NOFOLLOW)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

/// The last bytes of a regular file, at most `limit`.
pub fn read_tail(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (mut file, size) = open(path, OFlags::empty())?;
    file.seek(SeekFrom::Start(size.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    // What is written in the meantime is left to the next reader.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_and_read(path: &Path, flags: OFlags, limit: u64) -> io::Result<Content> {
    let (file, size) = open(path, flags)?;
    if size > limit {
        return Ok(Content::TooLarge(size));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes))
}

/// A regular file and its size.
fn open(path: &Path, flags: OFlags) -> io::Result<(File, u64)> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, metadata.len()))
}
