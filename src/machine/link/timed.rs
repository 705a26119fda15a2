//! A stream with one deadline for all reads and writes: a peer that sends a byte at a time gains nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A stream until a deadline.
#[derive(Debug)]
pub struct Timed<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl<'a> Timed<'a> {
    /// The stream, until `until`.
    pub const fn new(stream: &'a UnixStream, until: Instant) -> Self {
        Self { stream, until }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// The kernel's name of a timeout is that of a read that would block.
fn named(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(named)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_peer_ends_a_read_at_the_deadline() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        let until = Instant::now() + Duration::from_millis(30);
        let error = Timed::new(&stream, until).read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(Timed::new(&stream, until).write(b"x").unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
