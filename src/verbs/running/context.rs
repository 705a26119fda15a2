//! `opsctl context`: shows the context of a session.

use chrono::Utc;
use clap::Args;
use serde_json::{Value, json};

use crate::hooks::context::Reader;
use crate::hooks::context::text::{Shown, TextFile};
use crate::hooks::events::session_start::{SessionContext, compose};
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain_all, environment_in_force, print, print_json};
use opsctl_policy::model::rights::policy::Tier;

/// Show which files are in the context of a new session, and how much of each
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl context
  opsctl context --tier 2 --role chief
  opsctl context --text                # the whole text
  opsctl context --json")]
pub struct ContextArgs {
    /// The tier of the session; default: `CLAUDEOPS_TIER`, else the rendered one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// The role of the session; default: `CLAUDE_SESSION_ROLE`
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Print the whole context
    #[arg(long, conflicts_with = "json")]
    text: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("context")];

/// Runs the verb.
pub fn run(args: &ContextArgs) -> Result<u8, Failure> {
    let request = Request::here(environment_in_force(), Utc::now());
    let mut warnings = Warning::of_environment(&request.warnings);
    let reader = Reader { tier: args.tier.and_then(Tier::from_number), role: args.role.as_deref() };
    let context = compose(reader, &request, &mut warnings);
    complain_all(warnings);
    if args.text {
        print(&context.text);
        return Ok(OK);
    }
    let files = context.reading.files.iter().zip(context.shares.iter().map(|shown| match shown {
        Shown::Whole => "whole",
        Shown::Beginning(_) => "beginning",
        Shown::Name => "name",
    }));
    let files: Vec<(&TextFile, &str)> = files.collect();
    if args.json {
        return print_json(&json(&context, &files));
    }
    print(&in_words(&context, &files));
    Ok(OK)
}

fn json(SessionContext { reading, text, .. }: &SessionContext, files: &[(&TextFile, &str)]) -> Value {
    let file = |(file, shown): &(&TextFile, &str)| json!({ "name": file.name, "path": file.path, "bytes": file.size, "shown": shown });
    let skipped = reading.skipped.iter().map(|skipped| json!({ "what": skipped.what, "why": skipped.why }));
    json!({
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "not_included": skipped.collect::<Vec<_>>(),
        // The number of files beyond the maximum.
        "more": reading.more,
        // The length of the context. The client accepts 10,000.
        "characters": text.chars().count(),
    })
}

fn in_words(SessionContext { reading, text, .. }: &SessionContext, files: &[(&TextFile, &str)]) -> String {
    let width = files.iter().map(|(file, _)| file.name.chars().count()).max().unwrap_or_default();
    let mut words = String::new();
    for (file, shown) in files {
        words += &format!("{:width$}  {:>8} bytes  {shown}\n", file.name, file.size);
    }
    if reading.more > 0 {
        words += &format!("… and {} more files\n", reading.more);
    }
    for skipped in &reading.skipped {
        words += &format!("{}: not included: {}\n", skipped.what, skipped.why);
    }
    if words.is_empty() {
        words += "no files are listed under `context:` in hosts.yaml\n";
    }
    words + &format!("the whole context has {} of 10000 characters\n", text.chars().count())
}
