//! Serves a verb: runs this program in the guard's environment, with arguments that the agent's side may use.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::link::address;
use crate::link::message::{Reply, SessionFacts};

/// How long a verb may take. Checks of services take the longest.
const LIMIT: Duration = Duration::from_mins(5);

/// The most output of a verb that is sent, in bytes for each stream.
const MOST_OUTPUT: u64 = 2 * 1024 * 1024;

/// The most arguments, and the longest of them in bytes.
const ARGUMENTS: (usize, usize) = (64, 64 * 1024);

/// A verb that the agent's side may use, with its options. Other options could name files of the guard, or wait without end.
struct Allowed {
    verb: &'static str,
    /// The subcommands that it may use; without any, its arguments are data.
    subcommands: &'static [&'static str],
    options: &'static [&'static str],
}

const ALLOWED: [Allowed; 12] = [
    Allowed { verb: "approvals", subcommands: &[], options: &["--json", "--all"] },
    Allowed {
        verb: "audit",
        subcommands: &[],
        options: &[
            "--service",
            "--verdict",
            "--rule",
            "--session",
            "--since",
            "--limit",
            "--relative",
            "--json",
            "--agent",
        ],
    },
    Allowed {
        verb: "cooldown",
        subcommands: &["show", "healthy", "unhealthy", "checked", "digested"],
        options: &["--json"],
    },
    Allowed {
        verb: "events",
        subcommands: &[],
        options: &[
            "--service",
            "--level",
            "--session",
            "--since",
            "--limit",
            "--relative",
            "--json",
            "--agent",
        ],
    },
    Allowed { verb: "explain", subcommands: &[], options: &["--json", "--cwd", "--tier", "--exit-code"] },
    Allowed {
        verb: "notify",
        subcommands: &[],
        options: &["--test", "--flush", "--deadline", "--digest", "--limit", "--json"],
    },
    Allowed { verb: "report", subcommands: &[], options: &["--html", "--since", "--no-hosts", "--agent"] },
    Allowed {
        verb: "sessions",
        subcommands: &["status"],
        options: &[
            "--active",
            "--agent",
            "--stale",
            "--since",
            "--session",
            "--mission",
            "--tier",
            "--stale-after",
            "--limit",
            "--relative",
            "--json",
            "--clear",
        ],
    },
    Allowed { verb: "stats", subcommands: &[], options: &["--since", "--json"] },
    Allowed { verb: "status", subcommands: &[], options: &["--no-hosts", "--json", "--agent"] },
    Allowed { verb: "suggest", subcommands: &[], options: &["--since", "--json"] },
    Allowed {
        verb: "verify",
        subcommands: &[],
        options: &["--all", "--session", "--deadline", "--grace", "--json"],
    },
];

/// Why the agent's side may not use these arguments; `None` if it may.
fn refusal(arguments: &[String]) -> Option<String> {
    let (most, longest) = ARGUMENTS;
    if arguments.len() > most || arguments.iter().any(|argument| argument.len() > longest) {
        return Some("it has too many or too long arguments".to_owned());
    }
    let mut words = arguments.iter().map(String::as_str).skip_while(|word| word.starts_with("--color="));
    let verb = words.next().unwrap_or_default();
    let Some(allowed) = ALLOWED.iter().find(|allowed| allowed.verb == verb) else {
        return Some(format!("`opsctl {verb}` works on the guard's side only"));
    };
    let mut is_first = true;
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if verb == "report" && word == "--html" && words.peek() != Some(&"-") {
            return Some("`opsctl report` writes files on the guard's side only; use `--html -`".to_owned());
        }
        if verb == "explain" && ["--cwd", "--tier"].contains(&word) {
            words.next();
        } else if verb == "explain" && !word.starts_with("--") {
            // The rest is the command.
            break;
        } else if word.starts_with('-') && word != "-" {
            let name = word.split('=').next().unwrap_or(word);
            if !allowed.options.contains(&name) || (verb == "report" && word.starts_with("--html=")) {
                return Some(format!("`{name}` of `opsctl {verb}` works on the guard's side only"));
            }
        } else if std::mem::take(&mut is_first)
            && !allowed.subcommands.is_empty()
            && !allowed.subcommands.contains(&word)
            && !is_value(arguments, word, allowed)
        {
            return Some(format!("`opsctl {verb} {word}` works on the guard's side only"));
        }
    }
    None
}

/// Whether a word is the value of an option of `sessions`, the only verb that has both values and subcommands.
fn is_value(arguments: &[String], word: &str, allowed: &Allowed) -> bool {
    let at = arguments.iter().position(|argument| argument == word);
    let before = at.and_then(|at| arguments.get(at.checked_sub(1)?));
    allowed.verb == "sessions"
        && before.is_some_and(|before| before.starts_with("--") && !before.contains('='))
}

/// Runs a verb to its end, and returns what it printed.
pub async fn run(arguments: &[String], columns: Option<u16>, facts: &SessionFacts, stdin: Vec<u8>) -> Reply {
    if let Some(why) = refusal(arguments) {
        return Reply::Refused(why);
    }
    match timeout(LIMIT, run_allowed(arguments, columns, facts, stdin)).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => Reply::Failed(format!("the guard cannot run the verb ({error})")),
        Err(_) => Reply::Failed(format!("the verb took longer than {} s", LIMIT.as_secs())),
    }
}

async fn run_allowed(
    arguments: &[String],
    columns: Option<u16>,
    facts: &SessionFacts,
    stdin: Vec<u8>,
) -> std::io::Result<Reply> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).env_remove(address::VARIABLE).kill_on_drop(true);
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
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut to) = to {
            // A verb that reads no input closes the pipe.
            let _ = to.write_all(&stdin).await;
        }
    };
    let ((), stdout, stderr) = tokio::join!(write, read(out), read(err));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> bool {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        refusal(&words).is_some()
    }

    #[test]
    fn verbs_that_read_and_those_of_a_session_are_served() {
        for line in [
            "status",
            "--color=always status --json",
            "events --service jellyfin --limit=5",
            "cooldown",
            "cooldown --json",
            "cooldown show jellyfin",
            "cooldown healthy jellyfin",
            "sessions --session reset --json",
            "sessions status looking at it",
            "audit --since 2d",
            "report --html -",
            "explain -- docker restart x --hosts y",
            "explain -",
            "explain --tier 1 --cwd /x docker compose -f /x up",
            "notify --flush --deadline 1s",
            "verify --session abc",
            "approvals --json",
        ] {
            assert!(!refused(line), "{line}");
        }
    }

    #[test]
    fn verbs_and_options_of_the_guards_side_are_refused() {
        for line in [
            "",
            "approve 1",
            "refuse 1",
            "grant jellyfin restart 1",
            "key",
            "cooldown reset jellyfin",
            "cooldown record jellyfin",
            "cooldown forget jellyfin",
            "cooldown --json reset jellyfin",
            "prune",
            "serve --socket /x",
            "init",
            "render",
            "hook pre-tool-use",
            "session --tier 3",
            "notify --deliver -",
            "report --html /etc/x",
            "report --html=/etc/x",
            "explain --hosts /guard/key x",
            "explain --cwd /x --hosts=/guard/key x",
            "events --follow",
            "status --watch",
            "--color always status",
            "status -h",
            "sessions other",
        ] {
            assert!(refused(line), "{line}");
        }
        assert!(refusal(&vec!["status".to_owned(); 65]).is_some());
    }
}
