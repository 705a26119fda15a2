//! A pipe that the guard hands to its caller: what the caller writes goes to the program without a copy in the guard.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Sends an end of a pipe, with one byte.
pub fn send(stream: impl AsFd, pipe: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let ends = [pipe.as_fd()];
    rights.push(SendAncillaryMessage::ScmRights(&ends));
    sendmsg(stream, &[IoSlice::new(&[0])], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what [`send`] has sent.
pub fn receive(stream: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    let mut ends = rights.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(ends) => ends.collect::<Vec<_>>(),
        _ => vec![],
    });
    ends.next().ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the guard sent no pipe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_written_into_a_received_pipe_arrives_at_its_other_end() {
        let (guard, caller) = UnixStream::pair().unwrap();
        let (reads, writes) = std::io::pipe().unwrap();
        send(&guard, &OwnedFd::from(writes)).unwrap();
        File::from(receive(&caller).unwrap()).write_all(b"data").unwrap();
        let mut read = Vec::new();
        File::from(OwnedFd::from(reads)).read_to_end(&mut read).unwrap();
        assert_eq!(read, b"data");
    }

    #[test]
    fn a_byte_without_a_pipe_is_an_error() {
        let (mut guard, caller) = UnixStream::pair().unwrap();
        guard.write_all(b"x").unwrap();
        assert_eq!(receive(&caller).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
