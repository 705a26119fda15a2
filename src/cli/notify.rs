//! `opsctl notify`: the outbox, seen, tested and flushed.

use std::io::Read as _;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use clap::Args;
use serde::Serialize;

use super::exit_code::{FAILED, OK};
use super::failure::Failure;
use super::output::{complain, print, print_json};
use crate::ledger::Ledger;
use crate::ledger::notices::StoredNotice;
use crate::model::event::Level;
use crate::model::notice::Body;
use crate::model::policy::Window;
use crate::runtime::environment::Environment;
use crate::runtime::notify::apprise::{self, DEADLINE, Message, Sent, Target};
use crate::runtime::notify::deliver;

/// Show what the operators were told, send a test, or deliver what waits
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl notify                  # the latest notifications and what became of each
  opsctl notify --test           # send one now; exit code 1 if it does not arrive
  opsctl notify --flush          # deliver what waits, at the end of a session for example

Notifications go to CLAUDEOPS_APPRISE_URLS, or else to the targets in the apprise configuration file that
CLAUDEOPS_APPRISE_CONFIG names: those tagged with the level (info, warning, critical), the service, or the subject
(budget, guard, api, verify, handoff, notification); to the untagged ones where none is.")]
pub struct NotifyArgs {
    /// Send a test notification, and say what became of it
    #[arg(long, group = "what")]
    test: bool,
    /// Deliver everything that waits
    #[arg(long, group = "what")]
    flush: bool,
    /// How long `--flush` may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = super::time::duration, requires = "flush")]
    deadline: Window,
    /// Deliver one notification: what a hook leaves to a process of its own
    #[arg(long, group = "what", value_name = "ID", hide = true, allow_hyphen_values = true)]
    deliver: Option<String>,
    /// How many are listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs with parsed arguments.
pub fn run(args: &NotifyArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    if let Some(what) = &args.deliver {
        return deliver_one(what, &environment);
    }
    if args.test {
        return test(&environment);
    }
    if args.flush {
        return flush(&environment, args.deadline.duration());
    }
    list(&environment, args)
}

fn test(environment: &Environment) -> Result<u8, Failure> {
    let target = Target::of(environment).ok_or(Failure::NoTarget)?;
    let body = Body::Markdown(
        "This is a **test** of opsctl: budgets, verifications and failures of the guard will arrive here."
            .to_owned(),
    );
    let tags = ["test".to_owned()];
    let message =
        Message { level: Level::Info, title: "opsctl: test notification", body: &body, tags: &tags };
    match apprise::send(&target, message, DEADLINE)? {
        Sent::ToAll => {
            print(&format!("test notification delivered through {}\n", target.variable()));
            Ok(OK)
        }
        Sent::ToSome => Err(Failure::SomeTargets(target.variable())),
        Sent::ToNobody => Err(Failure::NoTaggedTarget(target.variable())),
    }
}

fn flush(environment: &Environment, deadline: Duration) -> Result<u8, Failure> {
    // Where nothing is to be sent to, nothing waits.
    let Some(target) = Target::of(environment) else { return Ok(OK) };
    let flushed = deliver::all(environment, &target, deadline)?;
    if flushed.delivered > 0 {
        print(&format!("{} delivered\n", flushed.delivered));
    }
    if flushed.waiting == 0 {
        return Ok(OK);
    }
    complain(format_args!("{} not delivered; `opsctl notify` says why", flushed.waiting));
    Ok(FAILED)
}

fn deliver_one(what: &str, environment: &Environment) -> Result<u8, Failure> {
    if what == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text)?;
        deliver::raised(environment, &text)?;
    } else {
        let id = what.parse().map_err(|_| Failure::NotificationNumber(what.to_owned()))?;
        deliver::one(environment, id)?;
    }
    Ok(OK)
}

fn list(environment: &Environment, args: &NotifyArgs) -> Result<u8, Failure> {
    let notices = match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.latest_notices(args.limit)?,
        None => vec![],
    };
    if args.json {
        return print_json(&NoticesWire { notices: notices.iter().map(NoticeWire::new).collect() });
    }
    if Target::of(environment).is_none() {
        complain(Failure::NoTarget);
    }
    print(&notices.iter().map(in_words).collect::<String>());
    Ok(OK)
}

fn in_words(notice: &StoredNotice) -> String {
    let NoticeWire { created_at, level, title, state, last_error, .. } = NoticeWire::new(notice);
    let why = last_error.map(|error| format!(" ({error})")).unwrap_or_default();
    let line =
        format!("{} | {level} | {state} | {title}{why}", created_at.as_deref().unwrap_or("unknown time"));
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).chain(['\n']).collect()
}

#[derive(Serialize)]
struct NoticesWire<'a> {
    notices: Vec<NoticeWire<'a>>,
}

#[derive(Serialize)]
struct NoticeWire<'a> {
    id: i64,
    created_at: Option<String>,
    level: &'static str,
    title: &'a str,
    body: &'a str,
    tags: &'a [String],
    state: &'static str,
    attempts: u32,
    delivered_at: Option<String>,
    last_error: Option<&'a str>,
}

impl<'a> NoticeWire<'a> {
    fn new(notice: &'a StoredNotice) -> Self {
        let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
        Self {
            id: notice.id,
            created_at: notice.created_at.map(time),
            level: notice.level.as_str(),
            title: &notice.title,
            body: notice.body.text(),
            tags: &notice.tags,
            state: notice.state.as_str(),
            attempts: notice.attempts,
            delivered_at: notice.delivered_at.map(time),
            last_error: notice.last_error.as_deref(),
        }
    }
}
