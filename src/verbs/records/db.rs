//! `opsctl db`: the ledger on a server: rights of roles, and copies.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::machine::environment::Environment;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain, print, progress};
use opsctl_ledger::file::rights::User;
use opsctl_ledger::file::transfer::{Copied, copy};
use opsctl_ledger::{Ledger, Location};

/// Rights and copies of a ledger on a PostgreSQL server
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl db grant --role nas | psql \"$CLAUDEOPS_DB_URL\"
  opsctl db migrate --from /state/claudeops.db

CLAUDEOPS_DB_URL names the server.")]
pub struct DbArgs {
    #[command(subcommand)]
    verb: DbVerb,
}

#[derive(Debug, Subcommand)]
enum DbVerb {
    Grant(GrantArgs),
    Migrate(MigrateArgs),
}

/// Print the SQL that gives roles the rights that they need, and no others
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl db grant --role nas --role pie
  opsctl db grant --role nas --guard guard | psql \"$CLAUDEOPS_DB_URL\"

Run it as the owner of the database: it creates the tables of opsctl if they are missing. An agent's role adds rows and reads \
them; it cannot change or delete history. That of a guard can also store answers of persons. The roles must exist.")]
struct GrantArgs {
    /// The role of an agent
    #[arg(long, value_name = "ROLE", required_unless_present = "guard")]
    role: Vec<String>,
    /// The role of a guard that is a process of its own
    #[arg(long, value_name = "ROLE")]
    guard: Vec<String>,
}

/// Copy a ledger from a SQLite file to the server, or back
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl db migrate --from /state/claudeops.db
  opsctl db migrate --to /state/claudeops.db

Rows keep their ids. A second run copies only new and changed rows. A copy to the server is one transaction: if it is stopped, nothing is \
copied. A copy to a file continues where it was stopped; a new file gets its name when it is complete. Rows with unreadable times are \
counted and skipped. The tables of the session manager of Claude Ops are not copied.")]
#[command(group = clap::ArgGroup::new("file").required(true))]
struct MigrateArgs {
    /// The file that is copied to the server
    #[arg(long, value_name = "FILE", group = "file")]
    from: Option<PathBuf>,
    /// The file to which the server's ledger is copied
    #[arg(long, value_name = "FILE", group = "file")]
    to: Option<PathBuf>,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[Facts::operator("db grant"), Facts::operator("db migrate").writes(&["--to"])];

/// Runs the verb.
pub fn run(args: &DbArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    if environment.ledger.file().is_some() {
        return Err(Failure::new(
            "the ledger is a file: name a server with CLAUDEOPS_DB_URL, as postgres://ROLE@HOST/DATABASE",
        ));
    }
    match &args.verb {
        DbVerb::Grant(args) => grant(args, &environment.ledger),
        DbVerb::Migrate(args) => migrate(args, &environment.ledger),
    }
}

fn grant(args: &GrantArgs, ledger: &Location) -> Result<u8, Failure> {
    let agents = args.role.iter().map(|role| (role.as_str(), User::Agent));
    let guards = args.guard.iter().map(|role| (role.as_str(), User::Guard));
    let roles: Vec<(&str, User)> = agents.chain(guards).collect();
    let statements = Ledger::grant_statements(ledger, &roles)?;
    print(&format!("BEGIN;\n{}\nCOMMIT;\n", statements.join("\n")));
    Ok(OK)
}

fn migrate(args: &MigrateArgs, server: &Location) -> Result<u8, Failure> {
    let file = |path: &PathBuf| Location::from(path);
    let (from, to) = match (&args.from, &args.to) {
        (Some(path), _) => (file(path), server.clone()),
        (None, Some(path)) => (server.clone(), file(path)),
        (None, None) => return Ok(OK),
    };
    if !Ledger::exists(&from)? {
        return Err(Failure::new(format!("no ledger at {from}; nothing is copied")));
    }
    let after_a_stop = match to.file() {
        Some(_) => "Ctrl-C stops, and the next copy continues",
        None => "Ctrl-C stops, and leaves the server as it was",
    };
    let copied = progress::steps(|show| {
        copy(&from, &to, &mut |table, rows| show(format!("{table}: {rows} rows; {after_a_stop}")))
    })?;
    print(&summary(&copied));
    for Copied { table, skipped, named, .. } in copied.iter().filter(|copied| copied.skipped > 0) {
        let more = if *skipped > named.len() { ", …" } else { "" };
        complain(format_args!(
            "{skipped} rows of `{table}` cannot be read and are skipped: {}{more}",
            named.join(", ")
        ));
    }
    Ok(OK)
}

fn summary(copied: &[Copied]) -> String {
    let mut text = String::new();
    for Copied { table, new, changed, same, skipped, .. } in copied {
        if new + changed + same + skipped > 0 {
            text += &format!("{table}: {new} new, {changed} changed, {same} unchanged, {skipped} skipped\n");
        }
    }
    text + "the tables of the session manager are not copied\n"
}
