//! Network and mount namespaces for one thread and the programs it starts.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, thread};

/// Set in the process that [`start_over_as_root`] starts, so that it happens once.
const STARTED_OVER: &str = "OPSCTL_TESTS_IN_USER_NAMESPACE";

/// Makes sure that this process may make namespaces; a user who may not becomes root of a user namespace.
///
/// To be called before a test leaves anything on disk, since the test program may start over.
pub(super) fn require() {
    static ALLOWED: OnceLock<Result<(), Errno>> = OnceLock::new();
    // The other tests wait in here for the first one, so that none goes on in a process that is about to be replaced.
    let allowed = ALLOWED.get_or_init(|| {
        let allowed = thread::spawn(unshare_all).join().unwrap();
        if allowed == Err(Errno::EPERM) && env::var_os(STARTED_OVER).is_none() {
            start_over_as_root();
        }
        allowed
    });
    if let Err(error) = allowed {
        panic!("no network namespace can be made here ({error}); run tests/setup, it says what to do");
    }
}

fn unshare_all() -> Result<(), Errno> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
}

/// Runs the whole test program again, as root of a user namespace: a thread of it could not enter one.
fn start_over_as_root() -> ! {
    let program = env::current_exe().unwrap();
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--"]).arg(program).args(env::args_os().skip(1));
    let error = unshare.env(STARTED_OVER, "yes").exec();
    panic!("`unshare` did not start ({error}); run tests/setup, it says what to do");
}

/// Moves the calling thread into a network namespace with only loopback, and a mount namespace of its own.
///
/// Programs started from this thread, and sockets opened in it, are in there too; the other threads are not.
pub(super) fn enter() {
    unshare_all().unwrap();
    must("mount", &["--make-rprivate", "/"]);
    must("ip", &["link", "set", "lo", "up"]);
}

/// The folder of the client's settings for the whole machine.
const MANAGED: &str = "/etc/claude-code";

/// Hides the managed settings of this machine, if there are any, from the calling thread's session, and gives it these.
pub(super) fn manage(settings: Option<&str>, more: Option<&str>, scratch: &Path) {
    let managed = Path::new(MANAGED);
    if !managed.exists() {
        if settings.is_none() && more.is_none() {
            return;
        }
        make_etc_writable(scratch);
        fs::create_dir(managed).unwrap();
    }
    must("mount", &["-t", "tmpfs", "tmpfs", MANAGED]);
    if let Some(settings) = settings {
        fs::write(managed.join("managed-settings.json"), settings).unwrap();
    }
    if let Some(more) = more {
        fs::create_dir(managed.join("managed-settings.d")).unwrap();
        fs::write(managed.join("managed-settings.d/more.json"), more).unwrap();
    }
}

/// Puts an overlay on `/etc`, so that files written there stay in this namespace.
fn make_etc_writable(scratch: &Path) {
    let [upper, work] = ["upper", "work"].map(|name| scratch.join(name));
    fs::create_dir_all(scratch).unwrap();
    // An overlay's upper layer may not itself lie on an overlay, as a container's /tmp does: a tmpfs is always fine.
    must("mount", &["-t", "tmpfs", "tmpfs", scratch.to_str().unwrap()]);
    fs::create_dir(&upper).unwrap();
    fs::create_dir(&work).unwrap();
    let layers = format!("lowerdir=/etc,upperdir={},workdir={}", upper.display(), work.display());
    must("mount", &["-t", "overlay", "overlay", "-o", &layers, "/etc"]);
}

fn must(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("`{program}`: {error}; run tests/setup"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{program} {}`: {complaint}", arguments.join(" "));
}

/// Kills every process that is still in the calling thread's network namespace, so that a session leaves none behind.
pub(super) fn kill_the_rest() {
    // Again until none is left: one may start another while we look, and a kill takes a moment.
    loop {
        let ours = processes();
        if ours.is_empty() {
            break;
        }
        for id in ours.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(id, Signal::KILL); // it may have ended already
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a program of this kind may still be in the calling thread's network namespace: its command line contains the
/// words, or is empty, as that of a program that is just being started is.
pub(super) fn may_hold(words: &[&str]) -> bool {
    let line = words.join("\0");
    processes().iter().any(|id| {
        fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|it| it.is_empty() || it.contains(&line))
    })
}

/// The processes in the calling thread's network namespace.
///
/// The test program itself is none: `/proc/PID/ns` shows the namespaces of its first thread, which never moves. A zombie has
/// no namespaces.
fn processes() -> Vec<i32> {
    let here = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ours =
        processes.filter(|process| fs::read_link(process.path().join("ns/net")).is_ok_and(|net| net == here));
    ours.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}
