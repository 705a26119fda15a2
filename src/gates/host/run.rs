//! Runs a command with the streams of the connection.

use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot::{Receiver, channel};

use super::environment;
use crate::gates::remote::rules::{Rules, rules};
use opsctl_policy::model::installation::inventory::Shell;

/// The shells that run a command, the first that exists. It is not the account's shell.
const SHELLS: [(&str, Shell); 3] =
    [("/bin/bash", Shell::Bash), ("/usr/bin/bash", Shell::Bash), ("/bin/sh", Shell::Sh)];

/// The shell that runs a command, and what it is judged for.
pub fn shell() -> Result<(&'static str, Shell), String> {
    let found = SHELLS.into_iter().find(|(path, _)| Path::new(path).exists());
    found.ok_or_else(|| "this host has no shell".to_owned())
}

/// What a command gets as input.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// What the client sends.
    Passes,
    /// What has been read and judged.
    Read(&'a [u8]),
    /// What a client of rsync sends, if its filter rules may pass.
    Rules,
}

/// Runs a command to its end. Returns its exit code; 128 and the number of the signal that ended it.
pub fn command(shell: &str, text: &str, input: Input<'_>) -> Result<u8, String> {
    let mut command = Command::new(shell);
    command.args(["-c", text]).env_clear().envs(environment::variables());
    // The outermost shell of a connection would read `~/.bashrc`.
    command.env("SHLVL", "1");
    let failed = |error: io::Error| format!("{shell} cannot be started ({error}); the command did not run");
    let mut refused = None;
    match input {
        Input::Passes => {}
        Input::Read(input) => drop(command.stdin(Stdio::from(file(input).map_err(failed)?))),
        Input::Rules => {
            let (reads, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
            command.stdin(Stdio::from(reads));
            refused = Some(with_rules(writes.into()));
        }
    }
    let runtime = runtime().map_err(failed)?;
    let _entered = runtime.enter();
    let ended = handled().and_then(|signals| {
        let mut child = tokio::process::Command::from(command).spawn()?;
        runtime.block_on(async {
            let Some(refused) = refused else { return Ok(Ok(waited(&mut child, signals).await?)) };
            tokio::select! {
                ended = waited(&mut child, signals) => ended.map(Ok),
                Ok(why) = refused => child.kill().await.map(|()| Err(why)),
            }
        })
    });
    ended.map_err(failed)?.map(code).map_err(str::to_owned)
}

/// Passes what a client of rsync sends on, until a filter rule is refused. Returns the reason.
fn with_rules(mut to: File) -> Receiver<&'static str> {
    let (refuse, refused) = channel();
    // A read of input cannot be ended; the thread ends with this process.
    thread::spawn(move || {
        if let Ok(Some(why)) = pass_rules(&mut io::stdin().lock(), &mut to) {
            let _ = refuse.send(why);
        }
    });
    refused
}

fn pass_rules(from: &mut impl Read, to: &mut File) -> io::Result<Option<&'static str>> {
    let (mut begun, mut sent, mut buffer) = (Vec::new(), 0, vec![0; 64 * 1024]);
    loop {
        let read = from.read(&mut buffer)?;
        begun.extend(buffer.get(..read).unwrap_or_default());
        let (passes, is_known) = match rules(&begun) {
            Rules::Allowed => (begun.len(), true),
            Rules::Incomplete(passes) => (passes, false),
            Rules::Refused(why) => return Ok(Some(why)),
        };
        to.write_all(begun.get(sent..passes).unwrap_or_default())?;
        sent = passes;
        if is_known {
            return io::copy(from, to).map(|_| None);
        }
        if read == 0 {
            return Ok(None);
        }
    }
}

/// A file without a name, at its beginning.
fn file(content: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Does something that signals to this process do not end.
pub fn outliving<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let _handled = handled()?;
        work.await
    });
    // A thread may still wait for input of the client.
    runtime.shutdown_background();
    ended
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Handles signals. A signal that is handled has its default effect again in a program that is started; an ignored one would be
/// ignored there.
fn handled() -> io::Result<[Signals; 4]> {
    let [hangup, terminate] = [SignalKind::hangup(), SignalKind::terminate()].map(signal);
    let [interrupt, quit] = [SignalKind::interrupt(), SignalKind::quit()].map(signal);
    Ok([hangup?, terminate?, interrupt?, quit?])
}

/// Waits for the end of a command. A terminal that closes sends `SIGHUP` to this process only, which passes it on; without a
/// terminal, a command goes on when its connection ends. Keys such as ^C reach the command directly.
async fn waited(child: &mut Child, signals: [Signals; 4]) -> io::Result<ExitStatus> {
    let [mut hangup, mut terminate, ..] = signals;
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    loop {
        let signal = tokio::select! {
            ended = child.wait() => return ended,
            _ = hangup.recv() => Signal::HUP,
            _ = terminate.recv() => Signal::TERM,
        };
        // It may have ended.
        let _ = id.map(|id| kill_process(id, signal));
    }
}

/// The exit code of an ended process, as shells have it.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
