//! A host with a real sshd and a stand-in `docker` that records what ran, a guard that has its key, and an agent's side that has
//! nothing but the guard's socket.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::guard_process::Guarded;
use crate::sandbox::{Sandbox, program};

/// The inventory: the host by name, by address and by destination, a budget of two restarts, and a protected file.
const HOSTS: &str = "
hosts:
  ie01: {address: 192.0.2.1, ssh: ie01.lan}
  tv: {address: 192.0.2.2}
services:
  jellyfin: {host: ie01, containers: [jellyfin]}
";

/// The host, the guard and the agent's side.
pub struct Place {
    folder: TempDir,
    sshd: Child,
    /// The guard and the agent's side.
    pub guarded: Guarded,
}

impl Place {
    /// With a session of tier 3.
    pub fn new() -> Self {
        Self::at_tier(3, "")
    }

    /// With a session of this tier, and further lines of `hosts.yaml`.
    pub fn at_tier(tier: u8, more: &str) -> Self {
        Self::with_shell("/bin/bash", tier, HOSTS, more)
    }

    /// With an account whose login shell is dash, and a host whose commands run with `bash`, the default, or `sh`.
    pub fn with_dash(tier: u8, stated: &str) -> Self {
        let key = if stated == "sh" { "ssh: ie01.lan, shell: sh" } else { "ssh: ie01.lan" };
        let hosts = HOSTS.replace("ssh: ie01.lan", key);
        Self::with_shell("/bin/dash", tier, &hosts, "")
    }

    fn with_shell(shell: &str, tier: u8, hosts: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str| folder.path().join(name);
        for key in ["host", "user"] {
            let mut made = Command::new("ssh-keygen");
            made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(own(key));
            assert!(made.status().unwrap().success());
        }
        std::fs::create_dir(own("bin")).unwrap();
        let log = own("docker.log");
        script(&own("bin/docker"), &format!("echo \"docker $*\" >>{}", log.display()));
        // A gate that fails must not end this machine.
        script(&own("bin/reboot"), &format!("echo reboot >>{}", log.display()));
        let port = free_port();
        let sshd = sshd(folder.path(), port, shell);
        let known = std::fs::read_to_string(own("host.pub")).unwrap();
        std::fs::write(own("known_hosts"), format!("[127.0.0.1]:{port} {known}")).unwrap();
        let config = format!(
            "Host ie01.lan\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n StrictHostKeyChecking yes\n",
            own("user").display(),
            own("known_hosts").display()
        );
        std::fs::write(own("config"), config).unwrap();
        std::fs::create_dir(own("keys")).unwrap();
        script(
            &own("keys/ssh"),
            &format!("exec {} -F {} \"$@\"", real("ssh").display(), own("config").display()),
        );
        std::fs::create_dir(own("agent")).unwrap();
        for name in ["ssh", "scp", "sftp", "opsctl"] {
            symlink(program(), own("agent").join(name)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let guard = Sandbox::new().with("PATH", &format!("{}:{path}", own("keys").display()));
        guard.write("hosts.yaml", &format!("{hosts}{more}"));
        let guarded = Guarded::with(guard, |agent| {
            agent.write("hosts.yaml", &format!("{hosts}{more}"));
            agent
                .with("PATH", &format!("{}:{path}", own("agent").display()))
                .with("CLAUDEOPS_TIER", &tier.to_string())
        });
        Self { folder, sshd, guarded }
    }

    /// A file of the host's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What `docker` has run on the host.
    pub fn ran(&self) -> String {
        std::fs::read_to_string(self.path("docker.log")).unwrap_or_default()
    }

    /// A shell command on the agent's side; `H` is the folder of the host.
    pub fn command(&self, text: &str) -> Command {
        let own = self.guarded.agent.command(&[]);
        let mut command = Command::new("bash");
        command.args(["-c", text]).current_dir(self.guarded.agent.path(".")).env_clear();
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("H", self.folder.path()).env("HOME", self.guarded.agent.path(".")).stdin(Stdio::null());
        command
    }

    /// Runs a shell command on the agent's side.
    pub fn run(&self, text: &str) -> Output {
        self.command(text).output().unwrap()
    }

    /// The exit code, stdout and stderr of a shell command on the agent's side.
    pub fn said(&self, text: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.run(text);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (status.code(), text(&stdout), text(&stderr))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.guarded.end();
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

pub fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// The path of a program.
pub fn real(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).chain(["/usr/sbin".into()]).map(|folder| folder.join(program));
    { found }.find(|path| path.exists()).expect("a tool is missing: run tests/setup")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts sshd for this user. As root, it needs a folder, the home of the user is empty, and the login shell is this one, in mounts of
/// its own.
fn sshd(folder: &Path, port: u16, shell: &str) -> Child {
    let own = |name: &str| folder.join(name).display().to_string();
    let path = std::env::var("PATH").unwrap();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nUsePAM no\nStrictModes no\nPidFile none\n\
         PermitRootLogin yes\nMaxStartups 100\nSubsystem sftp internal-sftp\nSetEnv PATH={}:{path}\nAcceptEnv LC_*\n",
        own("host"),
        own("user.pub"),
        own("bin"),
    );
    let file = own("sshd_config");
    std::fs::write(&file, config).unwrap();
    let sshd = real("sshd");
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("unshare");
        let prepare = "mount -t tmpfs none ~ && mount -t tmpfs none /run && mkdir /run/sshd && passwd=$1 && shift && mount --bind \"$passwd\" /etc/passwd && exec \"$@\"";
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap();
        let accounts = accounts.lines().map(|line| match line.rsplit_once(':') {
            Some((fields, _)) if line.starts_with("root:") => format!("{fields}:{shell}\n"),
            _ => format!("{line}\n"),
        });
        std::fs::write(own("passwd"), accounts.collect::<String>()).unwrap();
        command.args(["--mount", "sh", "-c", prepare, "sh", &own("passwd")]).arg(sshd);
        command
    } else {
        Command::new(sshd)
    };
    let log = std::fs::File::create(folder.join("sshd.log")).unwrap();
    let sshd = command.args(["-D", "-e", "-f", &file]).stdin(Stdio::null()).stderr(log).spawn().unwrap();
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "sshd does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    sshd
}
