//! What a check can find, in one word and one sentence.

use std::time::Duration;

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// In a word.
    pub state: State,
    /// In a sentence's second half, for people: what was seen. It holds no secret.
    pub detail: String,
    /// How long the answer took, where there was one.
    pub latency: Option<Duration>,
}

impl Finding {
    /// Something that was found, without a time.
    pub fn new(state: State, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), latency: None }
    }

    /// The time was over before anything else was known.
    pub fn late() -> Self {
        Self::new(State::Timeout, "there was no answer in time")
    }

    /// The same, with the time that the answer took.
    #[must_use]
    pub fn after(self, latency: Duration) -> Self {
        Self { latency: Some(latency), ..self }
    }
}

/// A state, one word each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Healthy,
    /// HTTP: another code than those expected.
    WrongStatus,
    /// HTTP: redirects that lead in a circle, or too many.
    RedirectLoop,
    /// HTTP: a body of unknown length that does not end.
    EndlessBody,
    /// The other side speaks something else than HTTP.
    NotHttp,
    /// The connection was closed before an answer.
    Closed,
    /// The certificate has expired.
    TlsExpired,
    /// The certificate is not valid yet.
    TlsNotYetValid,
    /// The certificate is for other names.
    TlsName,
    /// Nobody who is trusted here has signed the certificate.
    TlsUntrusted,
    /// TLS failed otherwise.
    TlsFailed,
    /// No answer in time.
    Timeout,
    /// The connection was refused.
    Refused,
    /// There is no way to the address.
    Unreachable,
    /// The name has no address.
    Unresolved,
    /// The name has other addresses.
    WrongAddress,
    /// There is no such container or unit.
    Missing,
    /// The container or unit is there and does not run.
    NotRunning,
    /// The container's own health check is still under way.
    Starting,
    /// The container's own health check fails.
    Unhealthy,
    /// The host could not be entered by ssh.
    SshFailed,
    /// The container engine or the unit manager could not be asked.
    Failed,
    /// The check cannot be carried out on this machine: nothing is known.
    Unavailable,
}

impl State {
    /// The word that people and JSON use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::WrongStatus => "wrong_status",
            Self::RedirectLoop => "redirect_loop",
            Self::EndlessBody => "endless_body",
            Self::NotHttp => "not_http",
            Self::Closed => "closed",
            Self::TlsExpired => "tls_expired",
            Self::TlsNotYetValid => "tls_not_yet_valid",
            Self::TlsName => "tls_name",
            Self::TlsUntrusted => "tls_untrusted",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Unresolved => "unresolved",
            Self::WrongAddress => "wrong_address",
            Self::Missing => "missing",
            Self::NotRunning => "not_running",
            Self::Starting => "starting",
            Self::Unhealthy => "unhealthy",
            Self::SshFailed => "ssh_failed",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
        }
    }

    /// Whether it speaks for the service or against it; `None` for neither.
    pub const fn healthy(self) -> Option<bool> {
        match self {
            Self::Healthy => Some(true),
            Self::Unavailable => None,
            _ => Some(false),
        }
    }
}

/// What another program or server said, as it may stand in a line of ours: one line, not without end.
pub fn plain(text: &str) -> String {
    const MOST: usize = 160;
    let plain: String =
        text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.trim().chars().nth(MOST).is_some() { plain + "…" } else { plain }
}
