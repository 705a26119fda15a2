//! The command line, with one file per verb. Only this layer uses arguments, the terminal and exit codes.

#[cfg(test)]
mod catalogue;
mod facts;
mod terminal;

/// Verbs of the gates before servers.
mod gates {
    pub mod engine;
    pub mod gate;
    pub mod install;
    pub mod kubernetes;
    pub mod remote;
    pub mod report;
    pub mod ssh;
}

/// Verbs of the guard: hooks, explanations, questions and the process.
mod guarding {
    pub mod approvals;
    pub mod explain;
    pub mod guarded;
    pub mod hook;
    pub mod notify;
    pub mod serve;
}

/// Verbs about the ledger: lists, budgets, numbers and pages.
mod records {
    pub mod audit;
    pub mod cooldown;
    pub mod db;
    pub mod events;
    pub mod grant;
    pub mod metrics;
    pub mod prune;
    pub mod report;
    pub mod sessions;
    pub mod stats;
    pub mod status;
    pub mod verify;
}

/// Verbs that run sessions of the client or serve them.
mod running {
    pub mod context;
    pub mod handoff;
    pub mod launch;
    pub mod mcp;
    pub mod session;
    pub mod tier;
}

/// Verbs that set up and check an installation.
mod setup {
    pub mod demo;
    pub mod doctor;
    pub mod doctor_hooks;
    pub mod hosts;
    pub mod init;
    pub mod key;
    pub mod lint;
    pub mod manual;
    pub mod policy;
    pub mod rehearse;
    pub mod render;
    pub mod replay;
    pub mod services;
    pub mod suggest;
    pub mod test;
}

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use facts::{Facts, below, verb_of};
use gates::{gate, remote};
use guarding::{approvals, explain, guarded, hook, notify, serve};
use records::{audit, cooldown, db, events, grant, metrics, prune, report, sessions, stats, status, verify};
use running::{context, handoff, launch, mcp, session, tier};
use setup::{
    demo, doctor, hosts, init, key, lint, manual, policy, rehearse, render, replay, services, suggest, test,
};
use terminal::{
    FAILED, Failure, OK, check_written, complain, complain_as_is, environment_in_force, mistakes, person,
    screen,
};

use crate::guard::audit as record;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::link::SERVED;
use opsctl_ledger::LedgerError;
use opsctl_ledger::records::decisions::OperatorAct;
use opsctl_machine::held_variables::hide_process;
use opsctl_probe::health::quoted;

/// Guardrails for agents on real servers: hook handlers, budgets, rendered settings.
#[derive(Debug, Parser)]
#[command(name = "opsctl", version, propagate_version = true)]
#[command(after_help = "Examples:
  opsctl demo                              # replay an incident in a temporary folder
  opsctl render                            # hosts.yaml -> the client's settings, prompts and policy
  opsctl explain 'ssh ie01 docker restart jellyfin'

Exit codes:
  0  done; for a hook: allowed
  1  not done: a usage error or bad input; or a check found a problem
  2  a hook denies or blocks; `explain --exit-code`: the call would be denied")]
struct Cli {
    /// When to use colours
    #[arg(long, value_enum, global = true, default_value_t = Colors::Auto, value_name = "WHEN")]
    color: Colors,
    #[command(subcommand)]
    verb: Verb,
}

/// The width of the help on a wide terminal, as clap has it.
const HELP_WIDTH: usize = 100;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Colors {
    Auto,
    Always,
    Never,
}

impl Colors {
    /// Whether colours are used; `None` if that depends on the terminal.
    const fn shown(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Always => Some(true),
            Self::Never => Some(false),
        }
    }
}

/// The verbs in groups: each with the module of its facts, its arguments, and what runs it.
macro_rules! verbs {
    ($($group:literal { $($verb:ident: $module:ident, $arguments:ident, $run:expr;)* })*) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($($verb($module::$arguments),)*)*
        }

        impl Verb {
            fn run(&self) -> Result<u8, Failure> {
                match self {
                    $($(Self::$verb(arguments) => $run(arguments),)*)*
                }
            }
        }

        /// The facts of all verbs.
        const FACTS: &[&[Facts]] = &[$($($module::FACTS),*),*];

        /// The groups of the help, with their verbs.
        const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($verb)),*])),*];
    };
}

verbs! {
    "Daily use" {
        Status: status, StatusArgs, status::run;
        Report: report, ReportArgs, report::run;
        Hosts: hosts, HostsArgs, hosts::run;
        Verify: verify, VerifyArgs, verify::run;
        Cooldown: cooldown, CooldownArgs, cooldown::run;
        Explain: explain, ExplainArgs, explain::run;
    }
    "Set-up" {
        Demo: demo, DemoArgs, demo::run;
        Init: init, InitArgs, init::run;
        Render: render, RenderArgs, render::run;
        Doctor: doctor, DoctorArgs, doctor::run;
        Rehearse: rehearse, RehearseArgs, rehearse::run;
        Suggest: suggest, SuggestArgs, suggest::run;
        Test: test, TestArgs, test::run;
        Lint: lint, LintArgs, lint::run;
        Policy: policy, PolicyArgs, policy::run;
        Replay: replay, ReplayArgs, replay::run;
        Key: key, KeyArgs, key::run;
        Db: db, DbArgs, db::run;
    }
    "Answers of a person" {
        Approvals: approvals, ApprovalsArgs, approvals::list;
        Approve: approvals, ApproveArgs, approvals::approve;
        Refuse: approvals, RefuseArgs, approvals::refuse;
        Grant: grant, GrantArgs, grant::run;
    }
    "Records" {
        Audit: audit, AuditArgs, audit::run;
        Events: events, EventsArgs, events::run;
        Sessions: sessions, SessionsArgs, sessions::run;
        Notify: notify, NotifyArgs, notify::run;
        Stats: stats, StatsArgs, stats::run;
        Metrics: metrics, MetricsArgs, metrics::run;
        Prune: prune, PruneArgs, prune::run;
    }
    "For the client, the entrypoint and the shell" {
        Hook: hook, HookArgs, |args| Ok(hook::run(args));
        Session: session, SessionArgs, session::run;
        Tier: tier, TierArgs, tier::run;
        Context: context, ContextArgs, context::run;
        Handoff: handoff, HandoffArgs, handoff::run;
        Mcp: mcp, McpArgs, mcp::run;
        Launch: launch, LaunchArgs, launch::run;
        Serve: serve, ServeArgs, serve::run;
        Gate: gate, GateArgs, gate::run;
        Completions: manual, CompletionsArgs, |args| Ok(manual::completions(args, Cli::command()));
        // `help` has no page of its own.
        Man: manual, ManArgs, |args| manual::man(args, Cli::command().disable_help_subcommand(true));
    }
}

/// The command line, with its verbs in groups where help lists them.
fn command_line() -> clap::Command {
    let program = Cli::command();
    let mut listed = String::new();
    for (group, verbs) in GROUPS {
        listed += &format!("{group}:\n");
        for verb in *verbs {
            let name = verb.to_lowercase();
            let about = program.find_subcommand(&name).and_then(clap::Command::get_about);
            let line = format!("  {name:<11} {}", about.map(ToString::to_string).unwrap_or_default());
            listed +=
                &(screen::hanging(&line, 14, screen::width().unwrap_or(HELP_WIDTH).min(HELP_WIDTH)) + "\n");
        }
        listed.push('\n');
    }
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}{{after-help}}"
    ))
}

/// The facts of a verb by its words.
fn facts(verb: &str) -> Option<&'static Facts> {
    FACTS.iter().copied().flatten().find(|facts| facts.verb == verb)
}

/// Runs the program with these arguments, including the program's name.
pub fn run(arguments: &[OsString]) -> ExitCode {
    // The client calls hooks before and after every command, so they skip the argument parser, which builds the whole
    // tree of verbs first.
    if let Some(name) = remote::name(arguments) {
        return ExitCode::from(remote::run(name, arguments));
    }
    let code = match hook::fast_path(arguments) {
        Some(args) => hook::run(&args),
        None => match call(arguments).and_then(|code| check_written().map(|()| code)) {
            Ok(code) => code,
            Err(failure) => report(&failure),
        },
    };
    ExitCode::from(code)
}

/// Prints a failure. Returns the exit code.
fn report(failure: &Failure) -> u8 {
    match (failure.0.downcast_ref::<clap::Error>(), failure.0.downcast_ref()) {
        (Some(usage), _) if !usage.use_stderr() => {
            // Help and version contain no data.
            return match usage.print() {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => FAILED,
                _ => OK,
            };
        }
        (Some(usage), _) => complain_as_is(usage.render().to_string().trim_end()),
        (None, Some(inventory)) => mistakes::complain(inventory),
        (None, None) => complain(failure),
    }
    FAILED
}

/// Parses the arguments and runs the verb, here or in the guard.
fn call(arguments: &[OsString]) -> Result<u8, Failure> {
    // A guard starts its own program in this way for a caller on the agent's side.
    let (is_served, arguments) = match arguments {
        [program, first, rest @ ..] if first == SERVED => {
            (true, [std::slice::from_ref(program), rest].concat())
        }
        _ => (false, arguments.to_vec()),
    };
    let program = command_line();
    let matches = program.clone().try_get_matches_from(&arguments)?;
    let Cli { color, verb } = Cli::from_arg_matches(&matches)?;
    match color {
        Colors::Auto => {}
        Colors::Always => ColorChoice::Always.write_global(),
        Colors::Never => ColorChoice::Never.write_global(),
    }
    let (words, last) = verb_of(&matches);
    // A verb without facts would be one that a test has missed: nothing is allowed to it.
    let facts = facts(&words).copied().unwrap_or_else(|| Facts::operator("").on_guards_side());
    if is_served {
        guarded::check(&facts, below(&program, &words), last, &words)?;
    } else if let Some(guard) = guarded::guard(&facts) {
        guarded::check(&facts, below(&program, &words), last, &words)?;
        return guarded::run(&guard, color.shown(), &arguments);
    }
    if facts.keys {
        hide_process();
    }
    if facts.state {
        // If this fails, the verb reports that it cannot write there.
        let _ = Environment::of_process().create_own_state_dir();
    }
    if facts.ledger {
        crate::hooks::undelivered::record(&Environment::of_process());
    }
    let code = verb.run()?;
    if facts.audited && code == OK {
        let service = last.try_get_one::<String>("service").ok().flatten().map(String::as_str);
        if let Err(error) = record_use(&arguments, service) {
            complain(format_args!("it is done, but not in the audit: {error}"));
        }
    }
    Ok(code)
}

/// Records in the audit that a person has used a verb.
fn record_use(arguments: &[OsString], service: Option<&str>) -> Result<(), LedgerError> {
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let words = arguments.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let command = std::iter::once("opsctl".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    let services = service.map(|name| services::meant(&inventory, name)).unwrap_or_default();
    let session = environment.shell_session();
    let person = if session.is_some() { "agent".to_owned() } else { person::name() };
    let act = OperatorAct { person: &person, command: &command, services: &services, session };
    record::record_act(&environment.ledger, &act)
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

    /// All verbs that can be called: those without verbs below them, and those whose verbs are optional.
    fn callable(program: &clap::Command, words: &str) -> Vec<String> {
        let below = program.get_subcommands().flat_map(|verb| {
            let words = format!("{words} {}", verb.get_name());
            callable(verb, words.trim())
        });
        let own = (!words.is_empty() && !program.is_subcommand_required_set()).then(|| words.to_owned());
        own.into_iter().chain(below).collect()
    }

    fn all_facts() -> Vec<&'static Facts> {
        let mut all: Vec<&Facts> = FACTS.iter().copied().flatten().collect();
        // Several verbs of one module.
        all.sort_by_key(|facts| facts.verb);
        all.dedup_by_key(|facts| facts.verb);
        all
    }

    #[test]
    fn every_verb_states_its_facts() {
        let program = Cli::command();
        let mut verbs = callable(&program, "");
        verbs.sort();
        assert_eq!(verbs, all_facts().iter().map(|facts| facts.verb).collect::<Vec<_>>());
        for facts in all_facts() {
            let command = below(&program, facts.verb).unwrap();
            let known: Vec<String> = command.get_arguments().map(facts::name).collect();
            let except = match facts.side {
                facts::Side::Guard(except) => except,
                facts::Side::Caller | facts::Side::GuardOnly => &[],
            };
            for option in [facts.quiet, facts.sends, facts.writes, except].concat() {
                assert!(known.iter().any(|name| name == option), "`{}` has no `{option}`", facts.verb);
            }
        }
    }

    #[test]
    fn the_catalogue_states_the_facts_of_every_verb() {
        let mut program = Cli::command();
        // Global options belong to each verb from then on.
        program.build();
        let written = catalogue::entry(&program, &all_facts());
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates/reader/src/catalogue/shell/opsctl.yaml");
        if std::env::var_os("UPDATE_REFERENCE").is_some() {
            std::fs::write(&file, &written).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(file).unwrap_or_default(),
            written,
            "run UPDATE_REFERENCE=1 cargo test --lib verbs"
        );
    }

    /// Whether the guard's process refuses these arguments of a caller on the agent's side.
    fn is_refused(line: &str) -> bool {
        let words: Vec<&str> = std::iter::once("opsctl").chain(line.split_whitespace()).collect();
        let program = Cli::command();
        let Ok(matches) = program.clone().try_get_matches_from(words) else { return true };
        let (words, last) = verb_of(&matches);
        guarded::check(facts(&words).unwrap(), below(&program, &words), last, &words).is_err()
    }

    #[test]
    fn the_guard_serves_verbs_that_read_and_refuses_those_of_its_own_side() {
        for line in include_str!("../../tests/guard/verbs.txt").lines().filter(|line| !line.starts_with('#'))
        {
            let (side, words) = line.split_at(1);
            assert_eq!(is_refused(&words.replace("FILE", "/x")), side == "-", "{line}");
        }
    }

    #[test]
    fn the_arguments_of_all_verbs_fit_together() {
        Cli::command().debug_assert();
    }
}
