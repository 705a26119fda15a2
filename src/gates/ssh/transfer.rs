//! Calls that state what they do only while they run: each request is judged before it passes.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedReadHalf;
use tokio::process::ChildStdin;
use tokio::sync::oneshot;

use super::judge::Judge;
use super::push::{References, references};
use super::sftp::{Does, Files, LENGTH, MOST, OWN, Request, Waits, denied, paths, real_path};
use super::stated::quoted;
use super::streams::{Output, input, pass_input};
use crate::machine::link::stream::Kind;

/// A call for a host.
pub struct Transfer<'a> {
    host: &'a str,
    judge: &'a Judge<'a>,
    output: &'a Output,
    files: Mutex<Files>,
}

impl<'a> Transfer<'a> {
    /// For a host, with its caller.
    pub fn new(host: &'a str, judge: &'a Judge<'a>, output: &'a Output) -> Self {
        Self { host, judge, output, files: Mutex::default() }
    }

    /// Passes the requests of sftp on that the policy allows, and answers the others.
    pub async fn requests(&self, from: &mut OwnedReadHalf, mut to: ChildStdin) -> io::Result<()> {
        let (mut data, mut waiting) = (Vec::new(), Vec::new());
        loop {
            while let Some(packet) = next(&mut waiting)? {
                let body = packet.get(LENGTH..).unwrap_or_default();
                let mut real = Vec::new();
                for path in paths(body) {
                    real.push(self.real(&path, &mut to).await?);
                }
                let Request { id, does, waits } = self.files().request(self.host, body, &real);
                if let Err(reason) = self.allowed(does).await {
                    self.output.send(Kind::Stderr, format!("{reason}\n").as_bytes()).await?;
                    self.output.send(Kind::Stdout, &denied(id, &reason)).await?;
                    continue;
                }
                if let Some(waits) = waits {
                    self.files().passed(id, waits);
                }
                if to.write_all(&packet).await.is_err() {
                    return Ok(());
                }
            }
            input(from, &mut data).await?;
            if data.is_empty() {
                return Ok(());
            }
            waiting.append(&mut data);
        }
    }

    /// The real path of a path, if the server knows it: a part of it may be a link.
    async fn real(&self, path: &[u8], to: &mut ChildStdin) -> io::Result<Option<Vec<u8>>> {
        let (answer, real) = oneshot::channel();
        self.files().passed(OWN, Waits::Real(answer));
        to.write_all(&real_path(path)).await?;
        Ok(real.await.ok().flatten())
    }

    /// Passes the answers of sftp on, each as a whole.
    pub async fn answers(&self, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut waiting = Vec::new();
        while from.read_buf(&mut waiting).await? > 0 {
            while let Some(packet) = next(&mut waiting)? {
                let body = packet.get(LENGTH..).unwrap_or_default();
                let is_for_client = self.files().answer(body);
                if is_for_client {
                    self.output.send(Kind::Stdout, &packet).await?;
                }
            }
        }
        Ok(())
    }

    /// Passes a push to a repository on if the policy allows all references that it changes; otherwise it ends.
    pub async fn push(
        &self,
        repository: &str,
        from: &mut OwnedReadHalf,
        mut to: ChildStdin,
    ) -> io::Result<()> {
        let (mut data, mut begun) = (Vec::new(), Vec::new());
        let found = loop {
            input(from, &mut data).await?;
            if data.is_empty() {
                break References::Complete(vec![]);
            }
            begun.append(&mut data);
            match references(&begun) {
                References::Incomplete => {}
                found => break found,
            }
        };
        let allowed = match found {
            References::Complete(names) if names.is_empty() => Ok(()),
            References::Complete(names) => {
                let path = repository.split_once(':').map_or("", |(_, path)| path);
                // The repository may have programs of its own, which git runs.
                let receives = quoted(&format!("git-receive-pack {path}"));
                let command =
                    format!("git push {repository} {}; ssh {} {receives}", names.join(" "), self.host);
                self.allowed(Does::Command(command)).await
            }
            _ => self.allowed(Does::Unknown).await,
        };
        if let Err(reason) = allowed {
            // Without its input, git on the host ends.
            return self.output.send(Kind::Stderr, format!("{reason}\n").as_bytes()).await;
        }
        if begun.is_empty() || to.write_all(&begun).await.is_err() {
            return Ok(());
        }
        pass_input(from, to).await
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn admitted(&self, command: String) -> Result<(), String> {
        let ticket = self.judge.admit(command).await?;
        self.judge.settle(ticket, 0).await;
        Ok(())
    }

    async fn allowed(&self, does: Does) -> Result<(), String> {
        match does {
            Does::Passes => Ok(()),
            Does::Command(command) => self.admitted(command).await,
            Does::Unknown => Err("the request is refused: what it does cannot be determined".to_owned()),
        }
    }
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
