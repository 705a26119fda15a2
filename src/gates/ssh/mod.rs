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
pub mod stated;
mod streams;
mod transfer;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
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

/// The most calls at once, and those of one user.
const MOST_CALLS: usize = 200;
const MOST_OF_USER: usize = 150;

/// The most scripts that are read at once.
const MOST_SCRIPTS: usize = 16;

/// The longest script in bytes: it becomes an argument.
const LONGEST_SCRIPT: usize = 100_000;

/// How long a script may take to arrive, with the wait for its turn.
const SCRIPT_TIME: Duration = Duration::from_mins(1);

/// The fewest bytes of a secret of the caller: shorter ones would make output unreadable.
const SHORTEST_SECRET: usize = 6;

/// The most bytes of arguments, and of what a caller states of its session. The system takes 128 KiB for a command.
const ARGUMENTS: usize = 136 * 1024;
const FACTS: usize = 64 * 1024;

/// Why calls do not run.
const NO_COMMAND: &str =
    "it has no command, and no script on stdin: the broker opens no interactive shell; state the command";
const TOO_LONG: &str =
    "what is on stdin has more than 100 KB, with quotes; copy it to the host, and run it there";
const DEPENDS: &str = "what the command does depends on its input: a shell with a script on stdin runs alone, as `ssh HOST bash -s`; otherwise write the input into the command, or give it none (`ssh -n`)";

/// The exit code of ssh for failures of its own.
const FAILED: u8 = 255;

/// The broker.
#[derive(Debug)]
pub struct Broker {
    connections: Connections,
    calls: Semaphore,
    of_users: Mutex<HashMap<u32, Arc<Semaphore>>>,
    scripts: Semaphore,
}

impl Default for Broker {
    fn default() -> Self {
        Self {
            connections: Connections::default(),
            calls: Semaphore::new(MOST_CALLS),
            of_users: Mutex::default(),
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
    input: Input,
    ticket: Ticket,
    /// Whether its output is passed on without secrets.
    redacts: bool,
}

/// What a command gets as input.
enum Input {
    /// Nothing.
    Null,
    /// What the caller sends.
    Passes,
    /// What has been read and judged.
    Read(Vec<u8>),
}

impl Broker {
    /// Serves a call until it ends, the caller has gone, or the guard ends.
    pub async fn serve(&self, call: Call<'_>, stop: Stop) -> io::Result<()> {
        let Call { stream, arguments, has_stdin, mut facts, uid, own, turns } = call;
        facts.secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
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
        let of_user = Arc::clone(
            self.of_users
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(uid)
                .or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_USER))),
        );
        let (Ok(_place), Ok(_own)) = (self.calls.try_acquire(), of_user.try_acquire()) else {
            let why = format!(
                "the guard runs {MOST_OF_USER} calls of ssh of this user already, or {MOST_CALLS} of all; try again later"
            );
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
            ran = self.run(plan, &judge, (&mut from, &output)) => ran,
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
        let mut asked = Asked::read(&arguments)?;
        let installation = judge.installation().await;
        let destination = hosts::find(&installation.inventory, &asked)?;
        let host = &destination.name;
        let work = stated::work(host, &asked)?;
        let text = String::from_utf8_lossy(&asked.text()).into_owned();
        let has_stdin = has_stdin && !asked.no_stdin && asked.terminals < 2;
        let mut input = if has_stdin { Input::Passes } else { Input::Null };
        let command = match &work {
            Work::Command if has_stdin && stated::with_script(&text, "").is_some() => {
                let script = self.script(from).await?;
                let runs = stated::with_script(&text, &script).unwrap_or_default();
                if runs.trim().is_empty() || runs.starts_with('-') {
                    return Err(NO_COMMAND.to_owned());
                }
                if runs.len() > LONGEST_SCRIPT {
                    return Err(TOO_LONG.to_owned());
                }
                input = Input::Null;
                let command = stated::command(host, &runs, Stdin::Plain);
                asked.command = vec![runs.into_bytes()];
                command
            }
            Work::Command if text.is_empty() => return Err(NO_COMMAND.to_owned()),
            Work::Command if has_stdin && depends_on_stdin(host, &text, judge).await => {
                if !stated::is_xargs(&text) {
                    return Err(DEPENDS.to_owned());
                }
                let read = self.script(from).await?;
                let command = stated::command(host, &text, Stdin::Script(&read));
                input = Input::Read(read.into_bytes());
                command
            }
            Work::Command => stated::command(host, &text, Stdin::Plain),
            Work::Transfer(stated) => {
                let stated = stated.clone()?;
                asked.command = stated.runs.map_or(asked.command, |runs| vec![runs.into_bytes()]);
                stated.command
            }
            // Each of their requests is judged when it arrives.
            Work::Push(_) | Work::Sftp => stated::command(host, "true", Stdin::Plain),
        };
        let redacts = installation.policy.redact_output && work == Work::Command;
        let ticket = judge.admit(command).await?;
        Ok(Plan { asked, destination, work, input, ticket, redacts })
    }

    /// Reads a script to its end. The error is a line for the caller.
    async fn script(&self, from: &mut OwnedReadHalf) -> Result<String, String> {
        let read = async {
            let _place = self.scripts.acquire().await.map_err(io::Error::other)?;
            streams::all_input(from, LONGEST_SCRIPT).await
        };
        let script = timeout(SCRIPT_TIME, read).await;
        let script = script.map_err(|_| "the script on stdin did not arrive within a minute".to_owned())?;
        let script = script.map_err(|error| format!("the script on stdin cannot be read ({error})"))?;
        let script = String::from_utf8(script.ok_or(TOO_LONG)?).ok().filter(|script| !script.contains('\0'));
        script
            .ok_or_else(|| "the script on stdin is not text, so what it does cannot be determined".to_owned())
    }

    async fn run(
        &self,
        plan: Plan,
        judge: &Judge<'_>,
        (from, output): (&mut OwnedReadHalf, &Output),
    ) -> io::Result<()> {
        let Plan { asked, destination, work, input, ticket, redacts } = plan;
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
        let mut command = place.call(&options, &asked.command)?;
        command.stdin(if matches!(input, Input::Null) { Stdio::null() } else { Stdio::piped() });
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
            ended = passed(stdin, &work, input, (&transfer, from)) => return ended.map(drop),
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
    input: Input,
    (transfer, from): (&Transfer<'_>, &mut OwnedReadHalf),
) -> io::Result<std::convert::Infallible> {
    match (stdin, input) {
        (None, _) | (_, Input::Null) => {}
        // A program that does not read its input to its end has ended.
        (Some(mut stdin), Input::Read(data)) => drop(stdin.write_all(&data).await),
        (Some(stdin), Input::Passes) => match work {
            Work::Sftp => transfer.requests(from, stdin).await?,
            Work::Push(repository) => transfer.push(repository, from, stdin).await?,
            Work::Command | Work::Transfer(_) => streams::pass_input(from, stdin).await?,
        },
    }
    std::future::pending().await
}

/// Whether what a command does depends on what is on stdin: the reader compares none, what is not known, and names of a secret file.
async fn depends_on_stdin(host: &str, text: &str, judge: &Judge<'_>) -> bool {
    let names = "/etc/shadow /etc/shadow /etc/shadow /etc/shadow\n".repeat(8);
    let inputs = [Stdin::Null, Stdin::Unknown, Stdin::Script(&names)];
    judge.depends(inputs.map(|stdin| stated::command(host, text, stdin))).await
}

async fn reply(output: &Output, reply: &Reply) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &serde_json::to_vec(reply)?)?;
    output.send_bytes(&bytes).await
}
