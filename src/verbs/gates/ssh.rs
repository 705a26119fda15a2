//! `opsctl gate ssh`: the forced command of a key, on a host itself.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::Utc;
use clap::{Args, ValueHint};

use crate::gates::host::environment::variables;
use crate::gates::host::policy::usable;
use crate::gates::host::{COMMAND, REFUSED, serve};
use crate::hooks::preview::{Question, preview};
use crate::machine::environment::Environment;
use crate::machine::request::Request;
use crate::verbs::facts::Facts;
use crate::verbs::setup::test;
use crate::verbs::terminal::{Failure, complain, print};
use opsctl_inventory::load;
use opsctl_policy::model::rights::policy::Tier;

/// Where the policy of a host is.
pub const POLICY: &str = "/etc/opsctl/hosts.yaml";

/// Where the ledger of a host is.
pub const STATE: &str = "/var/lib/opsctl";

/// Judge and run the command of an ssh connection, on the host itself
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate ssh --check --tier 2

A line of authorized_keys:
  restrict,command=\"/usr/local/bin/opsctl gate ssh --tier 2\" ssh-ed25519 AAAA... agent

sshd passes the client's command in SSH_ORIGINAL_COMMAND. A command that is allowed runs with bash and a clean environment, and
its exit code is returned. A command that is refused does not run: exit code 126, and the reason on stderr.")]
pub struct SshArgs {
    /// The tier of the key; default: `policy.tier` of the policy, else 1
    #[arg(long, value_name = "TIER", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// The policy of this host, a hosts.yaml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = POLICY)]
    policy: PathBuf,
    /// The folder of the ledger of this host
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = STATE)]
    state: PathBuf,
    /// Check the policy, print the verdicts on ten commands, and run the tests in tests.yaml beside it
    #[arg(long)]
    check: bool,
    /// Whether the environment is clean
    #[arg(long, hide = true)]
    clean: bool,
}

/// The facts of the verb.
pub const FACTS: Facts = Facts::operator("gate ssh");

/// Commands whose verdicts show what a policy allows.
const TRIAL: [&str; 10] = [
    "uptime",
    "df -h",
    "docker ps",
    "journalctl -n 20",
    "systemctl status ssh",
    "systemctl restart nginx",
    "cat /etc/shadow",
    "useradd mallory",
    "rm -rf /var/lib",
    "reboot",
];

/// Runs the verb.
pub fn run(args: &SshArgs) -> Result<u8, Failure> {
    if args.check && args.clean {
        return check(args);
    }
    let ran = if args.clean { served() } else { again(args) };
    ran.or_else(|why| {
        complain(format_args!("refused: {why}"));
        Ok(REFUSED)
    })
}

/// Starts this program again, with an environment that neither the client nor a start file of the account's shell has
/// influenced. Returns only if that fails.
fn again(args: &SshArgs) -> Result<u8, String> {
    let policy = args.policy.display();
    if !args.policy.exists() {
        return Err(format!(
            "this host has no policy at {policy}; an operator installs it with `opsctl gate install HOST`"
        ));
    }
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["gate", "ssh", "--clean"])
        .arg("--policy")
        .arg(&args.policy)
        .arg("--state")
        .arg(&args.state);
    command.args(args.check.then_some("--check"));
    command.env_clear().envs(variables()).envs(std::env::var_os(COMMAND).map(|text| (COMMAND, text)));
    command.env("CLAUDEOPS_HOSTS", &args.policy).env("CLAUDEOPS_STATE_DIR", &args.state);
    command.env("CLAUDE_PROJECT_DIR", args.policy.parent().unwrap_or(Path::new("/")));
    let of_policy = || {
        let loaded = load::load(&args.policy);
        let loaded = loaded.map_err(|error| format!("the policy of this host cannot be used: {error}"))?;
        Ok::<u8, String>(loaded.policy.tier.map_or(1, Tier::number))
    };
    let tier = args.tier.map_or_else(of_policy, Ok)?;
    let error = command.env("CLAUDEOPS_TIER", tier.to_string()).exec();
    Err(format!("opsctl cannot be started again ({error}); check that /proc is mounted"))
}

fn served() -> Result<u8, String> {
    let text = std::env::var_os(COMMAND)
        .ok_or("this key runs single commands, and no interactive shell: use `ssh HOST COMMAND`")?;
    let text = text.into_string().map_err(|_| "the command is not UTF-8 text, so it cannot be judged")?;
    let request = request();
    usable(&request)?;
    serve(&text, &request)
}

/// The request of this process.
fn request() -> Request {
    let environment = Environment { ignore_compiled: true, is_host: true, ..Environment::of_process() };
    Request::here(environment, Utc::now())
}

/// Checks the policy, prints the verdicts on some commands, and runs the tests beside it.
fn check(args: &SshArgs) -> Result<u8, Failure> {
    load::load(&args.policy)?;
    let request = request();
    let tier = request.tier.map_or(1, Tier::number);
    print(&format!("{}: valid, tier {tier}\n", args.policy.display()));
    for command in TRIAL {
        let question = Question { text: command.to_owned(), cwd: None, tier: request.tier };
        let explained = preview(&question, &request)?.explained;
        let reason = explained.reasons.first().map(|reason| format!(": {reason}")).unwrap_or_default();
        print(&format!("{:<8} {command}{reason}\n", explained.decision));
    }
    test::of_policy(&args.policy)
}
