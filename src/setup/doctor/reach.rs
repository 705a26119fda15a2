//! Checks that this user reaches servers through a guard only: what it may read or open on this side.

use std::fs::{File, read_dir};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::check::{Examined, Outcome, Problem, paths, warning};
use crate::machine::programs::in_path;

/// The name of the check.
pub const CHECK: &str = "server credentials";

/// The sockets of container engines.
const ENGINES: [&str; 4] = [
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/k3s/containerd/containerd.sock",
];

/// The token of a pod.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Lines of a kubeconfig that authenticate.
const CLUSTER_KEYS: [&str; 5] = ["client-key", "token", "password", "exec:", "auth-provider"];

/// The longest file that is searched, in bytes.
const LONGEST: u64 = 256 * 1024;

/// How long an engine may take to answer.
const WAIT: Duration = Duration::from_secs(3);

/// A finding for each way to a server that passes by the guard.
pub fn checks(examined: &Examined<'_>) -> Vec<Outcome> {
    if examined.environment.guard.is_none() {
        return vec![Ok("not checked: CLAUDEOPS_GUARD is not set".to_owned())];
    }
    let problems = [private_keys(), key_agents(), program(&examined.opsctl), engines(), clusters()];
    let problems: Vec<Outcome> = problems.into_iter().flatten().map(Err).collect();
    if problems.is_empty() {
        let engine = engine_gate().map(|found| format!("; {found}")).unwrap_or_default();
        vec![Ok(format!("none: this user reaches servers through the guard{engine}"))]
    } else {
        problems
    }
}

/// A finding about these files; `None` if there are none.
fn finding(files: &[PathBuf], what: &str, remedy: &str) -> Option<Problem> {
    (!files.is_empty()).then(|| warning(format!("{what}: {}", paths(files)), remedy))
}

fn private_keys() -> Option<Problem> {
    let folder = home().map(|home| home.join(".ssh"));
    let files = folder.and_then(|folder| read_dir(folder).ok()).into_iter().flatten().flatten();
    let keys = files.map(|file| file.path()).filter(|file| contains(file, &["PRIVATE KEY-----"]));
    let remedy = "remove it from this side, and give it to the user of the guard";
    finding(&keys.collect::<Vec<_>>(), "this user can read a private key of ssh", remedy)
}

fn key_agents() -> Option<Problem> {
    let stated = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let folders = read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = folders
        .filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ssh-")));
    let sockets =
        folders.filter_map(|folder| read_dir(folder).ok()).flatten().flatten().map(|entry| entry.path());
    let open: Vec<PathBuf> = stated.into_iter().chain(sockets).filter(|socket| opens(socket)).collect();
    finding(
        &open,
        "this user can use an agent of ssh",
        "unset SSH_AUTH_SOCK, and end the agent or close its folder to this user",
    )
}

/// Whether the first `ssh` in PATH is this program.
fn program(opsctl: &Path) -> Option<Problem> {
    let ssh = in_path("ssh")?;
    let own = opsctl.canonicalize().ok();
    let is_own = own.is_some() && ssh.canonicalize().ok() == own;
    let what = format!("`ssh` in PATH is {}, not opsctl, and has no keys", ssh.display());
    (!is_own)
        .then(|| warning(what, "link opsctl as `ssh`, `scp` and `sftp` into a folder that is first in PATH"))
}

fn engines() -> Option<Problem> {
    let own =
        std::env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("podman/podman.sock"));
    let sockets = ENGINES.into_iter().map(PathBuf::from).chain(own);
    let open: Vec<PathBuf> = sockets.filter(|socket| opens(socket)).collect();
    finding(
        &open,
        "this user can use a container engine",
        "do not mount its socket on this side; a gate of the guard can pass requests on",
    )
}

/// What a gate before an engine answers; `None` without a gate.
fn engine_gate() -> Option<String> {
    let host = std::env::var("DOCKER_HOST").ok()?;
    let asked = UnixStream::connect(host.strip_prefix("unix://")?).and_then(|mut gate| {
        let mut answer = String::new();
        gate.set_read_timeout(Some(WAIT))?;
        gate.write_all(b"GET /_ping HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n")?;
        gate.take(LONGEST).read_to_string(&mut answer).map(|_| answer)
    });
    let why = match asked {
        Ok(answer) if answer.starts_with("HTTP/1.1 200 ") => return Some("its engine answers".to_owned()),
        Ok(answer) => answer.lines().last().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("its engine does not answer ({why}): see ENGINE_SOCKET and ENGINE_GID in .env"))
}

fn clusters() -> Option<Problem> {
    let stated = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let usual = home().map(|home| home.join(".kube/config"));
    let files = std::env::split_paths(&stated).chain(usual).filter(|file| contains(file, &CLUSTER_KEYS));
    let token = Some(PathBuf::from(POD_TOKEN)).filter(|token| access(token, Access::READ_OK).is_ok());
    let found: Vec<PathBuf> = files.chain(token).collect();
    finding(
        &found,
        "this user can read credentials of a cluster",
        "remove them from this side, and give them to the user of the guard",
    )
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Whether this user can read a file that contains one of these texts.
fn contains(path: &Path, texts: &[&str]) -> bool {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    read.is_ok() && texts.iter().any(|part| text.contains(part))
}

/// Whether this user can connect to a socket.
fn opens(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}
