//! A small separate network for one test: hosts at the ends of veth pairs, services on loopback, and `opsctl` in it.

use super::namespace;
use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The network, and a folder for the files of the test. Everything that was started in it ends with the test.
pub struct Lan {
    folder: TempDir,
    started: RefCell<Vec<Child>>,
}

/// The result of a run of `opsctl`.
#[derive(Debug)]
pub struct Outcome {
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

impl Outcome {
    /// Its one line of JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `test` in a separate network, which initially has only loopback.
pub fn lan<T: Send>(test: impl FnOnce(&Lan) -> T + Send) -> T {
    namespace::require();
    // A thread of its own, since there is no way back from a namespace.
    let ended = thread::scope(|scope| {
        let inside = || {
            namespace::enter();
            let rest = KillTheRest;
            let lan =
                Lan { folder: TempDir::with_prefix("opsctl-lan-").unwrap(), started: RefCell::default() };
            let shown = test(&lan);
            drop(rest);
            shown
        };
        scope.spawn(inside).join()
    });
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Also when the test has failed.
struct KillTheRest;

impl Drop for KillTheRest {
    fn drop(&mut self) {
        namespace::kill_the_rest();
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for started in self.started.get_mut() {
            let _ = started.kill(); // it may have ended already
            let _ = started.wait();
        }
    }
}

impl Lan {
    /// A path in the folder of the test.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    pub fn write(&self, inside: &str, content: &str) -> PathBuf {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs a shell script, which must succeed.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let output = Command::new("sh").args(["-ec", script]).current_dir(self.folder.path()).output();
        let output = output.unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{script}`: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a program that runs until the test ends. Its output is in the file `name.log`.
    pub fn start<A: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = A>) {
        let name = Path::new(program).file_name().unwrap().to_string_lossy().into_owned();
        let log = fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let started = command.spawn();
        let started = started.unwrap_or_else(|error| panic!("`{program}`: {error}; run tests/setup"));
        self.started.borrow_mut().push(started);
    }

    /// Waits until this shell script succeeds.
    #[track_caller]
    pub fn until(&self, script: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let done = || Command::new("sh").args(["-c", script]).current_dir(self.folder.path()).status();
        while !done().unwrap().success() {
            assert!(Instant::now() < deadline, "`{script}` never came true");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A host at the other end of a cable: `10.0.N.2`, `fd00:0:0:N::2`, and we are `.1`. It answers pings; `setup`, a piece
    /// of sh that runs on it, may change that.
    pub fn peer(&self, n: u8, setup: &str) {
        self.start("unshare", ["--net", "sh", "-c", &format!("echo $$ > peer{n}.pid; exec sleep 1000")]);
        self.until(&format!("[ -s peer{n}.pid ]"));
        self.sh(&format!(
            "pid=$(cat peer{n}.pid)
             ip link add cable{n} type veth peer name eth0 netns $pid
             ip address add 10.0.{n}.1/24 dev cable{n}
             ip -6 address add fd00:0:0:{n}::1/64 dev cable{n} nodad
             ip link set cable{n} up
             nsenter --target $pid --net sh -ec '
                 ip link set lo up
                 ip address add 10.0.{n}.2/24 dev eth0
                 ip -6 address add fd00:0:0:{n}::2/64 dev eth0 nodad
                 ip link set eth0 up'
             # Each knows the other's address from the start: IPv6 would ask for it again only after a second.
             on_peer() {{ nsenter --target $pid --net \"$@\"; }}
             ours=$(ip -brief link show cable{n} | awk '{{print $3}}')
             theirs=$(on_peer ip -brief link show eth0 | awk '{{print $3}}')
             ip neigh replace fd00:0:0:{n}::2 lladdr $theirs dev cable{n} nud permanent
             on_peer ip neigh replace fd00:0:0:{n}::1 lladdr $ours dev eth0 nud permanent
             on_peer sh -ec '{setup}'"
        ));
    }

    /// Runs a function on a peer, in a detached thread.
    pub fn on_peer(&self, n: u8, work: impl FnOnce() + Send + 'static) {
        let pid = fs::read_to_string(self.path(&format!("peer{n}.pid"))).unwrap();
        let network = fs::File::open(format!("/proc/{}/ns/net", pid.trim())).unwrap();
        thread::spawn(move || {
            setns(network, CloneFlags::CLONE_NEWNET).unwrap();
            work();
        });
    }

    /// Allows every user to send pings without a capability, which a new network does not.
    pub fn permit_pings(&self) {
        // In a user namespace no other group exists than the one that is mapped.
        self.sh("echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range 2>/dev/null ||
                 echo 0 0 > /proc/sys/net/ipv4/ping_group_range");
    }

    /// A server of ssh on port 22 of loopback with keys of its own, which lets the user of the test in. What is put into
    /// `bin/remote` is all that a command finds there. The `ssh` of this network knows the server.
    pub fn ssh_server(&self) {
        let folder = self.folder.path().display();
        self.sh(&format!(
            "mkdir -p ssh bin/remote
             ssh-keygen -q -t ed25519 -N '' -f ssh/host
             ssh-keygen -q -t ed25519 -N '' -f ssh/user
             cp ssh/user.pub ssh/authorized_keys
             echo \"127.0.0.1 $(cut -d' ' -f1,2 ssh/host.pub)\" > ssh/known_hosts
             printf '%s\n' '#!/bin/sh' 'exec /usr/bin/ssh -F {folder}/ssh/config \"$@\"' > bin/ssh
             chmod +x bin/ssh"
        ));
        self.write(
            "ssh/config",
            &format!("IdentityFile {folder}/ssh/user\nUserKnownHostsFile {folder}/ssh/known_hosts\nGlobalKnownHostsFile none\n"),
        );
        self.write(
            "ssh/sshd_config",
            &format!(
                "ListenAddress 127.0.0.1\nHostKey {folder}/ssh/host\nAuthorizedKeysFile {folder}/ssh/authorized_keys\n\
                 PidFile none\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nMaxStartups 100\n\
                 SetEnv PATH={folder}/bin/remote:/usr/bin:/bin\nForceCommand cd {folder}/bin && eval \"$SSH_ORIGINAL_COMMAND\"\n"
            ),
        );
        // Where its unprivileged part goes; a new machine does not have it before the first start.
        self.sh("mkdir -p /run/sshd");
        self.start("/usr/sbin/sshd", ["-D", "-e", "-f", &format!("{folder}/ssh/sshd_config")]);
        self.until("grep -q 'Server listening' sshd.log");
    }

    /// Replaces a file of the machine, in this network only.
    pub fn instead_of(&self, machines: &str, content: &str) {
        let file = self.write(&format!("instead/{machines}"), content);
        self.sh(&format!("mount --bind {} {machines}", file.display()));
    }

    /// `opsctl` in this network, its state and project in the folder of the test.
    pub fn opsctl(&self, arguments: &[&str]) -> Outcome {
        self.run(&mut self.command(arguments))
    }

    /// A hook, with the client's input.
    pub fn hook(&self, event: &str, input: &Value) -> Outcome {
        let input = self.write("stdin", &input.to_string());
        self.run(self.command(&["hook", event]).stdin(fs::File::open(input).unwrap()))
    }

    /// The command of [`Lan::opsctl`], for a test that configures it further.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opsctl"));
        let search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", format!("{}:{search_path}", self.path("bin").display()))
            .env("HOME", self.folder.path())
            .env("CLAUDEOPS_STATE_DIR", self.folder.path())
            .env("CLAUDE_PROJECT_DIR", self.folder.path());
        command
    }

    /// Runs a command of [`Lan::command`], or one like it, in the folder of the test.
    pub fn run(&self, command: &mut Command) -> Outcome {
        let started = Instant::now();
        command.current_dir(self.folder.path());
        let output = command.output().unwrap();
        let elapsed = started.elapsed();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome {
            exit_code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            elapsed,
        }
    }
}
