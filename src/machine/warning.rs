//! Problems that do not stop opsctl: each is printed to stderr as one line.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::environment::EnvironmentWarning;
use crate::machine::link::caller::LinkError;
use opsctl_inventory::compiled::CompiledError;
use opsctl_inventory::error::HostsError;
use opsctl_ledger::LedgerError;
use opsctl_ledger::cooldown::cooldown_edit::EditError;
use opsctl_ledger::cooldown::cooldown_file::CooldownFileError;
use opsctl_ledger::file::mark::LedgerLoss;
use opsctl_probe::hosts::PingWarning;
use opsctl_reader::shell::Complaint;

/// A problem that does not stop opsctl: what happened, why, and what opsctl does instead.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum Warning {
    #[error(transparent)]
    Environment(#[from] EnvironmentWarning),
    #[error("{0}; the call is allowed unchecked, because policy.on_failure is open")]
    CallUnread(String),
    #[error("{0}; the hook has no effect")]
    EventUnread(String),
    #[error(transparent)]
    Command(#[from] Complaint),

    #[error("{}: {error}; render it again with `opsctl render`", path.display())]
    CompiledPolicy { path: PathBuf, error: CompiledError },
    #[error("{} cannot be read ({error})", path.display())]
    UnreadablePolicy { path: PathBuf, error: io::Error },
    #[error("{0}; the default limits apply, and policy.on_failure is closed")]
    Inventory(HostsError),
    #[error("{} lists {services} services, and every command that acts reads it anew; render it with `opsctl render`", path.display())]
    Unrendered { path: PathBuf, services: usize },
    #[error("no other policy is found; the default limits apply, and policy.on_failure is closed")]
    NoPolicy,

    #[error("{0}; the hook has no effect")]
    Unserved(LinkError),
    #[error("{0}; the report of a finished call is kept and sent later")]
    ReportKept(LinkError),
    #[error("{0}; the report of a finished call is lost, because it cannot be kept ({1})")]
    ReportLost(LinkError, io::Error),
    #[error("{0}; the notification is not sent")]
    NotSentToGuard(LinkError),
    #[error("{0}")]
    OfGuard(String),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{0}; lost actions count only if cooldown.json holds them")]
    LedgerLost(LedgerLoss),
    #[error("{0}; counting from the ledger alone")]
    CooldownFile(#[from] CooldownFileError),
    #[error("{0}; the ledger has recorded it")]
    CooldownEdit(#[from] EditError),
    #[error(transparent)]
    CooldownFileNotCreated(EditError),
    #[error("{error}; `{actions}` runs without being counted, because policy.on_failure is open")]
    RunsUncounted { error: LedgerError, actions: String },
    #[error("{error}; `{actions}` runs and is recorded later, because policy.on_failure is open")]
    RunsKept { error: LedgerError, actions: String },
    #[error("{error}; `{actions}` has run and is not recorded")]
    RanUnrecorded { error: LedgerError, actions: String },
    #[error("{0}; the report of a finished call is kept, and recorded later")]
    RecordKept(LedgerError),
    #[error("{0}; the end of the session is kept, and recorded later")]
    EndKept(LedgerError),
    #[error("{0}; open reservations count as used until they can be settled")]
    OpenReservations(LedgerError),

    #[error("{0}; the agent may be warned twice about its context")]
    ContextLevel(LedgerError),
    #[error("{0}; the agent was not asked for a report")]
    ReportRequest(LedgerError),
    #[error("{0}; no service was verified")]
    NoSessionHistory(LedgerError),
    #[error("no service was verified: {0}")]
    NoVerification(io::Error),
    #[error("{0}; the failed verification is not counted, so the agent may end its turn")]
    UncountedVerification(LedgerError),
    #[error("verification given up after {attempts} attempts: {services}")]
    VerificationGivenUp { attempts: u32, services: String },

    #[error(transparent)]
    Ping(#[from] PingWarning),
    #[error("{0}; the notification is not recorded")]
    UnrecordedNotification(LedgerError),
    #[error("notification not sent: opsctl cannot be started ({0})")]
    NotificationNotSent(io::Error),
    #[error(
        "notification {id} waits: opsctl cannot be started ({error}); send it with `opsctl notify --flush`"
    )]
    NotificationWaits { id: i64, error: io::Error },

    #[error("this session is not recorded: {0}")]
    UnrecordedSession(LedgerError),
    #[error("the prompt {} cannot be used ({error}); using the one in hosts.yaml", path.display())]
    Prompt { path: PathBuf, error: PromptError },
    #[error("{} cannot be used ({error}); render it again with `opsctl render`", path.display())]
    RenderedPrompt { path: PathBuf, error: PromptError },
}

impl Warning {
    /// The problems with environment variables, as the start of a list.
    pub fn of_environment(warnings: &[EnvironmentWarning]) -> Vec<Self> {
        warnings.iter().cloned().map(Self::from).collect()
    }
}

/// Why a prompt file cannot be used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum PromptError {
    #[error("it does not exist")]
    Missing,
    #[error("it is empty")]
    Empty,
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The size in bytes.
    #[error("{0} bytes are too many")]
    TooLarge(u64),
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}
