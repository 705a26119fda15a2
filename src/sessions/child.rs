//! Runs the client as a child process, in a process group of its own, with a timeout.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until, timeout};

use super::credentials::Credential;
use super::output::lines::{self, Line};
use crate::machine::link::address;
use opsctl_machine::held_variables;

/// The time between SIGTERM and SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// How long output is still read after the client has ended: a process that it started may keep a pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

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

/// Runs the client until it ends or `deadline` has passed, and passes every line to `hear`. `credentials` replace their
/// environment variables, `stdin` is its standard input, and a signal that is `asked` ends it.
pub async fn run(
    mut command: Command,
    credentials: Vec<Credential>,
    stdin: String,
    deadline: Duration,
    asked: &mut Receiver<Signal>,
    mut hear: impl FnMut(Heard),
) -> io::Result<Ended> {
    // Hooks have notices delivered by this process.
    command.env_remove("CLAUDEOPS_APPRISE_URLS").env_remove(held_variables::SOCKET);
    if std::env::var_os(address::VARIABLE).is_some() {
        // The guard has the ledger, and its password.
        command.env_remove("CLAUDEOPS_DB_URL").env_remove("CLAUDEOPS_DB_PASSWORD_FILE");
    }
    for credential in &credentials {
        command.env_remove(credential.variable).env(credential.descriptor, credential.number());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
    drop(credentials);
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut heard = listen(&mut child, stdin);

    let deadline = Instant::now() + deadline;
    let mut ending = None;
    let status = loop {
        let wake_at = ending.as_ref().map_or(deadline, |(_, kill_at)| *kill_at);
        let why = tokio::select! {
            status = child.wait() => break status?,
            Some(line) = heard.recv() => {
                hear(line);
                continue;
            }
            () = sleep_until(wake_at) => Ended::Deadline,
            Some(_) = asked.recv(), if ending.is_none() => Ended::Asked,
        };
        if ending.is_some() {
            send(group, Signal::KILL);
            // SIGKILL cannot be ignored.
            break child.wait().await?;
        }
        send(group, Signal::TERM);
        ending = Some((why, Instant::now() + KILL_AFTER));
    };
    // Ends the processes that it left in its group.
    send(group, Signal::KILL);
    let until = Instant::now() + DRAIN_TIMEOUT;
    while let Ok(Some(line)) = timeout(until.saturating_duration_since(Instant::now()), heard.recv()).await {
        hear(line);
    }
    Ok(ending.map_or(Ended::Exited(status), |(why, _)| why))
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
