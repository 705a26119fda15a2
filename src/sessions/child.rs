//! Runs the client as a child process, in a process group of its own, with a timeout.

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

use super::credentials::Credential;
use super::lines::{self, Line};
use crate::machine::link::address;
use opsctl_machine::held_variables;

/// The time between SIGTERM and SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// How long output is still read after the client has ended: a process that it started may keep a pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The process to start.
pub struct Start<'a> {
    /// The client's program.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Environment variables, in addition to those of this process.
    pub variables: &'a [(&'a str, &'a str)],
    /// Credentials, which replace their environment variables.
    pub credentials: Vec<Credential>,
    /// The working directory.
    pub folder: &'a std::path::Path,
    /// Its standard input.
    pub stdin: String,
    /// The timeout.
    pub deadline: Duration,
}

/// A line of the child's output.
#[derive(Debug)]
pub enum Heard {
    /// From stdout.
    Out(Line),
    /// From stderr.
    Err(Line),
}

/// How the child ended.
#[derive(Debug)]
pub enum Ended {
    /// The child exited.
    Exited(ExitStatus),
    /// The timeout expired, and opsctl ended the child.
    Deadline,
    /// opsctl received a signal, and ended the child.
    Asked,
}

/// Runs the child until it ends, and passes every line to `hear`.
pub async fn run(start: Start<'_>, mut hear: impl FnMut(Heard)) -> io::Result<Ended> {
    // Before the start, so that no signal is lost.
    let mut asked =
        [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
    let mut command = Command::new(start.program);
    // Hooks have notices delivered by this process.
    command.env_remove("CLAUDEOPS_APPRISE_URLS").env_remove(held_variables::SOCKET);
    if std::env::var_os(address::VARIABLE).is_some() {
        // The guard has the ledger, and its password.
        command.env_remove("CLAUDEOPS_DB_URL").env_remove("CLAUDEOPS_DB_PASSWORD_FILE");
    }
    for credential in &start.credentials {
        command.env_remove(credential.variable).env(credential.descriptor, credential.number());
    }
    let mut child = command
        .args(start.arguments)
        .envs(start.variables.iter().copied())
        .current_dir(start.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    drop(start.credentials);
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
                    // SIGKILL cannot be ignored.
                    break child.wait().await?;
                }
                why = Some(Ended::Deadline);
                send(group, Signal::TERM);
                kill_at = Some(Instant::now() + KILL_AFTER);
            }
            Some(()) = terminate.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
            Some(()) = interrupt.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
            Some(()) = hangup.recv(), if kill_at.is_none() => ask(group, &mut why, &mut kill_at),
        }
    };
    // Ends the processes that it left in its group.
    send(group, Signal::KILL);
    let until = Instant::now() + DRAIN_TIMEOUT;
    while let Ok(Some(line)) = timeout(until.saturating_duration_since(Instant::now()), heard.recv()).await {
        hear(line);
    }
    Ok(why.unwrap_or(Ended::Exited(status)))
}

fn ask(group: Option<Pid>, why: &mut Option<Ended>, kill_at: &mut Option<Instant>) {
    *why = Some(Ended::Asked);
    send(group, Signal::TERM);
    *kill_at = Some(Instant::now() + KILL_AFTER);
}

fn send(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // The group may have ended meanwhile.
        let _ = kill_process_group(group, signal);
    }
}

/// Reads both streams and writes stdin, in separate tasks, so that none blocks another.
fn listen(child: &mut Child, stdin: String) -> Receiver<Heard> {
    let (sender, receiver) = channel(64);
    if let Some(mut pipe) = child.stdin.take() {
        tokio::spawn(async move {
            // A client that ends early closes the pipe; its exit status shows why.
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
