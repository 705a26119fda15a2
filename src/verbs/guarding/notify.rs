//! `opsctl notify`: lists, tests and delivers notifications.

use std::io::Read as _;
use std::time::Duration;

use chrono::{DateTime, Local, TimeDelta, Utc};
use clap::Args;
use serde_json::json;

use crate::guard::approval::notice_link;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::notify::apprise;
use crate::machine::notify::apprise::{DEADLINE, Message, Sent, Target};
use crate::machine::notify::{deliver, hand_over, has_target};
use crate::machine::warning::Warning;
use crate::pages::report::filter::Filter;
use crate::pages::report::{Extent, ReportData, digest};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    FAILED, Failure, OK, complain, complain_all, limited, print, print_json, print_table, time, time::shown,
};
use opsctl_ledger::Ledger;
use opsctl_ledger::cooldown::cooldown_edit;
use opsctl_ledger::cooldown::cooldown_edit::Moment;
use opsctl_ledger::records::notices::StoredNotice;
use opsctl_policy::model::records::event::Level;
use opsctl_policy::model::records::notice::Body;
use opsctl_policy::model::rights::policy::Window;

const NO_TARGET: &str =
    "no notification target is configured: set CLAUDEOPS_APPRISE_URLS, or CLAUDEOPS_APPRISE_CONFIG to a file";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag on the command line")]
/// List notifications, send a test, or deliver pending ones
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl notify                  # the latest notifications
  opsctl notify --test           # exit code 1 if it is not delivered
  opsctl notify --flush          # at the end of a session
  opsctl notify --digest         # does nothing unless the digest is due

Notifications go to CLAUDEOPS_APPRISE_URLS, else to targets in the apprise configuration file \
CLAUDEOPS_APPRISE_CONFIG: those tagged with the level (info, warning, critical), the service, or the subject \
(budget, question, guard, api, verification, handoff, session, digest, notification), or the untagged ones if no tag matches.")]
pub struct NotifyArgs {
    /// Send a test notification
    #[arg(long, group = "what")]
    test: bool,
    /// Deliver all pending notifications
    #[arg(long, group = "what")]
    flush: bool,
    /// Timeout of `--flush`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = time::duration, requires = "flush")]
    deadline: Window,
    /// Raise the daily digest if it is due (`policy.digest` of hosts.yaml)
    #[arg(long, group = "what")]
    digest: bool,
    /// The time of `--digest`, at the latest the current one; for tests
    #[arg(long, value_name = "WHEN", hide = true, value_parser = time::since, requires = "digest")]
    now: Option<DateTime<Utc>>,
    /// Deliver one notification; hooks use this in a detached process
    #[arg(long, group = "what", value_name = "ID", hide = true, allow_hyphen_values = true)]
    deliver: Option<String>,
    /// Maximum number of listed notifications
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("notify")
    .changes_with(&["--flush"])
    .sends(&["--test", "--digest", "--deliver"])
    .in_guard(&["--deliver", "--now"])
    .with_state()
    .with_keys()];

/// Runs the verb.
pub fn run(args: &NotifyArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    if let Some(what) = &args.deliver {
        return deliver_one(what, &environment);
    }
    if args.test {
        return test(&environment);
    }
    if args.digest {
        let now = Utc::now();
        return digest(&environment, args.now.map_or(now, |stated| stated.min(now)));
    }
    if args.flush {
        return flush(&environment, args.deadline.duration());
    }
    list(&environment, args)
}

fn test(environment: &Environment) -> Result<u8, Failure> {
    let target = Target::of(environment).ok_or_else(|| Failure::new(NO_TARGET))?;
    let body = Body::Markdown(
        "This is a **test** of opsctl: notifications about budgets, verifications and failures of the guard arrive here."
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
        Sent::ToSome => Err(Failure::new(format!(
            "the test notification reached some targets of {} and not others; try each with `apprise -vv`",
            target.variable()
        ))),
        Sent::ToNobody => Err(Failure::new(format!(
            "the test notification has no target: tag one in {} with `info` or `test`, or leave one untagged",
            target.variable()
        ))),
    }
}

fn flush(environment: &Environment, deadline: Duration) -> Result<u8, Failure> {
    // Without a target, no notification is pending.
    let Some(target) = Target::of(environment) else { return Ok(OK) };
    let flushed = deliver::all(environment, &target, deadline, notice_link::add)?;
    if flushed.delivered > 0 {
        print(&format!("{} delivered\n", flushed.delivered));
    }
    if flushed.waiting == 0 {
        return Ok(OK);
    }
    complain(format_args!("{} not delivered; `opsctl notify` shows why", flushed.waiting));
    Ok(FAILED)
}

/// Raises the digest if it is due. The ledger, which the agent cannot write, determines when the last one was raised;
/// cooldown.json states it for others.
fn digest(environment: &Environment, now: DateTime<Utc>) -> Result<u8, Failure> {
    let mut warnings = Vec::new();
    let compiled = installation::in_force(environment, &mut warnings);
    let Some(at) = compiled.installation.policy.digest else { return Ok(OK) };
    let mut ledger = Ledger::open(&environment.ledger)?;
    let last = ledger.last_raised(digest::KEY)?.filter(|last| *last <= now);
    let local = |time: DateTime<Utc>| time.with_timezone(&Local).naive_local();
    if !digest::is_due(at, local(now), last.map(local)) {
        return Ok(OK);
    }
    let since = last.unwrap_or(now - TimeDelta::days(1));
    let data = ReportData::read(
        environment,
        &compiled,
        Some(&ledger),
        &Filter::default(),
        (since, now, Extent::REPORT),
        &mut warnings,
    )?;
    let notice = digest::notice(&data, &ledger.last_checks()?)?;
    let change = ledger.change()?;
    let raised = change.raise(None, &notice, has_target(environment), now)?;
    change.commit()?;
    if let Some(id) = raised {
        let noted = cooldown_edit::note(&environment.cooldown_file(), Moment::LastDailyDigest, now);
        warnings.extend(noted.err().map(Warning::from));
        warnings.extend(hand_over(environment, id));
    }
    complain_all(warnings);
    Ok(OK)
}

/// Delivers one notice. The first line of stdin contains the targets; with `-`, the rest is the notice.
fn deliver_one(what: &str, environment: &Environment) -> Result<u8, Failure> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    let (urls, notice) = text.split_once('\n').unwrap_or((&text, ""));
    let apprise_urls = Some(urls.trim().to_owned()).filter(|urls| !urls.is_empty());
    let environment = &Environment { apprise_urls, ..environment.clone() };
    if what == "-" {
        deliver::raised(environment, notice, notice_link::add)?;
    } else {
        let id = what
            .parse()
            .map_err(|_| Failure::new(format!("`{what}` is not the number of a notification")))?;
        deliver::one(environment, id, notice_link::add)?;
    }
    Ok(OK)
}

fn list(environment: &Environment, args: &NotifyArgs) -> Result<u8, Failure> {
    let notices = Ledger::read_at(&environment.ledger, |ledger| ledger.latest_notices(limited(args.limit)))?;
    if args.json {
        return print_json(&json!({ "notices": notices }));
    }
    if Target::of(environment).is_none() {
        complain(NO_TARGET);
    }
    let titles = ["TIME", "LEVEL", "STATE", "TITLE", "ERROR"];
    print_table(titles, notices.iter().map(cells), "no notifications");
    Ok(OK)
}

fn cells(notice: &StoredNotice) -> [String; 5] {
    let StoredNotice { created_at, level, title, state, last_error, .. } = notice;
    [
        shown(*created_at, false, Utc::now()),
        level.as_str().to_owned(),
        state.as_str().to_owned(),
        title.clone(),
        last_error.clone().unwrap_or_default(),
    ]
}
