//! `opsctl sessions`: lists sessions and sets their status.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::machine::agent_side::AgentSide;
use crate::machine::client::client_process;
use crate::machine::environment::{Environment, plain_word};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, Listing, OK, limited, text, time};
use opsctl_ledger::Ledger;
use opsctl_ledger::sessions::{WhichSessions, Who};
use opsctl_policy::model::records::session::{Chain, Session, plain_id};
use opsctl_policy::model::rights::policy::{Tier, Window};
use opsctl_policy::texts::session::{Stale, stale};

/// The maximum length of a status, in characters.
const STATUS_CHARS: usize = 200;

#[expect(clippy::struct_excessive_bools, reason = "each is a flag on the command line")]
/// List sessions, or set this session's status text
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  opsctl sessions                              # the latest, last seen first
  opsctl sessions --active --relative
  opsctl sessions --stale --stale-after 10m    # did not end cleanly
  opsctl sessions --since 24h --json
  opsctl sessions status \"looking at jellyfin's log\"

States:
  active       the model is working
  tool_active  a tool is running
  idle         waiting for a prompt
  ended        ended by the client
  stale        did not end cleanly: its process is gone, or silent for too long")]
pub struct SessionsArgs {
    #[command(subcommand)]
    verb: Option<SessionsVerb>,
    /// Only sessions that are neither ended nor stale
    #[arg(long, conflicts_with = "stale")]
    active: bool,
    /// Only stale sessions
    #[arg(long)]
    stale: bool,
    /// Only sessions last seen since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Only the session with this id, opsctl's or the client's
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only sessions of this mission
    #[arg(long, value_name = "ID")]
    mission: Option<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only sessions of this tier
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// Inactivity after which a session is stale
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = time::duration)]
    stale_after: Window,
    /// Maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print relative times
    #[arg(long)]
    relative: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SessionsVerb {
    /// Set the status text of this session
    #[command(after_help = "Examples:
  opsctl sessions status \"looking at jellyfin's log\"
  opsctl sessions status --clear")]
    Status(StatusArgs),
}

#[derive(Debug, Args)]
struct StatusArgs {
    /// The status text
    #[arg(required_unless_present = "clear")]
    text: Option<String>,
    /// Remove the status
    #[arg(long, conflicts_with = "text")]
    clear: bool,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[
    Facts::reads("sessions").in_guard(&[]).with_ledger().with_state(),
    Facts::changes("sessions status").in_guard(&[]).with_ledger().with_state(),
];

/// Runs the verb.
pub fn run(args: &SessionsArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    if let Some(SessionsVerb::Status(status)) = &args.verb {
        return set_status(status, &environment);
    }
    let now = Utc::now();
    let which = WhichSessions {
        id: args.session.as_deref(),
        mission: args.mission.as_deref(),
        since: args.since,
        agent: args.agent.as_deref(),
        tier: args.tier,
        is_open: args.active || args.stale,
    };
    let stale_after = args.stale_after.delta();
    let why_stale = |session: &Session| {
        stale(session, client_process::state(session.process.as_deref()), now, stale_after)
    };
    let sessions = Ledger::read_at(&environment.ledger, |ledger| {
        ledger.sessions(which, usize::try_from(limited(args.limit)).unwrap_or(usize::MAX), |session| {
            !which.is_open || why_stale(session).is_some() == args.stale
        })
    })?;
    let seen = sessions.into_iter().map(|session| Seen { stale: why_stale(&session), session });
    let seen: Vec<Seen> = seen.collect();
    let listing = Listing {
        what: "sessions",
        titles: TITLES,
        cells: &|seen| cells(seen, args.relative, now),
        agent_of: |seen: &Seen| seen.session.agent.as_deref(),
        agent: args.agent.as_deref(),
        json: args.json,
    };
    listing.print(&seen, &environment)
}

fn set_status(args: &StatusArgs, environment: &Environment) -> Result<u8, Failure> {
    let session = environment.shell_session().map(plain_id).filter(|id| !id.is_empty());
    let session = session.ok_or_else(|| {
        Failure::new("no session: run this in an agent's shell, or name the session with CLAUDE_SESSION_ID")
    })?;
    let text: String =
        text::line(args.text.as_deref().unwrap_or_default()).chars().take(STATUS_CHARS).collect();
    let text = text.trim();
    if text.is_empty() && !args.clear {
        return Err(Failure::new(
            "the status is empty; describe the work in a few words, or remove the status with --clear",
        ));
    }
    let mission = AgentSide::HERE.mission();
    let role = environment.role.as_deref().and_then(plain_word);
    let client_id = environment.client_session.as_deref().map(plain_id).filter(|id| *id != session);
    let who = Who {
        session: &session,
        client_id: client_id.as_deref(),
        tier: environment.tier.map(Tier::number),
        role: role.as_deref(),
        mission: mission.as_deref(),
        tmux_pane: None,
        ..Who::default()
    };
    let now = Utc::now();
    Ledger::note(&environment.ledger, |change| {
        change.meet(&who, now)?;
        change.set_status(&session, text, now)
    })?;
    Ok(OK)
}

/// A session, and whether it is stale.
#[derive(Serialize)]
struct Seen {
    #[serde(flatten)]
    session: Session,
    stale: Option<Stale>,
}

impl Seen {
    fn state(&self) -> &'static str {
        match self.stale {
            Some(Stale::Gone) => "stale (gone)",
            Some(Stale::Silent) => "stale (silent)",
            None => self.session.state.as_str(),
        }
    }
}

const TITLES: [&str; 14] = [
    "STATE",
    "TIER",
    "MODE",
    "ROLE",
    "MODEL",
    "STARTED",
    "LAST SEEN",
    "END",
    "AGENTS",
    "COST",
    "CHAIN",
    "SESSION",
    "HANDED OVER BY",
    "STATUS",
];

fn cells(seen: &Seen, relative: bool, now: DateTime<Utc>) -> [String; 14] {
    let session = &seen.session;
    let filled = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), text::line);
    let running = session.subagents.iter().filter(|subagent| subagent.ended.is_none()).count();
    let agents = match (session.subagents.len(), running) {
        (0, _) => "-".to_owned(),
        (all, 0) => all.to_string(),
        (all, running) => format!("{all}, {running} running"),
    };
    [
        seen.state().to_owned(),
        session.tier.map_or_else(|| "-".to_owned(), |tier| tier.to_string()),
        filled(session.mode.as_deref()),
        filled(session.role.as_deref()),
        filled(session.model.as_deref()),
        time::shown(session.started, relative, now),
        time::shown(session.last_seen, relative, now),
        filled(session.end_reason.as_deref()),
        agents,
        session.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}")),
        session.chain.as_ref().map_or_else(|| "-".to_owned(), chain_in_words),
        text::line(&session.id),
        filled(session.chain.as_ref().and_then(|chain| chain.parent.as_deref())),
        filled(session.status.as_deref()),
    ]
}

/// The place of a session in its chain, and the cost of the chain.
fn chain_in_words(chain: &Chain) -> String {
    let cost = chain.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    format!("{} of {}{cost}", chain.place, chain.sessions)
}
