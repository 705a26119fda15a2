//! The rules of `hosts.yaml` about commands, files and tools, beside those that every installation has.

use super::action::{ActionKind, Verb};
use super::tier::Tier;
use crate::catalogue::Catalogue;

/// What an installation adds to the rules that come with this program, or takes from them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// The programs that are known, those of `programs` among them.
    pub catalogue: Catalogue,
    /// Commands that nobody runs. One with the name of a default takes its place.
    pub never: Vec<NeverRule>,
    /// Names of defaults that do not hold here.
    pub off: Vec<String>,
    /// Folders with data, beside the usual ones.
    pub data: Vec<String>,
    /// Files that are not written, beside the usual ones; a later rule wins.
    pub protect: Vec<PathRule>,
    /// Files that are not read either, beside the usual ones; a later rule wins.
    pub secret: Vec<PathRule>,
    /// Tools of MCP servers that act.
    pub tools: Vec<ToolRule>,
    /// Addresses that take messages over HTTP, beside the usual ones.
    pub webhooks: Vec<String>,
}

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Where {
    /// On the machine where the agent runs.
    Local,
    /// On other machines.
    Remote,
    /// Everywhere.
    #[default]
    Any,
}

impl Where {
    /// Whether it holds at a place.
    pub const fn holds(self, remote: bool) -> bool {
        match self {
            Self::Local => !remote,
            Self::Remote => remote,
            Self::Any => true,
        }
    }
}

/// A command that is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeverRule {
    /// Its name, in denials and to replace it.
    pub name: String,
    /// Patterns in the language of `policy::pattern`; one of them is enough.
    pub patterns: Vec<String>,
    /// Why not, and what to do instead.
    pub reason: String,
    /// Where it holds.
    pub place: Where,
    /// The tiers at which it holds; empty is at every one, and without one.
    pub tiers: Vec<Tier>,
}

/// Files named by a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The glob; a leading `!` excepts what it names.
    pub glob: String,
    /// Where it holds.
    pub place: Where,
}

/// What a tool of an MCP server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule {
    /// The client's name of the tool, `mcp__SERVER__TOOL`.
    pub tool: String,
    /// The kind of action; [`ActionKind::Forbidden`] for a tool that nobody calls.
    pub kind: ActionKind,
    /// What is done.
    pub verb: Verb,
    /// The argument that names the service, as a name or a JSON pointer.
    pub service: Option<String>,
    /// The argument that names the host.
    pub host: Option<String>,
    /// The argument that names the recipients of a message.
    pub to: Option<String>,
}
