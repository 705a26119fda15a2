//! Runs programs for health checks, on this machine or through ssh.

mod quoting;
mod said;
mod unasked;
mod way;

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

pub use quoting::{line, quoted};
pub use said::Said;
pub use unasked::{no_state, not_run};
pub use way::{Rights, Way};

use super::finding::{Finding, State, plain};
use said::last_line;
use unasked::unknown;

/// Limits concurrent programs, because ssh servers refuse some of many simultaneous connections.
static TURNS: Semaphore = Semaphore::const_new(8);

/// The maximum size of output that is read, in bytes.
const MOST_OUTPUT: u64 = 64 * 1024;

/// How long ssh waits for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The exit code of ssh if it could not run the command.
const SSH_FAILED: i32 = 255;

/// Runs a program for at most `limit`. Waiting for other programs does not count.
pub async fn run(words: &[String], rights: Rights, way: &Way, limit: Duration) -> Result<Said, NotRun> {
    let _turn = TURNS.acquire().await;
    let words = way.words(words, rights);
    let line: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = run_through(&line, way.ssh.as_deref().map(|destination| ("ssh", destination)), &[]);
    timeout(limit, run).await.unwrap_or_else(|_| {
        let program = if way.ssh.is_some() { "ssh" } else { program(&words) };
        Err(NotRun { why: Why::Late, ..NotRun::new(program, Finding::late().detail) })
    })
}

/// Runs a program that shows a state. Its output; the finding if it does not run.
pub async fn ask(words: &[String], rights: Rights, way: &Way, limit: Duration) -> Result<Said, Finding> {
    let said = run(words, rights, way, limit).await.map_err(|not_run| not_run.finding(way))?;
    not_run(&said, program(words), way).map_or(Ok(said), Err)
}

/// The finding of a program that shows no state.
pub fn without_state(said: &Said, words: &[String], way: &Way) -> Finding {
    no_state(said, program(words), way)
}

fn program(words: &[String]) -> &str {
    words.first().map_or("", String::as_str)
}

/// A program that did not run, or not to its end.
pub struct NotRun {
    /// The program: `ssh`, if that failed.
    program: String,
    /// The reason as text.
    pub detail: String,
    /// The reason.
    pub why: Why,
}

/// Why a program did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is not installed on this machine.
    Missing,
    /// It did not end in time.
    Late,
    /// It could not be started, or ssh failed.
    Failed,
}

impl NotRun {
    fn new(program: &str, detail: String) -> Self {
        Self { program: program.to_owned(), detail, why: Why::Failed }
    }

    /// The finding: the state of the service is unknown.
    pub fn finding(self, way: &Way) -> Finding {
        let finding = unknown(self.detail.clone(), &self.program, &self.detail, way);
        let state = if self.why == Why::Missing { State::Unavailable } else { finding.state };
        Finding { state, ..finding }
    }
}

/// Runs a command, on this machine or through an ssh program on a destination, with these variables in addition.
pub async fn run_through(
    words: &[&str],
    ssh: Option<(&str, &str)>,
    variables: &[(&str, &str)],
) -> Result<Said, NotRun> {
    let Some((program, rest)) = words.split_first() else {
        return Err(NotRun::new("", "there is nothing to run".to_owned()));
    };
    let mut command = if let Some((ssh, destination)) = ssh {
        let mut command = Command::new(ssh);
        // ssh must not ask questions, and a host that is down must not use up the deadline.
        let wait = format!("ConnectTimeout={}", CONNECT_TIMEOUT.as_secs());
        command.args(["-n", "-T", "-o", "BatchMode=yes", "-o", &wait, "-o", "ConnectionAttempts=1"]);
        command.args(["--", destination]).args(words.iter().copied().map(quoted));
        command
    } else {
        let mut command = Command::new(program);
        command.args(rest);
        command
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
        .envs(variables.iter().copied())
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("CLAUDEOPS_APPRISE_URLS")
        .env_remove("CLAUDEOPS_DB_URL");
    let mut child =
        command.spawn().map_err(|error| not_started(&error, if ssh.is_some() { "ssh" } else { program }))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(head(stdout), head(stderr));
    let status = child.wait().await.map_err(|error| NotRun::new(program, plain(&error.to_string())))?;
    if ssh.is_some() && status.code() == Some(SSH_FAILED) {
        let why = last_line(&stderr).unwrap_or_else(|| "no reason was given".to_owned());
        return Err(NotRun::new("ssh", format!("ssh: {why}")));
    }
    Ok(Said { success: status.success(), code: status.code(), stdout, stderr })
}

fn not_started(error: &std::io::Error, program: &str) -> NotRun {
    if error.kind() == ErrorKind::NotFound {
        let not_run = NotRun::new(program, format!("{program} is not installed here"));
        return NotRun { why: Why::Missing, ..not_run };
    }
    NotRun::new(program, format!("{program} cannot be started ({error})"))
}

async fn head(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // After an error, the part that was read is used.
        let _ = stream.take(MOST_OUTPUT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
