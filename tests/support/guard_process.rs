//! `opsctl serve` with a state folder of its own, and hooks on the agent's side that know only its socket.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// A guard and the agent's side.
pub struct Guarded {
    /// The folder of the guard: its ledger, its policy.
    pub guard: Sandbox,
    /// The folder of the agent's side.
    pub agent: Sandbox,
    process: Option<Child>,
}

impl Guarded {
    /// A guard that runs, and an agent's side that uses it.
    pub fn new() -> Self {
        Self::with(Sandbox::new(), |agent| agent)
    }

    /// A guard in this sandbox, and an agent's side that `agent` completes.
    pub fn with(guard: Sandbox, agent: impl FnOnce(Sandbox) -> Sandbox) -> Self {
        let address = format!("unix:{}", guard.path("guard.sock").display());
        let agent = agent(Sandbox::new().with("CLAUDEOPS_GUARD", &address));
        let mut guarded = Self { guard, agent, process: None };
        guarded.start();
        guarded
    }

    /// The path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.guard.path("guard.sock")
    }

    /// The command that starts the guard.
    pub fn serve(&self) -> Command {
        let own = self.guard.command(&[]);
        let mut command = Command::new(own.get_program());
        command
            .env_clear()
            .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.guard.path("."))
            .args(["serve", "--socket"]);
        command.arg(self.socket()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Starts the guard, and waits until it accepts connections.
    pub fn start(&mut self) {
        self.process = Some(self.serve().spawn().unwrap());
        let began = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the guard does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The process id of the guard.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Kills the guard.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Ends the guard with SIGTERM; its exit code.
    pub fn end(&mut self) -> Option<i32> {
        let mut process = self.process.take().unwrap();
        let pid = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        process.wait().unwrap().code()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}
