//! The command line, with one file per verb. Only this layer uses arguments, the terminal and exit codes.

mod agents;
mod approvals;
mod audit;
mod context;
mod cooldown;
mod db;
mod demo;
mod doctor;
mod doctor_hooks;
mod events;
mod exit_code;
mod explain;
mod failure;
mod follow;
mod grant;
mod guarded;
mod handoff;
mod hook;
mod hosts;
mod init;
mod input;
mod key;
mod launch;
mod manual;
mod mcp;
mod metrics;
mod mistakes;
mod notify;
mod output;
mod person;
mod progress;
mod project;
mod prune;
mod rehearse;
mod render;
mod report;
mod serve;
mod services;
mod session;
mod sessions;
mod stats;
mod status;
mod suggest;
mod table;
mod terminal;
mod text;
mod tier;
mod time;
mod verify;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use exit_code::{FAILED, OK};
use failure::Failure;
use guarded::VerbLine;
use output::{complain, complain_as_is};

use crate::held_variables::hide_process;
use crate::ledger::close_connections;
use crate::runtime::environment::Environment;

/// Guardrails for agents on real servers: hook handlers, budgets, rendered settings.
#[derive(Debug, Parser)]
#[command(name = "opsctl", version, propagate_version = true)]
#[command(after_help = "Examples:
  opsctl demo                              # replay an incident in a temporary folder
  opsctl render                            # hosts.yaml -> the client's settings, prompts and policy
  opsctl explain 'ssh ie01 docker restart jellyfin'

Exit codes:
  0  done; for a hook: allowed
  1  not done: a usage error, bad input, or something is wrong with what was looked at
  2  a hook denies or blocks; `explain --exit-code`: the call would be denied")]
struct Cli {
    /// When to use colours
    #[arg(long, value_enum, global = true, default_value_t = Colors::Auto, value_name = "WHEN")]
    color: Colors,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Colors {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Hook(hook::HookArgs),
    Render(render::RenderArgs),
    Explain(explain::ExplainArgs),
    Hosts(hosts::HostsArgs),
    Verify(verify::VerifyArgs),
    Cooldown(cooldown::CooldownArgs),
    Events(events::EventsArgs),
    Status(status::StatusArgs),
    Report(report::ReportArgs),
    Tier(tier::TierArgs),
    Context(context::ContextArgs),
    Notify(notify::NotifyArgs),
    Launch(launch::LaunchArgs),
    Serve(serve::ServeArgs),
    Session(session::SessionArgs),
    Sessions(sessions::SessionsArgs),
    Handoff(handoff::HandoffArgs),
    Mcp(mcp::McpArgs),
    Approvals(approvals::ApprovalsArgs),
    Approve(approvals::ApproveArgs),
    Refuse(approvals::RefuseArgs),
    Grant(grant::GrantArgs),
    Key(key::KeyArgs),
    Metrics(metrics::MetricsArgs),
    Audit(audit::AuditArgs),
    Stats(stats::StatsArgs),
    Suggest(suggest::SuggestArgs),
    Prune(prune::PruneArgs),
    Db(db::DbArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Init(init::InitArgs),
    Rehearse(rehearse::RehearseArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

/// Runs the program with these arguments, including the program's name.
pub fn run(arguments: &[OsString]) -> ExitCode {
    // The client calls hooks before and after every command, so they skip the argument parser, which builds the whole
    // tree of verbs first.
    let code = match hook::fast_path(arguments) {
        Some(args) => hook::run(&args),
        None => match Cli::try_parse_from(arguments) {
            Ok(Cli { color, verb }) => {
                match color {
                    Colors::Auto => {}
                    Colors::Always => ColorChoice::Always.write_global(),
                    Colors::Never => ColorChoice::Never.write_global(),
                }
                let there = guard_line(&verb, color, arguments).and_then(guarded::run);
                there.unwrap_or_else(|| run_verb(verb)).unwrap_or_else(|failure| {
                    match failure {
                        Failure::Inventory(error) => mistakes::complain(&error),
                        other => complain(other),
                    }
                    FAILED
                })
            }
            Err(error) => {
                if error.use_stderr() {
                    complain_as_is(error.render().to_string().trim_end());
                    FAILED
                } else {
                    // Help and version contain no data. Errors of the terminal are ignored.
                    let _ = error.print();
                    OK
                }
            }
        },
    };
    close_connections();
    ExitCode::from(code)
}

/// A verb that a guard runs, if there is one; `None` for verbs about files and programs of this machine.
fn guard_line<'a>(verb: &Verb, color: Colors, arguments: &'a [OsString]) -> Option<VerbLine<'a>> {
    use Verb::{
        Completions, Context, Db, Demo, Doctor, Explain, Handoff, Hook, Hosts, Init, Launch, Man, Mcp,
        Rehearse, Render, Serve, Session, Tier,
    };
    let colours = match color {
        Colors::Auto => None,
        Colors::Always => Some(true),
        Colors::Never => Some(false),
    };
    let line = VerbLine { arguments, colours, reads_stdin: false, needs_folder: false };
    match verb {
        Completions(_) | Context(_) | Db(_) | Demo(_) | Doctor(_) | Handoff(_) | Hook(_) | Hosts(_)
        | Init(_) | Launch(_) | Man(_) | Mcp(_) | Rehearse(_) | Render(_) | Serve(_) | Session(_)
        | Tier(_) => None,
        Explain(args) => {
            Some(VerbLine { reads_stdin: args.reads_stdin(), needs_folder: args.is_here(), ..line })
        }
        _ => Some(line),
    }
}

/// Whether a verb may write to the state folder, directly or through hooks that it configures.
const fn keeps_state(verb: &Verb) -> bool {
    use Verb::{Cooldown, Grant, Handoff, Key, Mcp, Notify, Prune, Render, Serve, Session, Sessions};
    matches!(
        verb,
        Cooldown(_)
            | Grant(_)
            | Handoff(_)
            | Key(_)
            | Mcp(_)
            | Notify(_)
            | Prune(_)
            | Render(_)
            | Serve(_)
            | Session(_)
            | Sessions(_)
    )
}

/// Whether a verb reads or changes the ledger.
const fn uses_ledger(verb: &Verb) -> bool {
    use Verb::{
        Approvals, Approve, Audit, Cooldown, Events, Explain, Grant, Metrics, Prune, Refuse, Report,
        Sessions, Stats, Status, Suggest, Verify,
    };
    matches!(
        verb,
        Approvals(_)
            | Approve(_)
            | Audit(_)
            | Cooldown(_)
            | Events(_)
            | Explain(_)
            | Grant(_)
            | Metrics(_)
            | Prune(_)
            | Refuse(_)
            | Report(_)
            | Sessions(_)
            | Stats(_)
            | Status(_)
            | Suggest(_)
            | Verify(_)
    )
}

/// Whether a verb needs the keys of the client or the targets of notifications.
const fn needs_keys(verb: &Verb) -> bool {
    matches!(verb, Verb::Serve(_) | Verb::Session(_) | Verb::Notify(_) | Verb::Doctor(_))
}

fn run_verb(verb: Verb) -> Result<u8, Failure> {
    if needs_keys(&verb) {
        hide_process();
    }
    if keeps_state(&verb) {
        // If this fails, the verb reports that it cannot write there.
        let _ = Environment::of_process().create_own_state_dir();
    }
    if uses_ledger(&verb) {
        crate::hook::undelivered::record(&Environment::of_process());
    }
    match verb {
        Verb::Hook(args) => Ok(hook::run(&args)),
        Verb::Render(args) => render::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Hosts(args) => hosts::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Cooldown(args) => cooldown::run(&args),
        Verb::Events(args) => events::run(&args),
        Verb::Status(args) => status::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Tier(args) => tier::run(&args),
        Verb::Context(args) => context::run(&args),
        Verb::Notify(args) => notify::run(&args),
        Verb::Launch(args) => launch::run(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Session(args) => session::run(&args),
        Verb::Sessions(args) => sessions::run(&args),
        Verb::Handoff(args) => handoff::run(&args),
        Verb::Mcp(args) => mcp::run(&args),
        Verb::Approvals(args) => approvals::list(&args),
        Verb::Approve(args) => approvals::approve(&args),
        Verb::Refuse(args) => approvals::refuse(&args),
        Verb::Grant(args) => grant::run(&args),
        Verb::Key(args) => key::run(&args),
        Verb::Metrics(args) => metrics::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Stats(args) => stats::run(&args),
        Verb::Suggest(args) => suggest::run(&args),
        Verb::Prune(args) => prune::run(&args),
        Verb::Db(args) => db::run(&args),
        Verb::Demo(_) => demo::run(),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Rehearse(args) => rehearse::run(&args),
        Verb::Completions(args) => Ok(manual::completions(&args, Cli::command())),
        // `help` has no page of its own.
        Verb::Man(args) => manual::man(&args, Cli::command().disable_help_subcommand(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_shows_examples_that_it_takes_and_says_what_it_does() {
        let mut program = Cli::command().disable_help_subcommand(true);
        program.build();
        let mut seen = 0;
        walk(&program, &mut seen);
        assert!(seen > 30, "only {seen} verbs were found");
    }

    /// All verbs, and those below them.
    fn walk(verb: &clap::Command, seen: &mut usize) {
        for verb in verb.get_subcommands() {
            *seen += 1;
            // `opsctl-cooldown-show`, as the manual page is called.
            let name = verb.get_display_name().unwrap().replace('-', " ");
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let mut examples = help.lines().skip_while(|line| *line != "Examples:").skip(1).peekable();
            assert!(examples.peek().is_some(), "`{name} --help` shows no examples");
            assert!(verb.get_about().is_some(), "{name} does not say what it does");
            let own =
                examples.take_while(|line| line.starts_with("  ")).filter(|line| line.contains("opsctl "));
            assert!(own.clone().any(|line| line.contains(&name)), "the examples of {name} do not use it");
            for line in own {
                let words = words(line);
                let parsed = Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "an example of {name} is not taken: {words:?}: {parsed:?}");
            }
            walk(verb, seen);
        }
    }

    /// The words of the call of opsctl in a line of an example.
    fn words(line: &str) -> Vec<String> {
        let command = line.split(" # ").next().unwrap();
        let line = command.rsplit_once("opsctl ").unwrap().1;
        let mut words = vec!["opsctl".to_owned()];
        let mut quote = None;
        let mut word: Option<String> = None;
        for c in line.chars() {
            match (c, quote) {
                (_, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                ('#' | '|' | '<' | '>' | ')', None) => break,
                (' ', None) => words.extend(word.take()),
                _ => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn the_arguments_of_all_verbs_fit_together() {
        Cli::command().debug_assert();
    }
}
