//! `opsctl context`: shows the context of a session.

use chrono::Utc;
use clap::Args;
use serde::Serialize;

use super::exit_code::OK;
use super::facts::Facts;
use super::failure::Failure;
use super::output::{complain_all, print, print_json};
use super::project::environment_in_force;
use crate::context::Reader;
use crate::context::text::Shown;
use crate::hook::session_start::{SessionContext, compose};
use crate::model::policy::Tier;
use crate::runtime::request::Request;
use crate::runtime::warning::Warning;

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

#[derive(Serialize)]
struct ContextWire<'a> {
    files: Vec<FileWire<'a>>,
    not_included: Vec<SkippedWire<'a>>,
    /// The number of files beyond the maximum.
    more: usize,
    /// The length of the context in characters. The client accepts 10,000.
    characters: usize,
}

#[derive(Serialize)]
struct FileWire<'a> {
    name: &'a str,
    path: &'a str,
    bytes: u64,
    shown: &'static str,
}

#[derive(Serialize)]
struct SkippedWire<'a> {
    what: &'a str,
    why: &'a str,
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
    let wire = ContextWire::from(&context);
    if args.json {
        return print_json(&wire);
    }
    print(&wire.in_words());
    Ok(OK)
}

impl<'a> From<&'a SessionContext> for ContextWire<'a> {
    fn from(context: &'a SessionContext) -> Self {
        let files = context.reading.files.iter().zip(&context.shares).map(|(file, shown)| FileWire {
            name: &file.name,
            path: &file.path,
            bytes: file.size,
            shown: match shown {
                Shown::Whole => "whole",
                Shown::Beginning(_) => "beginning",
                Shown::Name => "name",
            },
        });
        let skipped = context.reading.skipped.iter();
        Self {
            files: files.collect(),
            not_included: skipped
                .map(|skipped| SkippedWire { what: &skipped.what, why: &skipped.why })
                .collect(),
            more: context.reading.more,
            characters: context.text.chars().count(),
        }
    }
}

impl ContextWire<'_> {
    fn in_words(&self) -> String {
        let width = self.files.iter().map(|file| file.name.chars().count()).max().unwrap_or_default();
        let mut text = String::new();
        for FileWire { name, bytes, shown, .. } in &self.files {
            text.push_str(&format!("{name:width$}  {bytes:>8} bytes  {shown}\n"));
        }
        if self.more > 0 {
            text.push_str(&format!("… and {} more files\n", self.more));
        }
        for SkippedWire { what, why } in &self.not_included {
            text.push_str(&format!("{what}: not included: {why}\n"));
        }
        if text.is_empty() {
            text.push_str("no files are listed under `context:` in hosts.yaml\n");
        }
        text.push_str(&format!("the whole context has {} of 10000 characters\n", self.characters));
        text
    }
}
