//! Results of health checks.

use std::time::Duration;

use crate::redact::shortened;

/// The result of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The state.
    pub state: State,
    /// What was observed, as the predicate of a sentence. Contains no secret.
    pub detail: String,
    /// The latency of the answer, if there was one.
    pub latency: Option<Duration>,
}

impl Finding {
    /// A finding without latency.
    pub fn new(state: State, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), latency: None }
    }

    /// The finding after a timeout.
    pub fn late() -> Self {
        Self::new(State::Timeout, "there was no answer in time")
    }

    /// The finding as that of a check that could not be carried out, unless its program is not installed here.
    #[must_use]
    pub fn unknown(self) -> Self {
        let state = if self.state == State::Unavailable { self.state } else { State::Unknown };
        Self { state, ..self }
    }

    /// Sets the latency.
    #[must_use]
    pub fn after(self, latency: Duration) -> Self {
        Self { latency: Some(latency), ..self }
    }
}

/// The state of a service according to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Healthy.
    Healthy,
    /// HTTP: an unexpected status code.
    WrongStatus,
    /// HTTP: circular redirects, or too many.
    RedirectLoop,
    /// HTTP: a body of unknown length that does not end.
    EndlessBody,
    /// The server does not speak HTTP.
    NotHttp,
    /// The connection was closed without an answer.
    Closed,
    /// The certificate has expired.
    TlsExpired,
    /// The certificate is not valid yet.
    TlsNotYetValid,
    /// The certificate is for other names.
    TlsName,
    /// The certificate is not signed by a trusted authority.
    TlsUntrusted,
    /// Another TLS error.
    TlsFailed,
    /// No answer in time.
    Timeout,
    /// The connection was refused.
    Refused,
    /// There is no route to the address.
    Unreachable,
    /// The name has no address.
    Unresolved,
    /// The name has other addresses.
    WrongAddress,
    /// There is no such container or unit.
    Missing,
    /// The container or unit exists, but does not run.
    NotRunning,
    /// The container's own health check has not finished.
    Starting,
    /// The container's own health check fails.
    Unhealthy,
    /// The ssh connection failed.
    SshFailed,
    /// The container engine or systemd could not be queried.
    Failed,
    /// A command of the operator's own had another exit code.
    WrongExitCode,
    /// The program for the check is not installed on this machine; the state is unknown.
    Unavailable,
    /// The check could not be carried out; the state is unknown.
    Unknown,
}

impl State {
    /// The name in output and JSON.
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
            Self::WrongExitCode => "wrong_exit_code",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the service is healthy; `None` if unknown.
    pub const fn healthy(self) -> Option<bool> {
        match self {
            Self::Healthy => Some(true),
            Self::Unavailable | Self::Unknown => None,
            _ => Some(false),
        }
    }
}

/// Text of another program for a line of output: without control characters, at most 160 characters.
pub fn plain(text: &str) -> String {
    shortened(text.trim(), 160)
}
