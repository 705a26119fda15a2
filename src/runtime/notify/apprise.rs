//! `apprise`, as a child process with a deadline.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::model::event::Level;
use crate::model::notice::Body;
use crate::runtime::environment::Environment;

/// How long one run of `apprise` may take.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The exit codes of `apprise` that are neither success nor failure of everything.
const NO_MATCH: i32 = 3;
const PARTIAL: i32 = 4;

/// Where notifications go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// URLs, separated by spaces or commas: every notice goes to each. `apprise` knows no tags for them.
    Urls(String),
    /// A configuration file of `apprise`: a notice goes to the targets with one of its tags, and to the untagged
    /// ones where none has.
    Config(PathBuf),
}

impl Target {
    /// What the environment names, if it names any; the URLs come first, as in `apprise` itself.
    pub fn of(environment: &Environment) -> Option<Self> {
        let urls = environment.apprise_urls.clone().map(Self::Urls);
        urls.or_else(|| environment.apprise_config.clone().map(Self::Config))
    }

    /// The variable that names it.
    pub const fn variable(&self) -> &'static str {
        match self {
            Self::Urls(_) => "CLAUDEOPS_APPRISE_URLS",
            Self::Config(_) => "CLAUDEOPS_APPRISE_CONFIG",
        }
    }
}

/// A message as it is handed to `apprise`.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// How serious it is.
    pub level: Level,
    /// One line.
    pub title: &'a str,
    /// The text.
    pub body: &'a Body,
    /// What targets of a configuration file are chosen by, besides the level.
    pub tags: &'a [String],
}

/// What became of a message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Every target has it.
    ToAll,
    /// At least one target has it, and at least one has not.
    ToSome,
    /// No target of the configuration file is meant for it.
    ToNobody,
}

/// Why a notification was not delivered. No text of it holds a URL: they carry passwords.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// `apprise` could not be started.
    #[error("notification not sent: apprise cannot be started ({0}); install it or unset {1}")]
    Start(std::io::Error, &'static str),
    /// The configuration file is not there.
    #[error("notification not sent: {0} cannot be read ({1}); mend CLAUDEOPS_APPRISE_CONFIG")]
    Config(String, std::io::Error),
    /// It was still running at the deadline and has been ended.
    #[error("notification not sent: apprise took longer than {} s; check the target's network", .0.as_secs())]
    Deadline(Duration),
    /// It failed.
    #[error("notification not sent: apprise ended with {0}; check {1} with `apprise -vv`")]
    Failed(String, &'static str),
}

impl NotifyError {
    /// Whether the same may go well a moment later.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Failed(..))
    }
}

/// Sends a message, and waits for it no longer than the deadline allows.
///
/// URLs reach `apprise` through its environment and the body through its standard input, so that neither stands in
/// the process list.
pub fn send(target: &Target, message: Message<'_>, deadline: Duration) -> Result<Sent, NotifyError> {
    let started = Instant::now();
    match target {
        Target::Urls(urls) => run(target, &[("APPRISE_URLS", urls.into())], message, &[], deadline),
        Target::Config(path) => {
            // `apprise` passes over a file that is not there, and says that it has no URL.
            std::fs::File::open(path)
                .map_err(|error| NotifyError::Config(path.display().to_string(), error))?;
            let config = [("APPRISE_CONFIG_PATH", path.into())];
            let tags = tags(message);
            match run(target, &config, message, &tags, deadline)? {
                Sent::ToNobody => {
                    run(target, &config, message, &[], deadline.saturating_sub(started.elapsed()))
                }
                sent => Ok(sent),
            }
        }
    }
}

/// The level is a tag, too. What `apprise` would take for two tags or for an option of its own is none.
fn tags(message: Message<'_>) -> Vec<String> {
    let plain = |tag: &str| {
        !tag.is_empty()
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@'))
    };
    let tags = std::iter::once(message.level.as_str()).chain(message.tags.iter().map(String::as_str));
    tags.filter(|tag| plain(tag)).map(|tag| format!("--tag={tag}")).collect()
}

fn run(
    target: &Target,
    variables: &[(&str, OsString)],
    message: Message<'_>,
    tags: &[String],
    deadline: Duration,
) -> Result<Sent, NotifyError> {
    let (format, text) = match message.body {
        Body::Markdown(text) => ("markdown", text),
        Body::Plain(text) => ("text", text),
    };
    let kind = match message.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Critical => "failure",
    };
    let mut child = Command::new("apprise")
        .arg(format!("--title={}", message.title))
        .arg(format!("--input-format={format}"))
        .arg(format!("--notification-type={kind}"))
        .args(tags)
        .env_remove("APPRISE_URLS")
        .env_remove("CLAUDEOPS_APPRISE_URLS")
        .env_remove("ANTHROPIC_API_KEY")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| NotifyError::Start(error, target.variable()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let body = text.clone();
        // In a thread, since a child that does not read must not outlast the deadline.
        thread::spawn(move || {
            // A child that ends early closes the pipe: its exit status tells why.
            let _ = stdin.write_all(body.as_bytes());
        });
    }
    let status = wait(&mut child, target, deadline)?;
    match status.code() {
        Some(0) => Ok(Sent::ToAll),
        Some(NO_MATCH) => Ok(Sent::ToNobody),
        Some(PARTIAL) => Ok(Sent::ToSome),
        _ => Err(NotifyError::Failed(status.to_string(), target.variable())),
    }
}

fn wait(child: &mut Child, target: &Target, deadline: Duration) -> Result<ExitStatus, NotifyError> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if started.elapsed() < deadline => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // It may end by itself in this very moment; either way it is gone.
                let _ = child.kill();
                let _ = child.wait();
                return Err(NotifyError::Deadline(deadline));
            }
            Err(error) => return Err(NotifyError::Start(error, target.variable())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_tag_is_left_out() {
        let body = Body::Plain(String::new());
        let names = ["budget", "a,b", "", "two words", "--config=/x", "jellyfin@ie01"].map(str::to_owned);
        let message = Message { level: Level::Critical, title: "", body: &body, tags: &names };
        let expected = ["--tag=critical", "--tag=budget", "--tag=jellyfin@ie01"];
        assert_eq!(tags(message), expected);
    }
}
