//! `opsctl gate install`, `uninstall` and `accept`: the gate on a host, through the operator's own ssh.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chrono::Utc;
use clap::{Args, ValueHint};

use super::ssh::POLICY;
use crate::gates::host::install::{self as steps, Plan, Step, is_account};
use crate::gates::host::signed::Signed;
use crate::guard::approval::key;
use crate::machine::environment::Environment;
use crate::machine::installation::hosts_file;
use crate::setup::policy_tests;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, print};
use opsctl_inventory::load;
use opsctl_machine::plain_file;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::public_key::PublicKey;
use opsctl_probe::health::quoted;

/// The maximum size of a signed policy in bytes.
const MOST_POLICY: u64 = 8 * 1024 * 1024;

/// Install the gate on a host: an account, opsctl, the signed policy, and a key with the gate
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate install nas --key agent.pub --tier 2 --print
  opsctl gate install nas --key agent.pub --tier 2
  opsctl gate install root@10.0.0.2 --key agent.pub --policy nas.yaml

HOST is a host of hosts.yaml with `ssh`, or a destination of ssh. Every step may run again. The policy is signed with the approval
key; the host then accepts only newer policies of this key for this host.")]
pub struct InstallArgs {
    #[command(flatten)]
    on: On,
    /// The public key of the agent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: PathBuf,
    /// The tier of the key
    #[arg(long, value_name = "TIER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: u8,
    /// The policy of the host; default: the hosts.yaml in force
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    policy: Option<PathBuf>,
    /// The program for the host, which must not depend on libraries; default: this program
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    binary: Option<PathBuf>,
}

/// Remove the gate from a host: its keys, its policy, its ledger, opsctl, and an account that the installation created
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate uninstall nas --print
  opsctl gate uninstall nas")]
pub struct UninstallArgs {
    #[command(flatten)]
    on: On,
}

/// Where steps run.
#[derive(Debug, Args)]
struct On {
    /// The host
    #[arg(value_name = "HOST")]
    host: String,
    /// The account of the agent on the host
    #[arg(long, value_name = "NAME", default_value = "agent")]
    account: String,
    /// Become root with `sudo -n`
    #[arg(long)]
    sudo: bool,
    /// Print the steps, and do nothing
    #[arg(long)]
    print: bool,
}

/// Accept a signed policy on standard input, on the host itself
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate accept --host nas --key ed25519:AAAA... < policy.json

`opsctl gate install` calls it. A policy that is older, for another host, or signed with another key is refused.")]
pub struct AcceptArgs {
    /// The name of this host
    #[arg(long, value_name = "NAME")]
    host: String,
    /// The public key of the operator
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The policy that is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = POLICY)]
    policy: PathBuf,
}

/// The facts of `opsctl gate install`.
pub const INSTALL: Facts = Facts::operator("gate install").on_guards_side();
/// The facts of `opsctl gate uninstall`.
pub const UNINSTALL: Facts = Facts::operator("gate uninstall").on_guards_side();
/// The facts of `opsctl gate accept`.
pub const ACCEPT: Facts = Facts::operator("gate accept").writes(&["--policy"]);

/// Installs the gate.
pub fn install(args: &InstallArgs) -> Result<u8, Failure> {
    let InstallArgs { on, key: key_file, tier, policy, binary } = args;
    let environment = Environment::of_process();
    let inventory = policy.clone().or_else(|| hosts_file(&environment));
    let inventory = inventory.ok_or_else(|| Failure::new("no hosts.yaml: name the policy with --policy"))?;
    let known = load::load(&inventory)?.inventory;
    let text = plain_file::text(key_file)
        .map_err(|error| Failure::new(format!("{}: {error}", key_file.display())))?;
    let mut words = text.split_whitespace();
    let agents_key = match (words.next(), words.next()) {
        (Some(kind), Some(data)) if kind.starts_with("ssh-") || kind.contains("-sha2-") => [kind, data],
        _ => {
            let what = "is no public key of ssh; name the file that ends in .pub";
            return Err(Failure::new(format!("{} {what}", key_file.display())));
        }
    };
    let pair = key::load(&environment.approval_key_file())?;
    let tests = plain_file::text(&inventory.with_file_name(policy_tests::FILE)).ok();
    let files = [Some(plain_file::text(&inventory)?), tests].into_iter().flatten().collect();
    let program = binary.clone().map_or_else(std::env::current_exe, Ok)?;
    let plan = Plan {
        host: &on.host,
        account: &on.account,
        key: agents_key,
        tier: *tier,
        program: std::fs::read(&program)
            .map_err(|error| Failure::new(format!("{}: {error}", program.display())))?,
        policy: Signed::new(&pair, &on.host, files, Utc::now()).to_json()?,
        signer: key::public(&pair).to_string(),
    };
    run(on, &known, || steps::install(plan))
}

/// Removes the gate.
pub fn uninstall(args: &UninstallArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let known = hosts_file(&environment).and_then(|file| load::load(&file).ok());
    let known = known.map(|installation| installation.inventory).unwrap_or_default();
    run(&args.on, &known, || steps::uninstall(&args.on.account))
}

/// Accepts a policy.
pub fn accept(args: &AcceptArgs) -> Result<u8, Failure> {
    let key = PublicKey::parse(&args.key)
        .ok_or_else(|| Failure::new("--key is no public key; copy the line that `opsctl key` prints"))?;
    let mut json = String::new();
    std::io::stdin().lock().take(MOST_POLICY).read_to_string(&mut json)?;
    Signed::accept(&json, &args.policy, &args.host, key)?;
    Ok(OK)
}

/// Runs or prints steps.
fn run(on: &On, known: &Inventory, steps: impl FnOnce() -> Vec<Step>) -> Result<u8, Failure> {
    if !is_account(&on.account) {
        return Err(Failure::new(format!("`{}` is no name of an account", on.account)));
    }
    let listed = known.host(&on.host).and_then(|host| host.ssh.clone());
    let destination = listed.unwrap_or_else(|| on.host.clone());
    if destination.starts_with('-') {
        return Err(Failure::new(format!("`{destination}` is no destination of ssh")));
    }
    let steps = steps();
    let all = steps.len();
    let shell = if on.sudo { "sudo -n sh -c" } else { "sh -c" };
    for (at, Step { title, script, input }) in steps.iter().enumerate() {
        let number = at + 1;
        print(&format!("{number}/{all} {title}\n"));
        if on.print {
            print(&format!("{}\n", script.lines().map(|line| format!("    {line}\n")).collect::<String>()));
            continue;
        }
        let failed = |why: &str| {
            Failure::new(format!(
                "step {number} of {all} on {destination} failed: {why}; what was done before remains: run this again, or `opsctl gate uninstall {}`",
                quoted(&on.host)
            ))
        };
        let output = ssh(&destination, &format!("{shell} {}", quoted(script)), input)
            .map_err(|error| failed(&error.to_string()))?;
        print(&*String::from_utf8_lossy(&output.stdout));
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(failed(stderr.lines().last().unwrap_or("no reason was given")));
        }
    }
    Ok(OK)
}

/// Runs a command on a host, with this standard input.
fn ssh(destination: &str, command: &str, input: &[u8]) -> std::io::Result<std::process::Output> {
    let mut ssh = Command::new("ssh");
    ssh.args(["-T", "-o", "ConnectTimeout=10", "--", destination, command]);
    let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A step that needs no input may end before it has read all.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}
