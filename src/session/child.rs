//! The client as a child: started in a process group of its own, watched, ended in time, never left behind.

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::{self, Line};

/// Between the polite signal and the other one.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a pipe is listened to after the client has ended: a process that it left may hold it open.
const ECHO: Duration = Duration::from_secs(1);

/// What is to be started.
pub struct Start<'a> {
    /// The client.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Variables beside those of this process.
    pub variables: &'a [(&'a str, &'a str)],
    /// Where.
    pub folder: &'a std::path::Path,
    /// What it reads on its standard input.
    pub stdin: String,
    /// How long it may run.
    pub deadline: Duration,
}

/// A line of the child's.
#[derive(Debug)]
pub enum Heard {
    /// On its standard output.
    Out(Line),
    /// On its standard error.
    Err(Line),
}

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself.
    Alone(ExitStatus),
    /// It was ended at the deadline.
    Deadline,
    /// It was ended because this program was asked to end.
    Asked,
}

/// Runs it to its end; `hear` is told every line.
pub async fn run(start: Start<'_>, mut hear: impl FnMut(Heard)) -> io::Result<Ended> {
    // Before the start: a signal that comes first must not be lost.
    let mut asked =
        [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
    let mut child = Command::new(start.program)
        .args(start.arguments)
        .envs(start.variables.iter().copied())
        .current_dir(start.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut heard = listen(&mut child, start.stdin);

    let deadline = Instant::now() + start.deadline;
    let mut why = None;
    let mut kill_at = None;
    let [terminate, interrupt, hangup] = &mut asked;
    let status = loop {
        let wake_at = kill_at.unwrap_or(deadline);
        tokio::select! {
            status = child.wait() => break status?,
            Some(line) = heard.recv() => hear(line),
            () = sleep_until(wake_at) => {
                if kill_at.is_some() {
                    send(group, Signal::KILL);
                    // Nothing outlives it; from here only the end is waited for.
                    break child.wait().await?;
                }
                why = Some(Ended::Deadline);
                send(group, Signal::TERM);
                kill_at = Some(Instant::now() + PATIENCE);
            }
            Some(()) = terminate.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
            Some(()) = interrupt.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
            Some(()) = hangup.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
        }
    };
    // What it started and left behind goes with it.
    send(group, Signal::KILL);
    let until = Instant::now() + ECHO;
    while let Ok(Some(line)) = timeout(until.saturating_duration_since(Instant::now()), heard.recv()).await {
        hear(line);
    }
    Ok(why.unwrap_or(Ended::Alone(status)))
}

fn ask(group: Option<Pid>, why: &mut Option<Ended>, kill_at: &mut Option<Instant>) {
    *why = Some(Ended::Asked);
    send(group, Signal::TERM);
    *kill_at = Some(Instant::now() + PATIENCE);
}

fn send(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // It may have ended by itself in this very moment.
        let _ = kill_process_group(group, signal);
    }
}

/// Reads both streams and feeds the prompt, each on its own: none may wait for another.
fn listen(child: &mut Child, stdin: String) -> Receiver<Heard> {
    let (sender, receiver) = channel(64);
    if let Some(mut pipe) = child.stdin.take() {
        tokio::spawn(async move {
            // A client that ends early closes the pipe: how it ended tells why.
            let _ = pipe.write_all(stdin.as_bytes()).await;
        });
    }
    if let Some(stream) = child.stdout.take() {
        tokio::spawn(pass_on(stream, sender.clone(), Heard::Out));
    }
    if let Some(stream) = child.stderr.take() {
        tokio::spawn(pass_on(stream, sender, Heard::Err));
    }
    receiver
}

async fn pass_on(stream: impl AsyncRead + Unpin, sender: Sender<Heard>, heard: impl Fn(Line) -> Heard) {
    let mut stream = BufReader::with_capacity(64 * 1024, stream);
    while let Some(line) = lines::next(&mut stream).await {
        if sender.send(heard(line)).await.is_err() {
            break;
        }
    }
}
