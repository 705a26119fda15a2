//! The client's process: its identity, and whether it still runs.

use std::fs::read_to_string;
use std::io::Read as _;
use std::path::PathBuf;

use rustix::process::getppid;

use crate::machine::agent_side::AgentSide;
use opsctl_policy::model::records::session::ProcessState;

/// Programs that may run between the client and its hook.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "busybox", "timeout"];

/// The most shells between a hook and its client.
const DEPTH: usize = 4;

/// The most processes above a hook whose environment is read.
const MOST_ANCESTORS: usize = 64;

/// The size of most files of a process, in bytes.
const USUAL_SIZE: usize = 8 * 1024;

/// The name of the client's process.
const CLIENT: &str = "claude";

/// A process, as `/proc/PID/stat` states it.
pub struct Process {
    pid: i32,
    /// The name of its program.
    pub name: String,
    parent: i32,
    /// The start time in ticks since boot.
    began: String,
    is_dead: bool,
}

impl Process {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(pid, &String::from_utf8_lossy(&read(pid, "stat")?))
    }

    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name may contain any character, including parentheses.
        let (head, rest) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            pid,
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            began: (*fields.get(19)?).to_owned(),
            is_dead: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    fn is_shell(&self) -> bool {
        SHELLS.contains(&self.name.as_str())
    }

    /// The environment with which it was started, as in `/proc/PID/environ`; empty if it cannot be read.
    pub fn environ(&self) -> Vec<u8> {
        read(self.pid, "environ").unwrap_or_default()
    }

    /// Whether it was started with `-p`, so that no person is at its terminal.
    pub fn is_headless(&self) -> bool {
        let arguments = read(self.pid, "cmdline").unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| [b"-p".as_slice(), b"--print"].contains(&argument))
    }

    /// The path of its program, which can be started even where its own path is not visible.
    pub fn program(&self) -> PathBuf {
        format!("/proc/{}/exe", self.pid).into()
    }

    /// Whether it is `opsctl rehearse`, run by this same program.
    pub fn is_rehearsal(&self) -> bool {
        if self.name != env!("CARGO_PKG_NAME") {
            return false;
        }
        let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
        let arguments = read(self.pid, "cmdline").unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"rehearse")
            && program("self").is_some_and(|own| program(&self.pid.to_string()) == Some(own))
    }
}

/// The processes above this one, from its parent on.
fn above() -> impl Iterator<Item = Process> {
    let mut next = getppid().map(|pid| pid.as_raw_nonzero().get());
    std::iter::from_fn(move || {
        let process = Process::of(next.filter(|pid| *pid > 0)?)?;
        next = Some(process.parent);
        Some(process)
    })
}

/// The processes above this one, from its parent on, without shells directly above it.
pub fn ancestors() -> impl Iterator<Item = Process> {
    above().take(MOST_ANCESTORS).skip_while(Process::is_shell)
}

/// The client that called this process as a hook; `None` if another program did.
pub fn calling_client() -> Option<Process> {
    ancestors().next().filter(|nearest| is_client(&nearest.name))
}

/// The parent of a process; `None` if there is no such process.
pub fn parent_of(pid: i32) -> Option<i32> {
    Process::of(pid).map(|process| process.parent)
}

/// Whether this is the name of the client's process.
pub fn is_client(name: &str) -> bool {
    name == CLIENT
}

/// A unique name of the process that called this one as a hook: its id, its start time, and the scope in which these are valid.
pub fn calling(agent: &AgentSide) -> Option<String> {
    if let Some(facts) = agent.facts() {
        return facts.process.clone();
    }
    let caller = above().take(DEPTH).find(|process| !process.is_shell() || process.parent <= 1)?;
    Some(format!("{} {} {}", caller.pid, caller.began, pid_scope()?))
}

/// Whether the process of this name still runs.
pub fn state(process: Option<&str>) -> ProcessState {
    let parts = process.and_then(|name| name.split_once(' ')).and_then(|(pid, rest)| {
        let (began, named_scope) = rest.split_once(' ')?;
        Some((pid.parse().ok().filter(|pid| *pid > 0)?, began, named_scope))
    });
    let Some((pid, began, named_scope)) = parts else { return ProcessState::Unknown };
    if pid_scope().as_deref() != Some(named_scope) {
        return ProcessState::Unknown;
    }
    match Process::of(pid) {
        Some(process) if process.began == began && !process.is_dead => ProcessState::Running,
        Some(_) | None => ProcessState::Gone,
    }
}

/// The scope of process ids: the boot id, the PID namespace, and the start time of its first process, because a later container
/// may get the number of an earlier namespace.
fn pid_scope() -> Option<String> {
    let boot = read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let first = Process::of(1).map(|first| first.began).unwrap_or_default();
    Some(format!("{} {} {first}", boot.trim(), namespace.display()))
}

/// The scope in the name of a process.
pub fn scope_of(process: &str) -> Option<&str> {
    process.splitn(3, ' ').nth(2)
}

/// A file of a process. The kernel states no size, without which a buffer grows from 32 bytes on, with a call each time.
fn read(pid: i32, file: &str) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(USUAL_SIZE);
    std::fs::File::open(format!("/proc/{pid}/{file}")).ok()?.read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_process_name_with_parentheses() {
        let stat =
            "7 (a) b (c) S 3 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 18446744073709551615";
        let stat = Process::parse(7, stat).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.began.as_str()), ("a) b (c", 3, "987654"));
        assert!(Process::parse(7, "").is_none() && Process::parse(7, "7 (x) S 3").is_none());
    }

    #[test]
    fn a_process_with_a_reused_id_is_gone() {
        let own = std::process::id();
        let began = Process::of(i32::try_from(own).unwrap()).unwrap().began;
        let scope = pid_scope().unwrap();
        assert_eq!(state(Some(&format!("{own} {began} {scope}"))), ProcessState::Running);
        assert_eq!(state(Some(&format!("{own} {began}1 {scope}"))), ProcessState::Gone);
        assert_eq!(state(Some(&format!("{own} {began} another {scope}"))), ProcessState::Unknown);
        for unknown in [None, Some(""), Some("x y z"), Some("-1 2 3"), Some("0 2 3")] {
            assert_eq!(state(unknown), ProcessState::Unknown, "{unknown:?}");
        }
    }
}
