//! The broker of ssh: the guard has the keys, and runs ssh for the agent's side.
//!
//! `options` and `hosts` read what a call asks for, `stated` states it as a bash command, and `judge` has it judged. `connections`
//! are shared by calls, and `streams` connects a call with its caller. `sftp` and `push` read the protocols in which a call states
//! what it does only while it runs.

mod connections;
mod hosts;
mod judge;
mod options;
mod push;
mod sftp;
mod stated;
mod streams;
mod transfer;

use std::io;
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, ChildStdin};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::gates::admission::Ticket;
use crate::guard::process::connections::{Stop, stopped};
use crate::machine::environment::Environment;
use crate::machine::link::frame;
use crate::machine::link::message::{Reply, SessionFacts};
use crate::machine::link::stream::Kind;
use connections::Connections;
use hosts::Destination;
use judge::Judge;
use opsctl_redact::stream::Stream;
use options::Asked;
use stated::{Stdin, Work};
use streams::Output;
use transfer::Transfer;

/// The most calls at once.
const MOST_CALLS: usize = 200;

/// The most scripts that are read at once.
const MOST_SCRIPTS: usize = 16;

/// The longest script in bytes.
const LONGEST_SCRIPT: usize = 1024 * 1024;

/// How long a script may take to arrive.
const SCRIPT_TIME: Duration = Duration::from_mins(10);

/// The most bytes of arguments, and of what a caller states of its session.
const ARGUMENTS: usize = 256 * 1024;
const FACTS: usize = 64 * 1024;

/// The exit code of ssh for failures of its own.
const FAILED: u8 = 255;

/// The broker.
#[derive(Debug)]
pub struct Broker {
    connections: Connections,
    calls: Semaphore,
    scripts: Semaphore,
}

impl Default for Broker {
    fn default() -> Self {
        Self {
            connections: Connections::default(),
            calls: Semaphore::new(MOST_CALLS),
            scripts: Semaphore::new(MOST_SCRIPTS),
        }
    }
}

/// A call of ssh on the agent's side.
#[derive(Debug)]
pub struct Call<'a> {
    /// The connection to the caller.
    pub stream: UnixStream,
    /// The arguments of ssh, each with a NUL after it.
    pub arguments: Vec<u8>,
    /// Whether the caller has any input.
    pub has_stdin: bool,
    /// The session of the caller, as it states it.
    pub facts: SessionFacts,
    /// The user of the caller.
    pub uid: u32,
    /// The settings of the guard.
    pub own: &'a Environment,
    /// The turns of work on the ledger.
    pub turns: &'a Semaphore,
}

/// What a call is to run.
struct Plan {
    asked: Asked,
    destination: Destination,
    work: Work,
    script: Option<Vec<u8>>,
    ticket: Ticket,
    /// Whether its output is passed on without secrets.
    redacts: bool,
}

impl Broker {
    /// Serves a call until it ends, the caller has gone, or the guard ends.
    pub async fn serve(&self, call: Call<'_>, stop: Stop) -> io::Result<()> {
        let Call { stream, arguments, has_stdin, facts, uid, own, turns } = call;
        let caller = stream.as_fd().try_clone_to_owned()?;
        let (mut from, to) = stream.into_split();
        let output = Output::new(to);
        let judge = Judge { facts, uid, own, turns };
        if arguments.len() > ARGUMENTS || serde_json::to_vec(&judge.facts)?.len() > FACTS {
            let why =
                "the arguments or the environment are too long; copy the command to a script on the host"
                    .to_owned();
            return reply(&output, &Reply::Refused(why)).await;
        }
        let Ok(_place) = self.calls.try_acquire() else {
            let why = format!("the guard runs {MOST_CALLS} calls of ssh already; try again later");
            return reply(&output, &Reply::Refused(why)).await;
        };
        let planned = tokio::select! {
            planned = self.plan(&arguments, has_stdin, &judge, &mut from) => planned,
            () = stopped(stop.clone()) => return Ok(()),
        };
        let plan = match planned {
            Ok(plan) => plan,
            Err(why) => return reply(&output, &Reply::Refused(why)).await,
        };
        reply(&output, &Reply::Runs).await?;
        tokio::select! {
            ran = self.run(plan, has_stdin, &judge, (&mut from, &output)) => ran,
            () = streams::gone(caller) => Ok(()),
            () = stopped(stop) => {
                output.send(Kind::Stderr, b"opsctl: the guard ends\r\n").await?;
                output.send(Kind::Exit, &[FAILED]).await
            }
        }
    }

    /// Ends the connections to hosts.
    pub async fn end(&self) {
        self.connections.end().await;
    }

    /// Reads and judges a call. The error is a text for the caller.
    async fn plan(
        &self,
        arguments: &[u8],
        has_stdin: bool,
        judge: &Judge<'_>,
        from: &mut OwnedReadHalf,
    ) -> Result<Plan, String> {
        let arguments = arguments.strip_suffix(b"\0").unwrap_or_default();
        let arguments: Vec<Vec<u8>> = arguments.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        let asked = Asked::read(&arguments)?;
        let installation = judge.installation().await;
        let destination = hosts::find(&installation.inventory, &asked)?;
        let host = &destination.name;
        let work = stated::work(host, &asked)?;
        let text = String::from_utf8_lossy(&asked.text()).into_owned();
        let has_stdin = has_stdin && !asked.no_stdin && asked.terminals < 2;
        let mut script = None;
        let command = match &work {
            Work::Command => {
                if has_stdin && runs_stdin(host, &text, judge).await {
                    script = Some(self.script(from).await?);
                }
                let stdin = match &script {
                    None if text.is_empty() => {
                        return Err("it has no command, and no script on stdin: the broker opens no interactive shell; state the command".to_owned());
                    }
                    Some(script) => Stdin::Script(std::str::from_utf8(script).unwrap_or_default()),
                    // What the command does does not depend on its input, if it has any.
                    None => Stdin::Plain,
                };
                stated::command(host, &text, stdin)
            }
            Work::Transfer(stated) => stated.clone()?.command,
            // Each of their requests is judged when it arrives.
            Work::Push(_) | Work::Sftp => stated::command(host, "true", Stdin::Plain),
        };
        let redacts = installation.policy.redact_output && work == Work::Command;
        let shown = match &work {
            Work::Transfer(Ok(stated)) => stated.shown.clone(),
            // A person has read the script in the call that was approved.
            _ => match &script {
                Some(script) => String::from_utf8_lossy(script).trim().to_owned(),
                None => text.trim().to_owned(),
            },
        };
        let ticket = judge.admit(command, shown).await?;
        Ok(Plan { asked, destination, work, script, ticket, redacts })
    }

    /// Reads a script to its end. The error is a line for the caller.
    async fn script(&self, from: &mut OwnedReadHalf) -> Result<Vec<u8>, String> {
        let _place = self.scripts.acquire().await.map_err(|error| error.to_string())?;
        let read = timeout(SCRIPT_TIME, streams::all_input(from, LONGEST_SCRIPT)).await;
        let script = read.map_err(|_| "the script on stdin did not arrive in time".to_owned())?;
        let script = script.map_err(|error| format!("the script on stdin cannot be read ({error})"))?;
        let script =
            script.ok_or("the script on stdin has more than 1 MiB; copy it to the host, and run it there")?;
        if std::str::from_utf8(&script).is_ok() && !script.contains(&0) {
            Ok(script)
        } else {
            Err("the script on stdin is not text, so what it does cannot be determined".to_owned())
        }
    }

    async fn run(
        &self,
        plan: Plan,
        has_stdin: bool,
        judge: &Judge<'_>,
        (from, output): (&mut OwnedReadHalf, &Output),
    ) -> io::Result<()> {
        let Plan { asked, destination, work, script, ticket, redacts } = plan;
        let place = match self.connections.place(&destination).await {
            Ok(place) => place,
            Err(error) => {
                judge.settle(ticket, FAILED).await;
                output.send(Kind::Stderr, format!("{error}\n").as_bytes()).await?;
                return output.send(Kind::Exit, &[FAILED]).await;
            }
        };
        let mut options = vec![if asked.terminals >= 2 { "-tt" } else { "-T" }];
        options.extend(asked.is_subsystem.then_some("-s"));
        let has_stdin = script.is_some() || has_stdin && !asked.no_stdin && asked.terminals < 2;
        let mut command = place.call(&options, &asked.command)?;
        command.stdin(if has_stdin { Stdio::piped() } else { Stdio::null() });
        let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                let text = format!("opsctl: the guard cannot start ssh ({error})\n");
                output.send(Kind::Stderr, text.as_bytes()).await?;
                return output.send(Kind::Exit, &[FAILED]).await;
            }
        };
        let stream = || if redacts { Stream::new(judge.secrets()) } else { Stream::unchanged() };
        let stdin = child.stdin.take();
        let transfer = Transfer::new(&destination.name, judge, output);
        let code = tokio::select! {
            code = printed(&mut child, &work, [stream(), stream()], (&transfer, output)) => code?,
            ended = passed(stdin, &work, script, (&transfer, from)) => return ended.map(drop),
        };
        judge.settle(ticket, code).await;
        output.send(Kind::Exit, &[code]).await
    }
}

/// Passes the output of a call on until it ends. Returns its exit code.
async fn printed(
    child: &mut Child,
    work: &Work,
    [stdout, stderr]: [Stream; 2],
    (transfer, output): (&Transfer<'_>, &Output),
) -> io::Result<u8> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let out = async {
        match out {
            None => Ok(()),
            Some(out) if *work == Work::Sftp => transfer.answers(out).await,
            Some(out) => match streams::pass_output(out, Kind::Stdout, stdout, output).await? {
                None => Ok(()),
                Some(rest) => streams::pass_unchanged(rest.into_owned_fd()?, Kind::Stdout, output).await,
            },
        }
    };
    let err = async {
        match err {
            None => Ok(()),
            Some(err) => match streams::pass_output(err, Kind::Stderr, stderr, output).await? {
                None => Ok(()),
                Some(rest) => streams::pass_unchanged(rest.into_owned_fd()?, Kind::Stderr, output).await,
            },
        }
    };
    let (out, err) = tokio::join!(out, err);
    out.and(err)?;
    let code = child.wait().await?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}

/// Passes the input of a call on. Returns an error if the caller has gone, otherwise never.
async fn passed(
    stdin: Option<ChildStdin>,
    work: &Work,
    script: Option<Vec<u8>>,
    (transfer, from): (&Transfer<'_>, &mut OwnedReadHalf),
) -> io::Result<std::convert::Infallible> {
    match (stdin, script) {
        (None, _) => {}
        // A program that does not read its script to its end has ended.
        (Some(mut stdin), Some(script)) => drop(stdin.write_all(&script).await),
        (Some(stdin), None) => match work {
            Work::Sftp => transfer.requests(from, stdin).await?,
            Work::Push(repository) => transfer.push(repository, from, stdin).await?,
            Work::Command | Work::Transfer(_) => streams::pass_input(from, stdin).await?,
        },
    }
    std::future::pending().await
}

/// Whether a command may run what is on stdin: what the reader finds depends on it.
async fn runs_stdin(host: &str, text: &str, judge: &Judge<'_>) -> bool {
    let with = |stdin| stated::command(host, text, stdin);
    text.is_empty() || judge.differ(with(Stdin::Null), with(Stdin::Unknown)).await
}

async fn reply(output: &Output, reply: &Reply) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &serde_json::to_vec(reply)?)?;
    output.send_bytes(&bytes).await
}
