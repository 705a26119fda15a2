//! `opsctl explain`: what a command does, and what the guard would say to it. Reads only.

use std::io::Read as _;
use std::path::PathBuf;

use chrono::Utc;
use clap::Args;
use serde::Serialize;

use super::place::environment_in_force;
use super::{Failure, OK, complain, print, print_json};
use crate::actions::{message, read_command};
use crate::guard::acting::resolve;
use crate::guard::{judge, screen};
use crate::inventory::compiled::PolicyHeader;
use crate::model::verdict::{ResolvedAction, Verdict};
use crate::policy::{dry_run, modes};
use crate::runtime::installation;

/// Explain what a command really does and whether it would be let through
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl explain 'ssh root@ie01 \"docker restart jellyfin\"'
  opsctl explain --json 'for s in jellyfin sonarr; do docker restart $s; done'
  opsctl explain - < script.sh")]
pub struct ExplainArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The folder in which the command would start
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The command; `-` reads it from stdin
    command: String,
}

/// Runs with parsed arguments.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let command = if args.command == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        args.command.clone()
    };
    let cwd = args.cwd.clone().or_else(|| std::env::current_dir().ok());
    let environment = environment_in_force();
    let mut notes = environment.complaints.clone();
    let mut reading = read_command(&command, cwd.as_deref());
    let compiled = installation::in_force(&environment, &mut notes);
    message::listed(&reading.script, &compiled.installation.policy.rules.webhooks, &mut reading.actions);
    let actions = resolve(reading.actions.clone(), &compiled.installation.inventory);
    let tier = environment.tier.or(compiled.tier);
    let header = PolicyHeader::from(compiled.clone());
    let mut objections = screen::objections(&reading.script, &header, &environment);
    objections.extend(modes::objections(&actions, &compiled.installation.policy, environment.mode));
    if environment.dry_run {
        objections.extend(dry_run::objections(&actions));
    }
    let verdict = if objections.is_empty() {
        judge::preview(&actions, &compiled.installation, tier, &environment, Utc::now(), &mut notes)
    } else {
        Verdict::Deny(objections)
    };
    for note in notes {
        complain(note);
    }
    let explanation = ExplanationWire::new(&command, &reading.complaints, &actions, &verdict);
    if args.json {
        return print_json(&explanation);
    }
    print(&explanation.in_words(&reading.script.lines()));
    Ok(OK)
}

#[derive(Serialize)]
struct ExplanationWire<'a> {
    command: &'a str,
    complaints: &'a [String],
    actions: Vec<ActionWire<'a>>,
    decision: &'static str,
    reasons: Vec<&'a str>,
}

#[derive(Serialize)]
struct ActionWire<'a> {
    kind: &'static str,
    verb: &'static str,
    service: Option<&'a str>,
    host: Option<&'a str>,
    via: &'a [String],
    repeats: bool,
    evidence: &'a str,
}

impl<'a> ExplanationWire<'a> {
    fn new(
        command: &'a str,
        complaints: &'a [String],
        actions: &'a [ResolvedAction],
        verdict: &'a Verdict,
    ) -> Self {
        let (decision, reasons) = match verdict {
            Verdict::Silent => ("allow", vec![]),
            Verdict::Deny(reasons) => ("deny", reasons.iter().map(|reason| reason.text.as_str()).collect()),
        };
        let actions = actions
            .iter()
            .map(|ResolvedAction { action, service, host }| ActionWire {
                kind: action.kind.as_str(),
                verb: action.verb.as_str(),
                service: service.as_deref(),
                host: host.as_deref(),
                via: &action.via,
                repeats: action.repeats,
                evidence: &action.evidence,
            })
            .collect();
        Self { command, complaints, actions, decision, reasons }
    }

    /// For people: what runs where, what of it acts, and the verdict.
    fn in_words(&self, tree: &[String]) -> String {
        let mut lines = vec!["what runs:".to_owned()];
        lines.extend(tree.iter().map(|line| format!("  {line}")));
        if tree.is_empty() {
            lines.push("  nothing".to_owned());
        }
        lines.push("actions:".to_owned());
        lines.extend(self.actions.iter().map(|action| format!("  {}", action.in_words())));
        if self.actions.is_empty() {
            lines.push("  none".to_owned());
        }
        if !self.complaints.is_empty() {
            lines.push("not understood:".to_owned());
            lines.extend(self.complaints.iter().map(|complaint| format!("  {complaint}")));
        }
        lines.push(format!("decision: {}", self.decision));
        lines.extend(self.reasons.iter().map(|reason| format!("  {reason}")));
        lines.join("\n") + "\n"
    }
}

impl ActionWire<'_> {
    fn in_words(&self) -> String {
        let Self { kind, verb, evidence, .. } = self;
        let what = if kind == verb { (*kind).to_owned() } else { format!("{kind} ({verb})") };
        let mut words = match self.service {
            Some(service) => format!("{what} of {service}"),
            None if matches!(*kind, "restart" | "redeployment") => {
                format!("{what} of a service that cannot be told")
            }
            None => what,
        };
        if let Some(host) = self.host {
            words.extend([" on ", host]);
        }
        if !self.via.is_empty() {
            words.extend([", through ", &self.via.join(", ")]);
        }
        if self.repeats {
            words.push_str(", any number of times");
        }
        format!("{words}: `{evidence}`")
    }
}
