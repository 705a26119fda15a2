//! Results of health checks.

use std::time::Duration;

use opsctl_redact::shortened;

/// The result of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The state.
    pub state: State,
    /// What was observed, as the predicate of a sentence. Contains no secret.
    pub detail: String,
    /// The latency of the answer, if there was one.
    pub latency: Option<Duration>,
    /// What an operator can do so that the check can be carried out; `None` where it was.
    pub remedy: Option<String>,
}

/// The finding of a check. One that ends it early is its error.
pub type Looked = Result<Finding, Finding>;

impl Finding {
    /// A finding without latency.
    pub fn new(state: State, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), latency: None, remedy: None }
    }

    /// The finding after a timeout.
    pub fn late() -> Self {
        Self::new(State::Timeout, "there was no answer in time")
    }

    /// The finding of a check whose service restarts because another one was restarted: that it is starting does not make it
    /// unhealthy.
    #[must_use]
    pub fn of_dependent(self) -> Self {
        if self.state != State::Starting {
            return self;
        }
        let remedy = "run `opsctl verify` for it later, or raise `policy.verify.grace`";
        Self { state: State::Unknown, remedy: Some(remedy.to_owned()), ..self }
    }

    /// The finding as a line: its state, what was observed, and the remedy.
    pub fn in_words(&self) -> String {
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{}, {}{remedy}", self.state.as_str(), self.detail)
    }

    /// Sets the latency.
    #[must_use]
    pub fn after(self, latency: Duration) -> Self {
        Self { latency: Some(latency), ..self }
    }
}

opsctl_policy::words! {
    /// The state of a service according to a check.
    pub enum State {
        /// Healthy.
        Healthy = "healthy",
        /// HTTP: an unexpected status code.
        WrongStatus = "wrong_status",
        /// HTTP: circular redirects, or too many.
        RedirectLoop = "redirect_loop",
        /// HTTP: a body of unknown length that does not end.
        EndlessBody = "endless_body",
        /// The server does not speak HTTP.
        NotHttp = "not_http",
        /// The connection was closed without an answer.
        Closed = "closed",
        /// The certificate has expired.
        TlsExpired = "tls_expired",
        /// The certificate is not valid yet.
        TlsNotYetValid = "tls_not_yet_valid",
        /// The certificate is for other names.
        TlsName = "tls_name",
        /// The certificate is not signed by a trusted authority.
        TlsUntrusted = "tls_untrusted",
        /// Another TLS error.
        TlsFailed = "tls_failed",
        /// No answer in time.
        Timeout = "timeout",
        /// The connection was refused.
        Refused = "refused",
        /// There is no route to the address.
        Unreachable = "unreachable",
        /// The name has no address.
        Unresolved = "unresolved",
        /// The name has other addresses.
        WrongAddress = "wrong_address",
        /// There is no such container or unit.
        Missing = "missing",
        /// The container or unit exists, but does not run.
        NotRunning = "not_running",
        /// The container's own health check has not finished.
        Starting = "starting",
        /// The container's own health check fails.
        Unhealthy = "unhealthy",
        /// The container engine is not running, or a request failed in another way.
        Failed = "failed",
        /// A command of the operator's own had another exit code.
        WrongExitCode = "wrong_exit_code",
        /// The program for the check is not installed on this machine; the state is unknown.
        Unavailable = "unavailable",
        /// The check could not be carried out; the state is unknown.
        Unknown = "unknown",
    }
}

impl State {
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
