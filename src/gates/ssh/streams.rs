//! The streams of a call: frames of the caller on one side, pipes of ssh on the other.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::ChildStdin;
use tokio::sync::Mutex;
use tokio::time::{interval, timeout};

use crate::machine::link::pipe;
use crate::machine::link::stream::{HEAD, INPUT, Kind, MOST, head, read_head};
use opsctl_redact::stream::{Stream, Until};

/// The first size of a buffer in bytes. One that is filled is doubled, up to [`INPUT`].
const FIRST: usize = 4 * 1024;

/// How long whole lines wait for further ones, which may state that they belong to a secret.
const LINES_WAIT: Duration = Duration::from_millis(10);

/// How long the beginning of a line waits for its end.
const PART_WAITS: Duration = Duration::from_millis(200);

/// How often it is checked whether the caller still runs.
const LOOKS: Duration = Duration::from_millis(300);

/// Frames to the caller.
#[derive(Debug)]
pub struct Output(Mutex<OwnedWriteHalf>);

impl Output {
    /// To this end of the connection.
    pub fn new(stream: OwnedWriteHalf) -> Self {
        Self(Mutex::new(stream))
    }

    /// Sends data, in as many frames as it needs.
    pub async fn send(&self, kind: Kind, data: &[u8]) -> io::Result<()> {
        let mut stream = self.0.lock().await;
        for part in data.chunks(INPUT) {
            stream.write_all(&head(kind, part.len())).await?;
            stream.write_all(part).await?;
        }
        Ok(())
    }

    /// Sends this much of what a pipe contains, without a copy in this process.
    async fn splice(&self, kind: Kind, from: &Receiver, length: usize) -> io::Result<()> {
        let mut stream = self.0.lock().await;
        stream.write_all(&head(kind, length)).await?;
        let stream: &UnixStream = stream.as_ref();
        let mut left = length;
        while left > 0 {
            let splice = || Ok(splice(from, None, stream, None, left, SpliceFlags::NONBLOCK)?);
            left -= stream.async_io(Interest::WRITABLE, splice).await?;
        }
        Ok(())
    }

    /// Sends the end of a pipe into which the caller writes.
    pub async fn send_pipe(&self, writes: &OwnedFd) -> io::Result<()> {
        let stream = self.0.lock().await;
        let stream: &UnixStream = stream.as_ref();
        stream.async_io(Interest::WRITABLE, || pipe::send(stream, writes)).await
    }

    /// Sends bytes that are no frame.
    pub async fn send_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().await.write_all(bytes).await
    }
}

/// Reads a frame of input; no data is its end.
pub async fn input(from: &mut OwnedReadHalf, data: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; HEAD];
    from.read_exact(&mut bytes).await?;
    let (Kind::Stdin, length) = read_head(bytes, INPUT)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    data.resize(length, 0);
    from.read_exact(data).await.map(drop)
}

/// Reads all input of at most `most` bytes; `None` if there is more.
pub async fn all_input(from: &mut OwnedReadHalf, most: usize) -> io::Result<Option<Vec<u8>>> {
    let (mut all, mut data) = (Vec::new(), Vec::new());
    loop {
        input(from, &mut data).await?;
        if data.is_empty() {
            return Ok(Some(all));
        }
        if all.len() + data.len() > most {
            return Ok(None);
        }
        all.append(&mut data);
    }
}

/// Passes input on until it ends, or until the program reads no more.
pub async fn pass_input(from: &mut OwnedReadHalf, mut to: ChildStdin) -> io::Result<()> {
    let mut data = Vec::new();
    loop {
        input(from, &mut data).await?;
        if data.is_empty() || to.write_all(&data).await.is_err() {
            return Ok(());
        }
    }
}

/// Passes what a pipe contains on until it ends, without a copy in this process.
pub async fn pass_unchanged(from: OwnedFd, kind: Kind, to: &Output) -> io::Result<()> {
    let _ = fcntl_setpipe_size(&from, MOST);
    let mut from = Receiver::from_owned_fd(from)?;
    loop {
        let waiting = usize::try_from(ioctl_fionread(&from)?).unwrap_or(MOST);
        if waiting > 0 {
            to.splice(kind, &from, waiting.min(MOST)).await?;
        } else {
            let mut byte = [0];
            if from.read(&mut byte).await? == 0 {
                return Ok(());
            }
            to.send(kind, &byte).await?;
        }
    }
}

/// Passes output on until it ends, or until the rest is to pass unchanged, which is returned.
pub async fn pass_output<F: AsyncRead + Unpin>(
    mut from: F,
    kind: Kind,
    mut text: Stream,
    to: &Output,
) -> io::Result<Option<F>> {
    let mut buffer = vec![0; FIRST];
    let mut next = None;
    while !text.is_unchanged() {
        let read = from.read(&mut buffer);
        let read = match next {
            None => read.await?,
            Some((wait, until)) => {
                let Ok(read) = timeout(wait, read).await else {
                    to.send(kind, &text.take(until)).await?;
                    next = (!text.is_empty()).then_some((PART_WAITS, Until::Now));
                    continue;
                };
                read?
            }
        };
        if read == 0 {
            return to.send(kind, &text.take(Until::Now)).await.map(|()| None);
        }
        let data = buffer.get(..read).unwrap_or_default();
        text.add(data);
        if text.is_due() {
            to.send(kind, &text.take(Until::Line)).await?;
        }
        next = (!text.is_empty()).then_some((LINES_WAIT, Until::Line));
        if read == buffer.len() && read < INPUT {
            buffer.resize(2 * read, 0);
        }
    }
    Ok(Some(from))
}

/// Waits until the caller at the other end of a connection has gone.
pub async fn gone(stream: OwnedFd) {
    let mut looks = interval(LOOKS);
    loop {
        looks.tick().await;
        let mut polled = [PollFd::new(&stream, PollFlags::RDHUP)];
        if poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0) {
            return;
        }
    }
}
