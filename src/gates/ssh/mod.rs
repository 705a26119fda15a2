//! The broker of ssh: the guard has the keys, and runs ssh for the agent's side.
//!
//! `options` and `hosts` read which host a call asks for, `gates::remote` what it does there, and `judge` has it judged. `sent`
//! writes it for the shell of the host. `connections` are shared by calls, and `streams` connects a call with its caller. `transfer`
//! passes requests on that a call states only while it runs.

mod connections;
mod engines;
pub mod hosts;
mod judge;
pub mod options;
mod sent;
mod streams;
mod transfer;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, ChildStdin};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::gates::admission::Ticket;
use crate::gates::approved::States;
use crate::gates::remote::input::{self, Known, NO_COMMAND, Stdin, Takes, in_bash, is_script, known, takes};
use crate::gates::remote::transfers::Stated;
use crate::gates::remote::{Work, fetched, work};
use crate::guard::process::connections::{Stop, stopped};
use crate::machine::environment::Environment;
use crate::machine::link::frame;
use crate::machine::link::message::{Reply, SessionFacts};
use crate::machine::link::stream::{Kind, MOST};
use connections::Connections;
use engines::Engines;
use hosts::Destination;
use judge::Judge;
use opsctl_redact::stream::Stream;
use options::Asked;
use sent::sent;
use streams::Output;
use transfer::Transfer;

/// The most calls at once, and those of one user.
const MOST_CALLS: usize = 200;
const MOST_OF_USER: usize = 150;

/// The most scripts that are read at once.
const MOST_SCRIPTS: usize = 16;

/// How long a script may take to arrive, with the wait for its turn.
const SCRIPT_TIME: Duration = Duration::from_mins(1);

/// The fewest bytes of a secret of the caller: shorter ones would make output unreadable.
const SHORTEST_SECRET: usize = 6;

/// The most bytes of arguments, and of what a caller states of its session. The system takes 128 KiB for a command.
const ARGUMENTS: usize = 136 * 1024;
const FACTS: usize = 64 * 1024;

/// The exit code of ssh for failures of its own.
const FAILED: u8 = 255;

/// The broker.
#[derive(Debug)]
pub struct Broker {
    connections: Arc<Connections>,
    engines: Engines,
    calls: Semaphore,
    of_users: Mutex<HashMap<u32, Arc<Semaphore>>>,
    scripts: Semaphore,
}

impl Default for Broker {
    fn default() -> Self {
        Self {
            connections: Arc::default(),
            engines: Engines::default(),
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
    /// What the caller writes into a pipe.
    Pipe(OwnedFd),
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
            planned = self.plan(&arguments, has_stdin, &judge, (&mut from, &output)) => planned,
            () = stopped(stop.clone()) => return Ok(()),
        };
        let mut plan = match planned {
            Ok(plan) => plan,
            Err(why) => return reply(&output, &Reply::Refused(why)).await,
        };
        begin(&mut plan, &output).await?;
        tokio::select! {
            ran = self.run(plan, &judge, (&mut from, &output), stop.clone()) => ran,
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
        caller: (&mut OwnedReadHalf, &Output),
    ) -> Result<Plan, String> {
        let arguments = arguments.strip_suffix(b"\0").unwrap_or_default();
        let arguments: Vec<Vec<u8>> = arguments.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        let mut asked = Asked::read(&arguments)?;
        let installation = judge.installation().await;
        let destination = hosts::find(&installation.inventory, &asked)?;
        let host = &destination.name;
        let text = String::from_utf8_lossy(&asked.text()).trim_end_matches('\n').to_owned();
        let judged = in_bash(destination.shell, &text);
        let work = match (asked.is_subsystem, text.as_str()) {
            (false, text) => work(text)?,
            (true, "sftp") => Work::Sftp,
            (true, other) => {
                return Err(format!("the subsystem `{other}` is refused: the broker passes `sftp` only"));
            }
        };
        let has_stdin = has_stdin && !asked.no_stdin && asked.terminals < 2;
        let mut input = if has_stdin { Input::Passes } else { Input::Null };
        let command = match &work {
            Work::Command if text.is_empty() && !has_stdin => return Err(NO_COMMAND.to_owned()),
            Work::Command if has_stdin => {
                let depends = !is_script(&text) && judge.depends(host, &judged).await;
                let takes = takes(&text, depends)?;
                if takes == Takes::Data {
                    input::command(Some(host), &judged, Stdin::Plain)
                } else {
                    let Known { stated, runs, input: read } =
                        known((Some(host), destination.shell), &text, self.script(caller).await?)?;
                    input = read.map_or(Input::Null, Input::Read);
                    asked.command = vec![runs.into_bytes()];
                    stated
                }
            }
            Work::Command => input::command(Some(host), &judged, Stdin::Plain),
            Work::Transfer(stated) => {
                let command = input::command(Some(host), &stated.command, Stdin::Plain);
                asked.command = stated.runs.clone().map_or(asked.command, |runs| vec![runs.into_bytes()]);
                command
            }
            Work::Fetch(repository) => input::command(Some(host), &fetched(repository), Stdin::Plain),
            // The repository states programs that git runs before it reads anything.
            Work::Push(repository) => {
                input::command(Some(host), &format!("git-receive-pack {repository}"), Stdin::Plain)
            }
            // Each of their requests is judged when it arrives.
            Work::Sftp | Work::Engine => input::command(Some(host), "true", Stdin::Plain),
        };
        if !asked.is_subsystem && work != Work::Engine {
            asked.command = vec![sent(&asked.text(), destination.shell)];
        }
        let redacts = installation.policy.redact_output && work == Work::Command;
        let is_whole = work == Work::Command && matches!(input, Input::Null | Input::Passes);
        let ticket = judge.admit(command, States::of(is_whole)).await?;
        if ticket.is_approved {
            input = Input::Null;
        }
        Ok(Plan { asked, destination, work, input, ticket, redacts })
    }

    /// Reads the input of a call to its end; `None` if it is too long. The error is a line for the caller.
    async fn script(&self, (from, output): (&mut OwnedReadHalf, &Output)) -> Result<Option<Vec<u8>>, String> {
        let read = async {
            let _place = self.scripts.acquire().await.map_err(io::Error::other)?;
            reply(output, &Reply::Reads).await?;
            streams::all_input(from, input::LONGEST).await
        };
        let script = timeout(SCRIPT_TIME, read).await;
        let script = script.map_err(|_| "the script on stdin did not arrive within a minute".to_owned())?;
        script.map_err(|error| format!("the script on stdin cannot be read ({error})"))
    }

    async fn run(
        &self,
        plan: Plan,
        judge: &Judge<'_>,
        (from, output): (&mut OwnedReadHalf, &Output),
        stop: Stop,
    ) -> io::Result<()> {
        let Plan { asked, destination, work, input, ticket, redacts } = plan;
        if work == Work::Engine {
            let words: Vec<Vec<u8>> = asked.text().split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
            let gate = self.engines.gate((&destination, &words), &self.connections, judge.own, stop);
            let gate = gate.map_err(io::Error::other)?;
            engines::serve(&gate, judge.uid, (from, output)).await?;
            judge.settle(ticket, 0).await;
            return output.send(Kind::Exit, &[0]).await;
        }
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
        let (stdin, input) = match input {
            Input::Null => (Stdio::null(), input),
            Input::Pipe(reads) => (Stdio::from(reads), Input::Null),
            Input::Passes | Input::Read(_) => (Stdio::piped(), input),
        };
        command.stdin(stdin);
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
        (None, _) | (_, Input::Null | Input::Pipe(_)) => {}
        // A program that does not read its input to its end has ended.
        (Some(mut stdin), Input::Read(data)) => drop(stdin.write_all(&data).await),
        (Some(stdin), Input::Passes) => match work {
            Work::Sftp => transfer.requests(from, stdin).await?,
            Work::Push(_) => transfer.push(from, stdin).await?,
            Work::Transfer(Stated { has_rules: true, .. }) => transfer.rules(from, stdin).await?,
            Work::Command | Work::Engine | Work::Fetch(_) | Work::Transfer(_) => {}
        },
    }
    std::future::pending().await
}

/// States that a call runs, and how its input gets to it.
async fn begin(plan: &mut Plan, output: &Output) -> io::Result<()> {
    let is_read = |work: &Work| {
        matches!(
            work,
            Work::Sftp | Work::Push(_) | Work::Engine | Work::Transfer(Stated { has_rules: true, .. })
        )
    };
    if is_read(&plan.work) {
        reply(output, &Reply::Reads).await?;
    } else if matches!(plan.input, Input::Passes) {
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
        // A large one takes fewer turns.
        let _ = fcntl_setpipe_size(&writes, MOST);
        plan.input = Input::Pipe(reads);
        reply(output, &Reply::Runs { pipe: true }).await?;
        return output.send_pipe(&writes).await;
    }
    reply(output, &Reply::Runs { pipe: false }).await
}

async fn reply(output: &Output, reply: &Reply) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &serde_json::to_vec(reply)?)?;
    output.send_bytes(&bytes).await
}
