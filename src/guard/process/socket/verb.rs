//! Serves a verb: runs this program in the guard's environment, which refuses what the agent's side may not use.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::machine::link::message::{Reply, SessionFacts};
use crate::machine::link::{SERVED, address};

/// How long a verb may take. Checks of services take the longest.
const LIMIT: Duration = Duration::from_mins(5);

/// The most output of a verb that is sent, in bytes for each stream.
const MOST_OUTPUT: u64 = 2 * 1024 * 1024;

/// The most arguments, and the longest of them in bytes.
const ARGUMENTS: (usize, usize) = (64, 64 * 1024);

/// Runs a verb to its end, and returns what it printed.
pub async fn run(arguments: &[String], columns: Option<u16>, facts: &SessionFacts) -> Reply {
    let (most, longest) = ARGUMENTS;
    if arguments.len() > most || arguments.iter().any(|argument| argument.len() > longest) {
        return Reply::Refused("it has too many or too long arguments".to_owned());
    }
    match timeout(LIMIT, try_run(arguments, columns, facts)).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => Reply::Failed(format!("the guard cannot run the verb ({error})")),
        Err(_) => Reply::Failed(format!("the verb took longer than {} s", LIMIT.as_secs())),
    }
}

async fn try_run(arguments: &[String], columns: Option<u16>, facts: &SessionFacts) -> std::io::Result<Reply> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SERVED).args(arguments).env_remove(address::VARIABLE).kill_on_drop(true);
    let of_session = [
        ("CLAUDE_SESSION_ID", facts.session.clone()),
        ("CLAUDE_CODE_SESSION_ID", facts.client_session.clone()),
        ("CLAUDE_SESSION_MODE", facts.mode.clone()),
        ("CLAUDE_SESSION_ROLE", facts.role.clone()),
        ("CLAUDEOPS_AGENT", facts.agent.clone()),
        ("CLAUDEOPS_TIER", facts.tier.map(|tier| tier.to_string())),
        ("OPSCTL_COLUMNS", columns.map(|columns| columns.to_string())),
    ];
    for (name, value) in of_session {
        match value {
            Some(value) if !value.contains('\0') => command.env(name, value),
            _ => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(read(out), read(err));
    let code = child.wait().await?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(Reply::Output { code, stdout: stdout?, stderr: stderr? })
}

/// Reads a stream to its end, and keeps its beginning.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let Some(mut stream) = stream else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut stream).take(MOST_OUTPUT).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
