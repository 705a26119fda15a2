//! Requests of sftp, and of scp above it: the server of the system carries out what is allowed. A client reads of a refusal in the
//! answer: sshd discards what the server of a subsystem writes to stderr.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Stdin, stdin, stdout};
use tokio::process::Command;

use super::policy::usable;
use super::reasons::in_one_line;
use super::{environment, run};
use crate::gates::admission::{Admission, admit};
use crate::gates::approved::States;
use crate::gates::remote::files::{Client, Requests, Session};
use crate::machine::request::Request;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use opsctl_policy::model::rights::policy::Tier;

/// Where systems have the server.
const SERVERS: [&str; 4] = [
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/libexec/sftp-server",
    "/usr/lib/ssh/sftp-server",
];

/// The client at the other end of the connection.
struct Caller<'a>(&'a Request);

impl Requests for Stdin {
    async fn read(&mut self, data: &mut Vec<u8>) -> io::Result<()> {
        self.read_buf(data).await.map(drop)
    }
}

impl Client for Caller<'_> {
    async fn answer(&self, packet: &[u8]) -> io::Result<()> {
        let mut out = stdout();
        out.write_all(packet).await?;
        out.flush().await
    }

    async fn refuse(&self, _reason: &str) -> io::Result<()> {
        Ok(())
    }

    async fn judge(&self, command: &str) -> Result<(), String> {
        // It may have changed since the connection began.
        usable(self.0)?;
        match admit(Gate::Host, (command, States::InPart), &self.0.at(chrono::Utc::now())) {
            Admission::Refused(reasons) => Err(in_one_line(&reasons)),
            Admission::Passes(ticket) => {
                ticket.settle(&ToolResult::Succeeded, self.0);
                Ok(())
            }
        }
    }
}

/// Serves a client until it ends, or states why it cannot.
pub fn serve(request: &Request) -> Result<u8, String> {
    let server = SERVERS.iter().find(|server| Path::new(server).exists()).ok_or(
        "this host has no sftp-server: install the package openssh-sftp-server, or copy with `scp -O`",
    )?;
    let mut command = Command::new(server);
    if request.tier.is_none_or(|tier| tier == Tier::Observe) {
        command.arg("-R");
    }
    command.env_clear().envs(environment::variables()).stdin(Stdio::piped()).stdout(Stdio::piped());
    run::outliving(session(command, request))
        .map_err(|error| format!("{server} cannot serve this connection ({error})"))
}

/// Serves a client until it or the server ends. Returns the exit code.
async fn session(mut command: Command, request: &Request) -> io::Result<u8> {
    let mut child = command.spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (files, client) = (Session::default(), Caller(request));
    let requests = async {
        let mut to = to;
        let asked = files.requests(&mut stdin(), &mut to, &client).await;
        // The server ends with its input.
        drop(to);
        asked
    };
    let answers = files.answers(from, &client);
    let (requests, answers) = (std::pin::pin!(requests), std::pin::pin!(answers));
    match futures_util::future::select(requests, answers).await {
        // A request that cannot be read ends the session as its end does.
        futures_util::future::Either::Left((_, answers)) => answers.await?,
        futures_util::future::Either::Right((answered, _)) => answered?,
    }
    child.wait().await.map(run::code)
}
