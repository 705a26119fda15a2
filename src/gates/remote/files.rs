//! A session of sftp: each request is judged before the server of the host gets it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::oneshot;

use super::sftp::{Does, Files, LENGTH, MOST, OWN, Request, Waits, denied, paths, real_path};
use super::transfers::CHANGES;

/// Why a request is refused that is not known.
pub const UNKNOWN: &str = "the request is refused: what it does cannot be determined";

/// Why a request is refused that names a path which the server cannot follow.
const UNFOLLOWED: &str = "the request is refused: its path does not exist, or has too many links";

/// The client of a session, and what its requests may do.
#[expect(async_fn_in_trait, reason = "the gate of a host serves one client, on one thread")]
pub trait Client {
    /// Sends an answer.
    async fn answer(&self, packet: &[u8]) -> io::Result<()>;
    /// States why a request is refused, beside the answer to it.
    async fn refuse(&self, reason: &str) -> io::Result<()>;
    /// Judges a command on the host, which does what a request does. The error is the reason of a refusal.
    async fn judge(&self, command: &str) -> Result<(), String>;
}

/// Where requests come from.
pub trait Requests {
    /// Reads some into an empty buffer; nothing is their end.
    fn read(&mut self, data: &mut Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

/// A session.
#[derive(Debug, Default)]
pub struct Session(Mutex<Files>);

impl Session {
    /// Passes requests on that are allowed, and answers the others.
    pub async fn requests(
        &self,
        from: &mut impl Requests,
        to: &mut (impl AsyncWrite + Unpin),
        client: &impl Client,
    ) -> io::Result<()> {
        let (mut data, mut waiting) = (Vec::new(), Vec::new());
        loop {
            while let Some(packet) = next(&mut waiting)? {
                let body = packet.get(LENGTH..).unwrap_or_default();
                let mut real = Vec::new();
                for path in paths(body) {
                    real.push(self.real(&path, to).await?);
                }
                let Request { id, does, waits } = self.files().request(body, &real);
                let allowed = match &does {
                    Does::Passes => Ok(()),
                    Does::Command(command) => client.judge(&stated(command)).await,
                    Does::Unfollowed(command) => {
                        client.judge(&stated(command)).await.and(Err(UNFOLLOWED.to_owned()))
                    }
                    Does::Unknown => Err(UNKNOWN.to_owned()),
                };
                if let Err(reason) = allowed {
                    client.refuse(&reason).await?;
                    client.answer(&denied(id, &reason)).await?;
                    continue;
                }
                if let Some(waits) = waits {
                    self.files().passed(id, waits);
                }
                if to.write_all(&packet).await.is_err() {
                    return Ok(());
                }
            }
            data.clear();
            from.read(&mut data).await?;
            if data.is_empty() {
                return Ok(());
            }
            waiting.append(&mut data);
        }
    }

    /// The real path of a path, if the server knows it: a part of it may be a link.
    async fn real(&self, path: &[u8], to: &mut (impl AsyncWrite + Unpin)) -> io::Result<Option<Vec<u8>>> {
        let (answer, real) = oneshot::channel();
        self.files().passed(OWN, Waits::Real(answer));
        to.write_all(&real_path(path)).await?;
        Ok(real.await.ok().flatten())
    }

    /// Passes the answers of the server on, each as a whole.
    pub async fn answers(&self, mut from: impl AsyncRead + Unpin, client: &impl Client) -> io::Result<()> {
        let mut waiting = Vec::new();
        while from.read_buf(&mut waiting).await? > 0 {
            while let Some(packet) = next(&mut waiting)? {
                let body = packet.get(LENGTH..).unwrap_or_default();
                let is_for_client = self.files().answer(body);
                if is_for_client {
                    client.answer(&packet).await?;
                }
            }
        }
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command that does the same as a request, and states whether it changes anything.
fn stated(command: &str) -> String {
    let reads = command.split("; ").all(|part| part.starts_with("cat "));
    if reads { command.to_owned() } else { format!("{command}; {CHANGES}") }
}

/// Takes a whole packet from the beginning of the data, if there is one.
fn next(waiting: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = waiting.first_chunk::<LENGTH>() else { return Ok(None) };
    let length = LENGTH + usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX - LENGTH);
    if length > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if waiting.len() < length {
        return Ok(None);
    }
    let rest = waiting.split_off(length);
    Ok(Some(std::mem::replace(waiting, rest)))
}
