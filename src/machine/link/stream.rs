//! The streams of a program that the guard runs for a caller. They are sent in frames after [`super::message::Reply::Runs`], and its
//! input after [`super::message::Reply::Reads`]: a kind, the length in bytes as four bytes, big-endian, and the data.

use std::io::{self, ErrorKind};

/// The size of the kind and the length in bytes.
pub const HEAD: usize = 5;

/// The most data of a frame to the guard in bytes.
pub const INPUT: usize = 64 * 1024;

/// The most data of a frame to the caller in bytes: what a large pipe contains.
pub const MOST: usize = 1024 * 1024;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Input of the program, from the caller; a frame without data is its end.
    Stdin,
    /// What the program prints on stdout.
    Stdout,
    /// What the program prints on stderr.
    Stderr,
    /// The exit code, one byte: the last frame.
    Exit,
}

/// The kinds, with their bytes.
const KINDS: [(Kind, u8); 4] =
    [(Kind::Stdin, b'i'), (Kind::Stdout, b'o'), (Kind::Stderr, b'e'), (Kind::Exit, b'x')];

/// The head of a frame with this much data, at most [`MOST`] bytes.
pub fn head(kind: Kind, length: usize) -> [u8; HEAD] {
    let byte = KINDS.iter().find(|(known, _)| *known == kind).map_or(0, |(_, byte)| *byte);
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [byte, a, b, c, d]
}

/// The kind and the length of the data after this head, at most `limit` bytes.
pub fn read_head([byte, a, b, c, d]: [u8; HEAD], limit: usize) -> io::Result<(Kind, usize)> {
    let kind = KINDS.iter().find(|(_, known)| *known == byte).map(|(kind, _)| *kind);
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    kind.filter(|_| length <= limit)
        .map(|kind| (kind, length))
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a frame of another form than agreed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_written_and_others_are_errors() {
        for (kind, _) in KINDS {
            assert_eq!(read_head(head(kind, MOST), MOST).unwrap(), (kind, MOST));
        }
        assert!(
            read_head(head(Kind::Stdin, INPUT + 1), INPUT).is_err() && read_head([0; HEAD], MOST).is_err()
        );
    }
}
