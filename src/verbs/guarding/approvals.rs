//! `opsctl approvals`, `opsctl approve` and `opsctl refuse`: the questions to a person, and their answers.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use crate::guard::approval;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    Agents, Failure, OK, environment_in_force, person, print, print_json, print_page, text, time::local,
    time::relative_time,
};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::questions::WhichQuestions;
use opsctl_policy::model::records::question::{Answer, Grant, Question};

/// The open questions, for a person who answers them.
const TEMPLATE: &str = include_str!("../../../templates/verbs/questions.txt.j2");

/// The maximum number of questions that are listed.
const MOST: u32 = 1_000;

/// List the questions that wait for an answer, and the grants that can be used
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl approvals
  opsctl approvals --all        # answered and expired ones, too, newest first
  opsctl approvals --json

States:
  open      waits for an answer
  approved  approved; the session has not made the call again yet
  refused   refused; the model reads the note
  expired   not answered in time, or approved and not used in time
  used      approved, and the call was allowed, once")]
pub struct ApprovalsArgs {
    /// All questions, newest first
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Approve a question: the call may run, once
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl approve 3
  opsctl approve 3 --note \"the new disk is in place\"

The answer is signed with the key of CLAUDEOPS_APPROVAL_KEY, else approval.key in the state folder. The call runs when its \
session continues, within one hour.")]
pub struct ApproveArgs {
    /// The number of the question
    #[arg(value_name = "ID")]
    id: i64,
    /// A note, which the model reads
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Refuse a question: the call stays denied, and the model reads the note
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl refuse 3 --note \"wait for the backup to finish\"")]
pub struct RefuseArgs {
    /// The number of the question
    #[arg(value_name = "ID")]
    id: i64,
    /// A note, which the model reads
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[
    Facts::reads("approvals").in_guard(&[]).with_ledger(),
    // Only a person answers questions.
    Facts::operator("approve").on_guards_side().with_ledger(),
    Facts::operator("refuse").on_guards_side().with_ledger(),
];

/// Runs `approvals`.
pub fn list(args: &ApprovalsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let mut now = Utc::now();
    let which = if args.all { WhichQuestions::All } else { WhichQuestions::Open };
    let (questions, grants) = match Ledger::open_existing(&environment.ledger)? {
        None => (vec![], vec![]),
        Some(ledger) => {
            now = ledger.now(now)?;
            (ledger.questions(which, MOST, now)?, ledger.grants(now)?)
        }
    };
    if args.json {
        return print_json(&json!({ "approvals": questions, "grants": grants }));
    }
    let agents = Agents::of(&environment)?;
    if args.all {
        let rows = questions.iter().map(|question| agents.named(cells(question), question.agent.as_deref()));
        agents.print_table(TITLES, rows, "questions", None);
    } else {
        print_page(TEMPLATE, &json!({ "questions": questions, "several": agents.are_several() }), now)?;
    }
    for grant in &grants {
        print(&format!("{}\n", granted(grant, now)));
    }
    Ok(OK)
}

/// Runs `approve`.
pub fn approve(args: &ApproveArgs) -> Result<u8, Failure> {
    answer(args.id, Answer::Approve, args.note.as_deref())
}

/// Runs `refuse`.
pub fn refuse(args: &RefuseArgs) -> Result<u8, Failure> {
    answer(args.id, Answer::Refuse, args.note.as_deref())
}

fn answer(id: i64, answer: Answer, note: Option<&str>) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let who = person::at_terminal(&environment)?;
    let question = approval::answer(&environment, id, answer, note, &who, Utc::now())?;
    let done = match answer {
        Answer::Approve => "approved: it runs when its session continues",
        Answer::Refuse => "refused: the model reads it when its session continues",
    };
    print(&format!("question {id} of session {} is {done}\n", question.session));
    Ok(OK)
}

const TITLES: [&str; 6] = ["ID", "ASKED", "STATE", "BY", "SESSION", "COMMAND"];

fn cells(question: &Question) -> [String; 6] {
    let Question { id, asked_at, state, answered_by, session, command, .. } = question;
    let first = command.lines().next().unwrap_or_default();
    [
        id.to_string(),
        local(*asked_at),
        state.as_str().to_owned(),
        answered_by.clone().unwrap_or_default(),
        session.clone(),
        first.to_owned(),
    ]
}

/// A grant in one line.
pub fn granted(grant: &Grant, now: DateTime<Utc>) -> String {
    let Grant { id, service, kind, count, used, by, expires_at, note, .. } = grant;
    let note = note.as_ref().map(|note| format!(": {}", text::line(note))).unwrap_or_default();
    format!(
        "grant {id}: {used} of {count} {kind}s of {} used, until {} ({}), by {}{note}",
        text::line(service),
        local(*expires_at),
        relative_time(*expires_at - now),
        text::line(by)
    )
}
