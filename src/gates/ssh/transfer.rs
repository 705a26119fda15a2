//! Calls that state what they do only while they run: each request is judged before it passes.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedReadHalf;
use tokio::process::ChildStdin;

use super::judge::Judge;
use super::push::{References, references};
use super::sftp::{Does, Files, LENGTH, MOST, Request, denied};
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
                let Request { id, does } = self.files().request(self.host, body);
                let opens = matches!(does, Does::Command(_) | Does::Writes(..));
                if let Err(reason) = self.allowed(does).await {
                    if opens {
                        self.files().denied(id);
                    }
                    self.output.send(Kind::Stderr, format!("{reason}\n").as_bytes()).await?;
                    self.output.send(Kind::Stdout, &denied(id, &reason)).await?;
                } else if to.write_all(&packet).await.is_err() {
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

    /// Passes the answers of sftp on, each as a whole.
    pub async fn answers(&self, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut waiting = Vec::new();
        while from.read_buf(&mut waiting).await? > 0 {
            while let Some(packet) = next(&mut waiting)? {
                let body = packet.get(LENGTH..).unwrap_or_default();
                self.files().answer(body);
                self.output.send(Kind::Stdout, &packet).await?;
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
                let command = format!("git push {repository} {}", names.join(" "));
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

    async fn admitted(&self, command: String, shown: String) -> Result<(), String> {
        let ticket = self.judge.admit(command, shown).await?;
        self.judge.settle(ticket, 0).await;
        Ok(())
    }

    async fn allowed(&self, does: Does) -> Result<(), String> {
        match does {
            Does::Passes => Ok(()),
            Does::Command(command) => self.admitted(command.clone(), command).await,
            Does::Writes(command, shown) => self.admitted(command, shown).await,
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
