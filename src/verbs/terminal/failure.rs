//! Why a verb fails, as one line: what happened, to what, and what to do.

use std::io;
use std::path::PathBuf;

use crate::guard::approval::ApprovalError;
use crate::hooks::preview::PreviewError;
use crate::machine::link::caller::LinkError;
use crate::machine::notify::apprise::NotifyError;
use crate::machine::notify::deliver::DeliverError;
use crate::machine::runner::ReplacedVariable;
use crate::pages::report::file;
use crate::sessions::handoff::HandoffError;
use crate::sessions::transcript::TranscriptError;
use crate::setup::import::ImportError;
use crate::setup::rehearse::RehearsalError;
use crate::setup::render::RenderError;
use crate::setup::render::output;
use opsctl_inventory::error::HostsError;
use opsctl_ledger::cooldown::cooldown_edit::EditError;
use opsctl_ledger::file::mark::LedgerLoss;
use opsctl_ledger::file::transfer::TransferError;
use opsctl_ledger::{LedgerError, Location};
use opsctl_policy::model::rights::policy::Window;

/// The failure of a verb.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Usage(#[from] clap::Error),
    #[error("{0} works on the guard's side only; run it where the guard runs")]
    OnGuardsSide(String),
    #[error(transparent)]
    Inventory(#[from] HostsError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{0}; nothing is deleted")]
    LedgerLost(LedgerLoss),
    #[error(transparent)]
    CooldownFile(#[from] EditError),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Template(#[from] minijinja::Error),
    #[error(transparent)]
    Output(#[from] output::FileError),
    #[error(transparent)]
    Report(#[from] file::FileError),
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error("this is an agent's shell, and only persons answer: run it where the guard runs")]
    NotAPerson,
    #[error("a grant lasts at most 7d; give a shorter `--for`, and repeat it when it is needed again")]
    GrantTooLong,
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    #[error(transparent)]
    Environment(#[from] ReplacedVariable),
    #[error(transparent)]
    Notify(#[from] NotifyError),
    #[error(transparent)]
    Deliver(#[from] DeliverError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Guard(#[from] LinkError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),

    #[error("no hosts.yaml: name one with --hosts or CLAUDEOPS_HOSTS")]
    NoHostsFile,
    #[error("{} lists no hosts and no services; add some, or render only its policy with --empty", .0.display())]
    EmptyInventory(PathBuf),
    #[error("the path of this program cannot be determined ({0}); name it with --opsctl")]
    NoProgram(io::Error),
    #[error("the path of opsctl is not UTF-8; name another with --opsctl")]
    ProgramNotUtf8,
    #[error("no host `{name}` in hosts.yaml; {remedy}")]
    UnknownHost { name: String, remedy: String },
    #[error("no service `{name}` in hosts.yaml; {remedy}")]
    UnknownService { name: String, remedy: String },
    #[error("`{name}` belongs to several services; name one of them: {services}")]
    SharedName { name: String, services: String },
    #[error("{0} is in the future; name a time that has passed")]
    FutureTime(String),
    #[error("no rule `{name}`; {remedy}")]
    UnknownRule { name: String, remedy: String },
    #[error(
        "`{0}` is listed in hosts.yaml; remove it there first, or clear its counters with `opsctl cooldown reset {0}`"
    )]
    StillListed(String),
    #[error("nothing is recorded for `{0}`; `opsctl cooldown` lists the names that have a history")]
    NothingToForget(String),
    #[error("no session to verify; name services, or a session with --session")]
    NoSessionToVerify,
    #[error("no session `{0}` waits for a person; `opsctl approvals` lists those that do")]
    NotWaiting(String),
    #[error(
        "the session is of tier {tier}, and CLAUDEOPS_MAX_TIER is {maximum}; raise it, or refuse the question"
    )]
    TierAboveMaximum { tier: u8, maximum: u8 },
    #[error("the session cannot go on: {0}")]
    Transcript(#[from] TranscriptError),
    #[error("no session: run this in an agent's shell, or name the session with CLAUDE_SESSION_ID")]
    NoSession,
    #[error("the status is empty; describe the work in a few words, or remove the status with --clear")]
    EmptyStatus,

    #[error("no ledger at {0}; name it with CLAUDEOPS_DB_PATH or CLAUDEOPS_DB_URL")]
    NoLedger(Box<Location>),
    #[error("the ledger is a file: name a server with CLAUDEOPS_DB_URL, as postgres://ROLE@HOST/DATABASE")]
    NoServer,
    #[error("no ledger at {0}; nothing is copied")]
    NothingToCopy(Location),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error("--keep {keep} is shorter than a budget window of {window}")]
    KeepTooShort { keep: Window, window: Window },
    #[error("--since is in the future; choose an earlier time")]
    SinceInFuture,

    #[error("{} exists already; name another folder, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    #[error(
        "{} exists already, and an import overwrites nothing; name another folder, or show what is new with --diff", .0.display()
    )]
    ExistsForImport(PathBuf),
    #[error(
        "`hosts` or `services` in {} is not a map with one entry for each line, so nothing can be inserted; write it so, or \
         import into another folder", .0.display()
    )]
    NotABlock(PathBuf),
    #[error("{} cannot be written ({error}); {remedy}", .path.display())]
    Unwritable { path: PathBuf, error: io::Error, remedy: &'static str },

    #[error("{} cannot be started ({error}); install it, or correct the server's definition", .program.display())]
    Unstartable { program: PathBuf, error: io::Error },

    #[error(transparent)]
    NotAToolCall(#[from] PreviewError),

    #[error("there is no hand-over")]
    NothingHandedOver,

    #[error(
        "no notification target is configured: set CLAUDEOPS_APPRISE_URLS, or CLAUDEOPS_APPRISE_CONFIG to a file"
    )]
    NoTarget,
    #[error("the test notification reached some targets of {0} and not others; try each with `apprise -vv`")]
    SomeTargets(&'static str),
    #[error(
        "the test notification has no target: tag one in {0} with `info` or `test`, or leave one untagged"
    )]
    NoTaggedTarget(&'static str),
    #[error("`{0}` is not the number of a notification")]
    NotificationNumber(String),

    #[error("no client: neither CLAUDEOPS_CLIENT nor `claude` in PATH; name it with --client")]
    NoClient,
    #[error("{}: {error}; name the client with --client", .path.display())]
    Client { path: PathBuf, error: io::Error },
}
