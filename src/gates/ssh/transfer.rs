//! Calls that state what they do only while they run: each request is judged before it passes.

use std::io;

use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::unix::OwnedReadHalf;
use tokio::process::ChildStdin;

use super::judge::Judge;
use super::streams::{Output, input, pass_input};
use crate::gates::approved::States;
use crate::gates::remote::files::{Client, Requests, Session, UNKNOWN};
use crate::gates::remote::input::{Stdin, command as stated};
use crate::gates::remote::push::{References, references};
use crate::gates::remote::rules::{Rules, rules};
use crate::machine::link::stream::Kind;

/// A call for a host.
pub struct Transfer<'a> {
    host: &'a str,
    judge: &'a Judge<'a>,
    output: &'a Output,
    files: Session,
}

impl<'a> Transfer<'a> {
    /// For a host, with its caller.
    pub fn new(host: &'a str, judge: &'a Judge<'a>, output: &'a Output) -> Self {
        Self { host, judge, output, files: Session::default() }
    }

    /// Passes the requests of sftp on that the policy allows, and answers the others.
    pub async fn requests(&self, from: &mut OwnedReadHalf, mut to: ChildStdin) -> io::Result<()> {
        self.files.requests(from, &mut to, self).await
    }

    /// Passes the answers of sftp on.
    pub async fn answers(&self, from: impl AsyncRead + Unpin) -> io::Result<()> {
        self.files.answers(from, self).await
    }

    /// Passes a push to a repository on if the policy allows all references that it changes; otherwise it ends.
    pub async fn push(&self, from: &mut OwnedReadHalf, mut to: ChildStdin) -> io::Result<()> {
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
                self.admitted(format!("git push origin {}", names.join(" "))).await
            }
            _ => Err(UNKNOWN.to_owned()),
        };
        if let Err(reason) = allowed {
            // Without its input, git on the host ends.
            return self.refuse(&reason).await;
        }
        if begun.is_empty() || to.write_all(&begun).await.is_err() {
            return Ok(());
        }
        pass_input(from, to).await
    }

    /// Passes what a client of rsync sends on, if no filter rule reads a file of the host; otherwise it ends.
    pub async fn rules(&self, from: &mut OwnedReadHalf, mut to: ChildStdin) -> io::Result<()> {
        let (mut data, mut begun, mut sent) = (Vec::new(), Vec::new(), 0);
        loop {
            input(from, &mut data).await?;
            if data.is_empty() {
                return Ok(());
            }
            begun.append(&mut data);
            let (passes, is_known) = match rules(&begun) {
                Rules::Allowed => (begun.len(), true),
                Rules::Incomplete(passes) => (passes, false),
                // Without its input, rsync on the host ends.
                Rules::Refused(why) => return self.refuse(why).await,
            };
            if to.write_all(begun.get(sent..passes).unwrap_or_default()).await.is_err() {
                return Ok(());
            }
            sent = passes;
            if is_known {
                return pass_input(from, to).await;
            }
        }
    }

    async fn admitted(&self, command: String) -> Result<(), String> {
        let ticket = self.judge.admit(command, States::InPart).await?;
        self.judge.settle(ticket, 0).await;
        Ok(())
    }
}

impl Requests for OwnedReadHalf {
    async fn read(&mut self, data: &mut Vec<u8>) -> io::Result<()> {
        input(self, data).await
    }
}

impl Client for Transfer<'_> {
    async fn answer(&self, packet: &[u8]) -> io::Result<()> {
        self.output.send(Kind::Stdout, packet).await
    }

    async fn refuse(&self, reason: &str) -> io::Result<()> {
        self.output.send(Kind::Stderr, format!("{reason}\n").as_bytes()).await
    }

    async fn judge(&self, command: &str) -> Result<(), String> {
        self.admitted(stated(Some(self.host), command, Stdin::Plain)).await
    }
}
