//! What a command does to a service: the unit that is budgeted, recorded and reported.

use std::fmt;

use super::message::Recipient;
pub use super::verb::Verb;

/// What sort of operation an action is; budgets and tier rights are stated per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionKind {
    /// A service is stopped, started or restarted.
    Restart,
    /// A service is deployed anew by a playbook or a chart.
    Redeployment,
    /// A change is proposed on a forge.
    PullRequest,
    /// A person is stated something.
    Notification,
    /// Nobody may do this at any tier, such as restarting everything at once.
    Forbidden,
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

    /// The name used in JSON, in the ledger and in `hosts.yaml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Redeployment => "redeployment",
            Self::PullRequest => "pull_request",
            Self::Notification => "notification",
            Self::Forbidden => "forbidden",
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The family of programs that performs the action; it chooses the words of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `docker`, `podman`, `nerdctl` on single containers.
    Container,
    /// `docker compose` and its kin.
    Compose,
    /// `ansible-playbook`.
    Ansible,
    /// `helm`.
    Helm,
    /// `systemctl`, `service`, `rc-service`, init scripts.
    Unit,
    /// `kubectl`.
    Workload,
    /// `gh`, `tea`, `glab`.
    Forge,
    /// `apprise`, `mail`, `curl` to a webhook and whatever else writes to people.
    Notifier,
    /// `opsctl` itself.
    Guard,
    /// A tool of an MCP server.
    Tool,
    /// A program that `hosts.yaml` describes.
    Program,
}

/// What the command names, before `hosts.yaml` maps it to a service. `None` inside: it could not be stated.
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
    /// A Kubernetes workload without its kind.
    Workload(String),
    /// A helm release.
    Release(String),
    /// An Ansible playbook.
    Playbook(Playbook),
    /// A service, by any of its names.
    Service(String),
    /// The service cannot be stated.
    Unknown,
    /// Those to whom a message goes.
    Recipients(Vec<Recipient>),
    /// This kind of action has no service, such as a pull request.
    Nothing,
}

/// An Ansible playbook and what is said of its service, in falling order of trust.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Playbook {
    /// The file's name without its folder, e.g. `redeploy-jellyfin.yml`; `None` when it is not known.
    pub file: Option<String>,
    /// `service=`, `service_name=` or `app=` from the extra variables.
    pub stated: Option<String>,
    /// The file's stem without verbs, or the one tag where the stem says nothing.
    pub guessed: Option<String>,
}

/// One thing that a command does to one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Budget and rights follow from this.
    pub kind: ActionKind,
    /// What is done.
    pub verb: Verb,
    /// By which family of programs.
    pub family: Family,
    /// What is named on the command line.
    pub target: Target,
    /// Where it runs, as written in the command (`ie01`, `192.168.100.210`); `None` is here.
    pub host: Option<String>,
    /// Wrappers between the shell and the program, outermost first, e.g. `["ssh", "sudo"]`.
    pub via: Vec<String>,
    /// True inside a loop of unknown length: it may run any number of times.
    pub repeats: bool,
    /// The action in canonical words, built from the parsed command and free of option values that
    /// could be secrets, e.g. `docker restart jellyfin`.
    pub evidence: String,
    /// The title of a pull request, where the command states one.
    pub title: Option<String>,
}
