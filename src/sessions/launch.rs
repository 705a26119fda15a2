//! The first process of a container: starts a command without the variables that it holds back, and hands these to that
//! command and its direct child processes. It forwards signals to the command, and collects processes that have lost their parent.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions, getuid, kill_process, wait};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};
use uuid::Uuid;

use crate::machine::client::client_process::parent_of;
use opsctl_machine::held_variables::{NAMES, SOCKET, answer, hide_process};

/// Signals that are forwarded to the command.
const FORWARDED: [Signal; 6] =
    [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Runs the command until it ends.
pub fn run(program: &OsString, arguments: &[OsString]) -> io::Result<ExitStatus> {
    hide_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(supervise(program, arguments))
}

async fn supervise(program: &OsString, arguments: &[OsString]) -> io::Result<ExitStatus> {
    // Before the start, so that no signal is lost.
    let mut signals = received(&FORWARDED)?;
    let mut ended = signal(SignalKind::child())?;
    let (name, listener) = listen()?;
    let mut command = Command::new(program);
    command.args(arguments).env(SOCKET, name);
    for name in NAMES {
        command.env_remove(name);
    }
    let child = i32::try_from(command.spawn()?.id()).map_err(io::Error::other)?;
    let held: Vec<(&str, OsString)> =
        NAMES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    let held = answer(&held);
    loop {
        tokio::select! {
            _ = ended.recv() => if let Some(status) = collect(child) { return Ok(status) },
            Some(number) = signals.recv() => {
                if let Some(child) = Pid::from_raw(child) {
                    // It may have ended meanwhile.
                    let _ = kill_process(child, number);
                }
            }
            Ok((stream, _)) = listener.accept() => {
                if may_have_them(&stream, child) {
                    hand_over(stream, held.clone());
                }
            }
        }
    }
}

/// The signals of these numbers that this process gets from now on.
pub fn received(numbers: &[Signal]) -> io::Result<Receiver<Signal>> {
    let (sender, signals) = channel(16);
    for number in numbers.iter().copied() {
        let (mut received, to) = (signal(SignalKind::from_raw(number.as_raw()))?, sender.clone());
        tokio::spawn(
            async move { while received.recv().await.is_some() && to.send(number).await.is_ok() {} },
        );
    }
    Ok(signals)
}

fn listen() -> io::Result<(String, UnixListener)> {
    let name = format!("opsctl-launch-{}", Uuid::new_v4().simple());
    let listener = StdListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    Ok((name, UnixListener::from_std(listener)?))
}

/// Whether the process at the other end is the command or its direct child, and of the same user. Commands of the agent are
/// farther below; those that are started apart are children of this process.
fn may_have_them(stream: &UnixStream, command: i32) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    let is_near = |pid: i32| pid == command || parent_of(pid) == Some(command);
    peer.uid() == getuid().as_raw() && peer.pid().is_some_and(is_near)
}

fn hand_over(mut stream: UnixStream, answer: Vec<u8>) {
    tokio::spawn(async move {
        // A process that does not read gets nothing.
        let _ = stream.write_all(&answer).await;
    });
}

/// Collects all ended processes; returns how the command ended if it did.
fn collect(command: i32) -> Option<ExitStatus> {
    let mut status = None;
    while let Ok(Some((process, ended))) = wait(WaitOptions::NOHANG) {
        if process.as_raw_nonzero().get() == command {
            status = Some(ExitStatus::from_raw(ended.as_raw()));
        }
    }
    status
}
