//! Reads files that others write. Never blocks, and never reads more than a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// The whole content.
    Bytes(Vec<u8>),
    /// The file exceeds the limit; holds its size in bytes.
    TooLarge(u64),
}

/// Reads a regular file of at most `limit` bytes and follows symbolic links. Pipes, which may block, and
/// devices, which may be endless, are errors.
pub fn read(path: &Path, limit: u64) -> io::Result<Content> {
    open_and_read(path, OFlags::empty(), limit)
}

/// The largest file that a person or a program writes for opsctl: an inventory of 10,000 services is well below it.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The most memory that is reserved before a file is read.
const MOST_AT_ONCE: u64 = 1024 * 1024;

/// Reads a regular file of at most 16 MiB, and follows symbolic links.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    match read(path, MOST_BYTES)? {
        Content::Bytes(bytes) => Ok(bytes),
        Content::TooLarge(size) => {
            let why = format!("{size} bytes, and the maximum is 16 MiB");
            Err(io::Error::new(ErrorKind::FileTooLarge, why))
        }
    }
}

/// Reads a regular text file of at most 16 MiB, and follows symbolic links.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Reads a regular file of at most `limit` bytes. A symbolic link is an error: it could point to a file that
/// its creator cannot read.
pub fn read_no_link(path: &Path, limit: u64) -> io::Result<Content> {
    open_and_read(path, OFlags::NOFOLLOW, limit).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::new(ErrorKind::InvalidInput, "a symbolic link"),
        _ => error,
    })
}

/// Reads at most `limit` bytes from the start of a regular file; also returns its size in bytes. A symbolic
/// link is an error.
pub fn read_head(path: &Path, limit: u64) -> io::Result<(Vec<u8>, u64)> {
    let (file, size) = open_with(path, OFlags::NOFOLLOW)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

/// Reads at most `limit` bytes from the end of a regular file and follows symbolic links.
pub fn read_tail(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (mut file, size) = open_with(path, OFlags::empty())?;
    file.seek(SeekFrom::Start(size.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    // Bytes that are appended in the meantime are not read.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_and_read(path: &Path, flags: OFlags, limit: u64) -> io::Result<Content> {
    let (file, size) = open_with(path, flags)?;
    if size > limit {
        return Ok(Content::TooLarge(size));
    }
    // With room for its end, most files are read at once. The size of a sparse file may be any.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MOST_AT_ONCE)).unwrap_or(0) + 1);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes))
}

/// Opens a regular file for reading, and follows symbolic links; also returns its size in bytes.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    open_with(path, OFlags::empty())
}

/// Opens a regular file; also returns its size in bytes.
fn open_with(path: &Path, flags: OFlags) -> io::Result<(File, u64)> {
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
