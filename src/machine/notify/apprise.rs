//! Sends notifications with `apprise`, a child process with a timeout.

use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::environment::Environment;
use crate::machine::programs::ended_within;
use opsctl_machine::held_variables::inherited_pipe;
use opsctl_machine::plain_file;
use opsctl_policy::model::records::event::Level;
use opsctl_policy::model::records::notice::Body;

/// The timeout of one delivery. It is shorter than a claim of the ledger, and long enough for a small machine, on which the
/// start of `apprise` takes seconds: one that is killed after it reached the target is delivered twice.
pub const DEADLINE: Duration = Duration::from_secs(25);

/// The exit codes of `apprise` between success and failure.
const NO_MATCH: i32 = 3;
const PARTIAL: i32 = 4;

/// The notification target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// URLs, separated by spaces or commas. Each receives every notice, because `apprise` has no tags for URLs.
    Urls(String),
    /// An `apprise` configuration file. A notice goes to the targets with one of its tags, or to the untagged ones if no
    /// tag matches.
    Config(PathBuf),
}

impl Target {
    /// The configured target, if any. URLs take precedence, as in `apprise`.
    pub fn of(environment: &Environment) -> Option<Self> {
        let urls = environment.apprise_urls.clone().map(Self::Urls);
        urls.or_else(|| environment.apprise_config.clone().map(Self::Config))
    }

    /// The environment variable that configures it.
    pub const fn variable(&self) -> &'static str {
        match self {
            Self::Urls(_) => "CLAUDEOPS_APPRISE_URLS",
            Self::Config(_) => "CLAUDEOPS_APPRISE_CONFIG",
        }
    }
}

/// A message for `apprise`.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The severity.
    pub level: Level,
    /// The title, one line.
    pub title: &'a str,
    /// The text.
    pub body: &'a Body,
    /// Tags, in addition to the level, that select targets in a configuration file.
    pub tags: &'a [String],
}

/// Which targets accepted a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// All targets.
    ToAll,
    /// At least one target, but not all.
    ToSome,
    /// No target of the configuration file matches its tags.
    ToNobody,
}

/// Why a notification was not delivered. The texts contain no URL, which may include a password.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// `apprise` could not be started.
    #[error("notification not sent: apprise cannot be started ({0}); install it or unset {1}")]
    Start(std::io::Error, &'static str),
    /// The configuration file cannot be read.
    #[error("notification not sent: {0} cannot be read ({1}); correct CLAUDEOPS_APPRISE_CONFIG")]
    Config(String, std::io::Error),
    /// `apprise` exceeded the timeout and was killed.
    #[error("notification not sent: apprise took longer than {} s; check the target's network", .0.as_secs())]
    Deadline(Duration),
    /// `apprise` failed.
    #[error("notification not sent: apprise ended with {0}; check {1} with `apprise -vv`")]
    Failed(String, &'static str),
}

impl NotifyError {
    /// Whether a retry may succeed.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Failed(..))
    }
}

/// Sends a message without secrets, waiting at most `deadline`.
///
/// `apprise` gets URLs as a configuration file that is a pipe, and the body on stdin: other processes can read its arguments
/// and its environment.
pub fn send(target: &Target, message: Message<'_>, deadline: Duration) -> Result<Sent, NotifyError> {
    let started = Instant::now();
    match target {
        Target::Urls(urls) => {
            let config =
                inherited_pipe(&lines(urls)).map_err(|error| NotifyError::Start(error, target.variable()))?;
            run(target, &format!("/dev/fd/{}", config.as_raw_fd()), message, &[], deadline)
        }
        Target::Config(path) => {
            // `apprise` ignores a missing file and reports that it has no URL.
            plain_file::open(path).map_err(|error| NotifyError::Config(path.display().to_string(), error))?;
            let config = path.display().to_string();
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

/// URLs that spaces or commas separate, one per line. As in `apprise`, a comma within a URL does not separate.
pub fn lines(urls: &str) -> String {
    let mut lines = String::new();
    for part in urls.split_inclusive([',', ' ', '\t', '\r', '\n']) {
        let scheme = part.split_once("://").map_or("", |(scheme, _)| scheme);
        if !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            lines = lines.trim_end_matches([',', ' ', '\t', '\r', '\n']).to_owned();
            lines += "\n";
        }
        lines += part;
    }
    lines.trim().to_owned() + "\n"
}

/// The level and the tags as arguments. Tags that `apprise` would parse as several tags or as an option are left out.
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
    config: &str,
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
        .arg(format!("--config={config}"))
        .arg(format!("--title={}", opsctl_redact::text(message.title)))
        .arg(format!("--input-format={format}"))
        .arg(format!("--notification-type={kind}"))
        .args(tags)
        .env_remove("APPRISE_URLS")
        .env_remove("CLAUDEOPS_APPRISE_URLS")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("CLAUDEOPS_DB_URL")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| NotifyError::Start(error, target.variable()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let body = opsctl_redact::text(text).into_owned();
        // In a thread, because a child that does not read stdin must not block longer than the timeout.
        thread::spawn(move || {
            // A child that ends early closes the pipe; its exit status shows why.
            let _ = stdin.write_all(body.as_bytes());
        });
    }
    let status = ended_within(&mut child, deadline, Duration::from_millis(20), || {})
        .map_err(|error| NotifyError::Start(error, target.variable()))?;
    let Some(status) = status else {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
        return Err(NotifyError::Deadline(deadline));
    };
    match status.code() {
        Some(0) => Ok(Sent::ToAll),
        Some(NO_MATCH) => Ok(Sent::ToNobody),
        Some(PARTIAL) => Ok(Sent::ToSome),
        _ => Err(NotifyError::Failed(status.to_string(), target.variable())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_separated_as_apprise_does() {
        assert_eq!(lines("json://a/?x=1,2, mailto://b  json://c"), "json://a/?x=1,2\nmailto://b\njson://c\n");
        assert_eq!(lines("json://a,json://b"), "json://a\njson://b\n");
        assert_eq!(lines(" json://a b/ "), "json://a b/\n");
    }

    #[test]
    fn leaves_out_names_that_are_not_valid_tags() {
        let body = Body::Plain(String::new());
        let names = ["budget", "a,b", "", "two words", "--config=/x", "jellyfin@ie01"].map(str::to_owned);
        let message = Message { level: Level::Critical, title: "", body: &body, tags: &names };
        let expected = ["--tag=critical", "--tag=budget", "--tag=jellyfin@ie01"];
        assert_eq!(tags(message), expected);
    }
}
