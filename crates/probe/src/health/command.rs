//! Runs programs for health checks, on this machine or through ssh.

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::finding::{Finding, State, plain};

/// Limits concurrent programs, because ssh servers refuse some of many simultaneous connections.
static TURNS: Semaphore = Semaphore::const_new(8);

/// The maximum size of output that is read, in bytes.
const MOST_OUTPUT: u64 = 64 * 1024;

/// The exit code of ssh if it could not run the command.
const SSH_FAILED: i32 = 255;

/// The exit codes of a shell that cannot execute a program, or does not find it.
const NOT_RUN: [i32; 2] = [126, 127];

/// The result of a program.
pub struct Said {
    /// Whether its exit code was 0.
    pub success: bool,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Said {
    /// The finding of a program that failed, with the last line of its standard error.
    pub fn failure(&self, state: State, program: &str) -> Finding {
        let why = last_line(&self.stderr).unwrap_or_else(|| "it failed".to_owned());
        Finding::new(state, format!("{program}: {why}"))
    }

    /// The finding that decides of those of the lines of its output: one that is not healthy.
    pub fn worst(&self, read: fn(&str) -> Finding) -> Option<Finding> {
        let findings = self.stdout.lines().filter(|line| !line.trim().is_empty()).map(read);
        findings.max_by_key(|finding| finding.state != State::Healthy)
    }

    /// The last line of its standard error behind a colon, if there is one.
    pub fn reason(&self) -> String {
        last_line(&self.stderr).map(|line| format!(": {line}")).unwrap_or_default()
    }
}

/// Runs a command for at most `limit`, on this machine or on the destination `ssh`. Waiting for other commands does not count.
pub async fn run(words: &[&str], ssh: Option<&str>, limit: Duration) -> Result<Said, Finding> {
    let _turn = TURNS.acquire().await;
    let run = run_through(words, ssh.map(|destination| ("ssh", destination)), &[]);
    timeout(limit, run).await.unwrap_or_else(|_| Err(Finding::late()))
}

/// Runs a command, on this machine or through an ssh program on a destination, with these variables in addition.
pub async fn run_through(
    words: &[&str],
    ssh: Option<(&str, &str)>,
    variables: &[(&str, &str)],
) -> Result<Said, Finding> {
    let Some((program, rest)) = words.split_first() else {
        return Err(Finding::new(State::Failed, "there is nothing to run"));
    };
    let mut command = if let Some((ssh, destination)) = ssh {
        let mut command = Command::new(ssh);
        // ssh must not ask questions, and a host that is down must not use up the deadline.
        command.args([
            "-n",
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=5",
            "-o",
            "ConnectionAttempts=1",
        ]);
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
    let status =
        child.wait().await.map_err(|error| Finding::new(State::Failed, plain(&error.to_string())))?;
    if ssh.is_some() && status.code() == Some(SSH_FAILED) {
        let why = last_line(&stderr).unwrap_or_else(|| "no reason was given".to_owned());
        return Err(Finding::new(State::SshFailed, format!("ssh: {why}")));
    }
    Ok(Said { success: status.success(), code: status.code(), stdout, stderr })
}

/// The finding if the shell of a host does not find the program, or cannot execute it.
pub fn not_run(said: &Said, ssh: Option<&str>) -> Option<Finding> {
    ssh?;
    said.code.filter(|code| NOT_RUN.contains(code))?;
    Some(Finding::new(State::Unknown, format!("the host cannot run it{}", said.reason())))
}

/// Runs a program that shows a state. Its output, or the finding if it shows none.
pub async fn ask(words: &[String], ssh: Option<&str>, limit: Duration) -> Result<Said, Finding> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = run(&words, ssh, limit).await.map_err(Finding::unknown)?;
    not_run(&said, ssh).map_or(Ok(said), Err)
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-=/@:,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The words as a line for a shell.
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The last line of a program's output that is not blank, as [`plain`] text.
fn last_line(output: &str) -> Option<String> {
    output.lines().rfind(|line| !line.trim().is_empty()).map(plain)
}

fn not_started(error: &std::io::Error, program: &str) -> Finding {
    if error.kind() == ErrorKind::NotFound {
        return Finding::new(State::Unavailable, format!("{program} is not installed here"));
    }
    Finding::new(State::Failed, format!("{program} cannot be started ({error})"))
}

async fn head(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // After an error, the part that was read is used.
        let _ = stream.take(MOST_OUTPUT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
