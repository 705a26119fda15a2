//! Frames: the length of a message in bytes as four bytes, big-endian, and the message.

use std::io::{self, ErrorKind, Read, Write};

/// The size of the length in bytes.
pub const HEAD: usize = 4;

/// The largest request without its payload, in bytes.
pub const REQUEST: usize = 1024 * 1024;

/// The largest payload of a request in bytes: the limit on hook input, and one byte that shows that there is more.
pub const PAYLOAD: usize = 8 * 1024 * 1024 + 1;

/// The largest message to the caller, and the largest answer to a question, in bytes.
pub const REPLY: usize = 8 * 1024 * 1024;

/// Writes a message in one piece.
pub fn write(stream: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(|_| too_large(message.len()))?;
    let mut frame = Vec::with_capacity(HEAD + message.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(message);
    stream.write_all(&frame)
}

/// Reads a message of at most `limit` bytes. The end of the stream before the first byte is an error, too.
pub fn read(stream: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head)?;
    let length = length(head, limit)?;
    let mut message = Vec::new();
    // A stated length alone takes no memory.
    let read = stream.take(length as u64).read_to_end(&mut message)?;
    if read < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

/// The length in bytes that a frame states, if it is at most `limit`.
pub fn length(head: [u8; HEAD], limit: usize) -> io::Result<usize> {
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    if length > limit { Err(too_large(length)) } else { Ok(length) }
}

fn too_large(length: usize) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a message of {length} bytes is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_as_it_was_sent() {
        for message in [&b""[..], b"{}", &vec![7; 70_000]] {
            let mut stream = Vec::new();
            write(&mut stream, message).unwrap();
            assert_eq!(read(&mut stream.as_slice(), 70_000).unwrap(), message);
        }
    }

    #[test]
    fn a_message_over_the_limit_or_cut_off_is_an_error() {
        let mut stream = Vec::new();
        write(&mut stream, b"12345").unwrap();
        let kind = |bytes: &[u8], limit| read(&mut &*bytes, limit).unwrap_err().kind();
        assert_eq!(kind(&stream, 4), ErrorKind::InvalidData);
        assert_eq!(kind(&[0xff; 8], 1 << 20), ErrorKind::InvalidData);
        for length in 0..stream.len() {
            assert_eq!(kind(&stream[..length], 5), ErrorKind::UnexpectedEof, "{length}");
        }
    }
}
