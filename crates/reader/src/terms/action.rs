//! Actions: what a command does to a service. Actions are budgeted, recorded and reported.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::guest::Guest;
use super::message::Recipient;
use super::reference::Reference;
pub use super::verb::Verb;
use super::workload::Workload;

crate::words! {
    /// The kind of an action. Budgets and the rights of tiers are per kind.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ActionKind {
        /// A service is stopped, started or restarted.
        Restart = "restart",
        /// A service is redeployed by a playbook or a chart.
        Redeployment = "redeployment",
        /// A change is proposed on a forge.
        PullRequest = "pull_request",
        /// A message is sent to people.
        Notification = "notification",
        /// Denied at every tier, such as restarting everything at once.
        #[serde(skip_deserializing)]
        Forbidden = "forbidden",
    }
}

impl ActionKind {
    /// The kind of operation that a verb is.
    pub const fn of(verb: Verb) -> Self {
        match verb {
            Verb::Restart | Verb::Stop | Verb::Start | Verb::Scale => Self::Restart,
            Verb::Deploy | Verb::Rollback | Verb::Uninstall => Self::Redeployment,
            Verb::Create => Self::PullRequest,
            Verb::Send => Self::Notification,
            Verb::Loosen => Self::Forbidden,
        }
    }

    /// Its name in a sentence: `pull request`.
    pub fn in_words(self) -> String {
        match self {
            Self::Forbidden => "forbidden action".to_owned(),
            kind => kind.as_str().replace('_', " "),
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

crate::words! {
    /// The family of programs that performs the action, with what it acts on. It determines the text of the event.
    #[derive(Hash)]
    pub enum Family {
        /// `docker`, `podman`, `nerdctl` on single containers.
        Container = "Container",
        /// `docker compose` and its variants.
        Compose = "Compose service",
        /// `ansible-playbook`.
        Ansible = "Ansible playbook",
        /// `helm`.
        Helm = "Helm release",
        /// `systemctl`, `service`, `rc-service`, init scripts.
        Unit = "Unit",
        /// `kubectl`.
        Workload = "Workload",
        /// `qm`, `pct`, `virsh`, `incus`, `lxc`.
        Guest = "Guest",
        /// `supervisorctl`, `pm2`, `s6-svc` and other supervisors of programs.
        Process = "Process",
        /// `gh`, `tea`, `glab`.
        Forge = "Pull request",
        /// `apprise`, `mail`, `curl` to a webhook and other programs that send messages.
        Notifier = "Notification",
        /// `opsctl` itself.
        Guard = "Guard",
        /// A tool of an MCP server.
        Tool = "Tool",
        /// A program that `hosts.yaml` describes.
        Program = "Service",
    }
}

/// The target as the command names it, before `hosts.yaml` maps it to a service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A container name.
    Container(String),
    /// A compose service.
    ComposeService(String),
    /// A compose project, when no service is named.
    ComposeProject(String),
    /// A unit name without `.service`.
    Unit(String),
    /// A Kubernetes workload.
    Workload(Workload),
    /// A virtual machine or a system container.
    Guest(Guest),
    /// A helm release.
    Release(String),
    /// An Ansible playbook.
    Playbook(Playbook),
    /// A service, by any of its names.
    Service(String),
    /// The target cannot be determined.
    Unknown,
    /// The recipients of a message.
    Recipients(Vec<Recipient>),
    /// The kind of action has no target service, such as a pull request.
    Nothing,
}

impl Target {
    /// The name as the command writes it; for a playbook the service that it states, or its file. `None` if there is none.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Container(name)
            | Self::ComposeService(name)
            | Self::ComposeProject(name)
            | Self::Unit(name)
            | Self::Release(name)
            | Self::Service(name) => Some(name),
            // All workloads of a namespace.
            Self::Workload(workload) => Some(workload.name.as_str()).filter(|name| *name != "*"),
            Self::Guest(guest) => Some(&guest.name),
            Self::Playbook(playbook) => playbook.stated.as_deref().or(playbook.file.as_deref()),
            Self::Unknown | Self::Recipients(_) | Self::Nothing => None,
        }
    }
}

/// An Ansible playbook, and what the command says about its service, most reliable first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Playbook {
    /// The file name without its folder, e.g. `redeploy-jellyfin.yml`; `None` if it cannot be determined.
    pub file: Option<String>,
    /// `service=`, `service_name=` or `app=` from the extra variables.
    pub stated: Option<String>,
    /// A guess: the file's stem without verbs, or the only tag if the stem has no other words.
    pub guessed: Option<String>,
}

/// The container, workload or guest in which a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// It, as the command names it.
    pub target: Target,
    /// What its name is.
    pub reference: Reference,
}

/// One action of a command on one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The kind, which determines budget and rights.
    pub kind: ActionKind,
    /// The verb.
    pub verb: Verb,
    /// The family of programs that performs it.
    pub family: Family,
    /// The target as named on the command line.
    pub target: Target,
    /// What the name of the target is, and who may be asked about it.
    pub reference: Reference,
    /// The container or guest in which the command runs, for a unit or a program of a supervisor. It is the target if
    /// `hosts.yaml` does not list the target itself.
    pub within: Option<Box<Within>>,
    /// The host as written in the command (`ie01`, `192.168.100.210`); `None` for this machine.
    pub host: Option<String>,
    /// Wrappers between the shell and the program, outermost first, e.g. `["ssh", "sudo"]`.
    pub via: Vec<String>,
    /// Whether it is in a loop of unknown length and may run an unknown number of times.
    pub repeats: bool,
    /// A canonical description built from the parsed command, without option values that could be secrets, e.g.
    /// `docker restart jellyfin`.
    pub evidence: String,
    /// The title of a pull request, if the command states one.
    pub title: Option<String>,
}
