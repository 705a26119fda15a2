//! Notifications through `apprise`, as a child process with a deadline.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a delivery may take; a hook that waits longer holds up the session.
const DEADLINE: Duration = Duration::from_secs(10);

/// Why a notification was not delivered. No text of it holds a URL: they carry passwords.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// `apprise` could not be started.
    #[error(
        "notification not sent: apprise cannot be started ({0}); install it or unset CLAUDEOPS_APPRISE_URLS"
    )]
    Start(std::io::Error),
    /// It was still running at the deadline and has been ended.
    #[error("notification not sent: apprise took longer than {} s; check the target's network", DEADLINE.as_secs())]
    Deadline,
    /// It failed.
    #[error("notification not sent: apprise ended with {0}; check CLAUDEOPS_APPRISE_URLS with `apprise -vv`")]
    Failed(String),
}

/// Sends a notification to the URLs, which may be several, separated by spaces or commas.
///
/// The URLs reach `apprise` through its environment and the body through its standard input, so that
/// neither stands in the process list.
pub fn send(urls: &str, title: &str, body: &str) -> Result<(), NotifyError> {
    let mut child = Command::new("apprise")
        .arg(format!("--title={title}"))
        .env("APPRISE_URLS", urls)
        .env_remove("CLAUDEOPS_APPRISE_URLS")
        .env_remove("ANTHROPIC_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(NotifyError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        let body = body.to_owned();
        // In a thread, since a child that does not read must not outlast the deadline.
        thread::spawn(move || {
            // A child that ends early closes the pipe: its exit status tells why.
            let _ = stdin.write_all(body.as_bytes());
        });
    }
    wait(&mut child)
}

fn wait(child: &mut Child) -> Result<(), NotifyError> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(NotifyError::Failed(status.to_string())),
            Ok(None) if started.elapsed() < DEADLINE => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // It may end by itself in this very moment; either way it is gone.
                let _ = child.kill();
                let _ = child.wait();
                return Err(NotifyError::Deadline);
            }
            Err(error) => return Err(NotifyError::Start(error)),
        }
    }
}
