//! The connections to hosts, which calls share: masters of OpenSSH in a private folder, with the keys of the guard's user.

use std::collections::HashMap;
use std::fs::{Permissions, remove_file};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::hosts::Destination;
use crate::machine::link::address;
use crate::machine::programs;

/// The most calls that share a connection: by default, sshd serves ten.
const MOST_CALLS: usize = 9;

/// How long a connection stays open without a call.
const PERSIST: &str = "ControlPersist=600";

/// What a connection of the guard does not do, also where the configuration of its user states it.
const FIXED: [&str; 11] = [
    "-oBatchMode=yes",
    "-oClearAllForwardings=yes",
    "-oForwardAgent=no",
    "-oForwardX11=no",
    "-oPermitLocalCommand=no",
    "-oRemoteCommand=none",
    "-oEscapeChar=none",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
    "-oConnectTimeout=15",
    "-oLogLevel=ERROR",
];

/// How long a connection may take to end.
const TO_END: Duration = Duration::from_secs(2);

/// Variables of the guard that ssh does not get.
const KEPT: [&str; 5] =
    [address::VARIABLE, "ANTHROPIC_API_KEY", "CLAUDEOPS_APPRISE_URLS", "CLAUDEOPS_DB_URL", "SSH_ASKPASS"];

/// The connections to all hosts.
#[derive(Debug, Default)]
pub struct Connections {
    folder: OnceLock<TempDir>,
    open: Mutex<HashMap<Vec<String>, Vec<Arc<Connection>>>>,
}

/// A connection that several calls share.
#[derive(Debug)]
struct Connection {
    socket: PathBuf,
    destination: Destination,
    places: Arc<Semaphore>,
    opening: tokio::sync::Mutex<()>,
}

/// A place for a call on a connection, until it is dropped.
#[derive(Debug)]
pub struct Place {
    connection: Arc<Connection>,
    _place: OwnedSemaphorePermit,
}

impl Connections {
    /// A place on an open connection to a host. The error is what ssh printed.
    pub async fn place(&self, destination: &Destination) -> io::Result<Place> {
        let place = self.take(destination)?;
        let connection = Arc::clone(&place.connection);
        let _alone = connection.opening.lock().await;
        if UnixStream::connect(&connection.socket).is_ok() {
            return Ok(place);
        }
        let _ = remove_file(&connection.socket);
        let mut master = command(&connection.socket)?;
        master.args(["-oControlMaster=yes", "-o", PERSIST, "-fNT"]).args(destination.arguments());
        let output = master.stdin(Stdio::null()).stdout(Stdio::null()).output().await?;
        if output.status.success() {
            return Ok(place);
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
    }

    fn take(&self, destination: &Destination) -> io::Result<Place> {
        let folder = if let Some(folder) = self.folder.get() {
            folder
        } else {
            let created = tempfile::Builder::new()
                .prefix("opsctl-ssh-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir()?;
            self.folder.get_or_init(|| created)
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number: usize = open.values().map(Vec::len).sum();
        let key = destination.arguments().into_iter().map(str::to_owned).collect();
        let connections = open.entry(key).or_default();
        let free = |connection: &Arc<Connection>| {
            let place = Arc::clone(&connection.places).try_acquire_owned().ok()?;
            Some(Place { connection: Arc::clone(connection), _place: place })
        };
        if let Some(place) = connections.iter().find_map(free) {
            return Ok(place);
        }
        let connection = Arc::new(Connection {
            socket: folder.path().join(number.to_string()),
            destination: destination.clone(),
            places: Arc::new(Semaphore::new(MOST_CALLS)),
            opening: tokio::sync::Mutex::default(),
        });
        connections.push(Arc::clone(&connection));
        free(&connection).ok_or_else(|| io::ErrorKind::QuotaExceeded.into())
    }

    /// Ends all connections.
    pub async fn end(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in open.into_values().flatten() {
            if let Ok(mut exit) = command(&connection.socket) {
                exit.args(["-O", "exit"]).args(connection.destination.arguments());
                exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
                let _ = timeout(TO_END, exit.status()).await;
            }
        }
    }
}

impl Place {
    /// The program that makes a call on the connection: `options` of ssh, and the words of the command.
    pub fn call(&self, options: &[&str], words: &[Vec<u8>]) -> io::Result<Command> {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let mut call = command(&self.connection.socket)?;
        call.arg("-oControlMaster=no").args(options).args(self.connection.destination.arguments());
        call.args(words.iter().map(|word| OsStr::from_bytes(word))).kill_on_drop(true);
        Ok(call)
    }
}

/// The real ssh, with a control socket.
fn command(socket: &std::path::Path) -> io::Result<Command> {
    let ssh = programs::other_in_path("ssh").ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "the guard has no ssh; install the OpenSSH client where the guard runs",
        )
    })?;
    let mut command = Command::new(ssh);
    for variable in KEPT {
        command.env_remove(variable);
    }
    command.arg("-S").arg(socket).args(FIXED);
    Ok(command)
}
