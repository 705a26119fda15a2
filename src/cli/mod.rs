//! The command line: one file per verb. This layer alone knows arguments, the terminal and exit codes.

mod demo;
mod explain;
mod hook;
mod render;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything went well; for a hook: no objection.
const OK: u8 = 0;
/// A usage error, bad input, or a difference found by `--check`.
const FAILED: u8 = 1;
/// A hook denies. No other verb uses it: the client takes it for a denial.
const DENIED: u8 = 2;

/// Guardrails for agents on real servers: hook handlers, budgets, rendered settings.
#[derive(Debug, Parser)]
#[command(name = "opsctl", version, propagate_version = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Hook(hook::HookArgs),
    Render(render::RenderArgs),
    Explain(explain::ExplainArgs),
    Demo(demo::DemoArgs),
}

/// Runs the program with these arguments, its own name first.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    // The client calls this form before and after every command, so the argument parser, which builds the
    // whole tree of verbs first, is left out of it.
    let code = match hook::fast_path(&arguments) {
        Some(args) => hook::run(&args),
        None => match Cli::try_parse_from(arguments) {
            Ok(cli) => match cli.verb {
                Verb::Hook(args) => hook::run(&args),
                Verb::Render(args) => render::run(&args),
                Verb::Explain(args) => explain::run(&args),
                Verb::Demo(args) => demo::run(&args),
            },
            Err(error) => {
                // Help and version are no errors; nothing can be done about a closed terminal.
                let _ = error.print();
                if error.use_stderr() { FAILED } else { OK }
            }
        },
    };
    ExitCode::from(code)
}

/// One line about a failure, on stderr.
fn complain(message: impl Display) {
    complain_as_is(format_args!("opsctl: {message}"));
}

/// Words on stderr that are not about this program: a denial, which the model reads.
fn complain_as_is(message: impl Display) {
    // With stderr closed there is nobody left to tell.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Text on stdout; a reader that has gone away ends the output, not the program.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
