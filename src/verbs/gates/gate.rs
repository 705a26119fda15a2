//! `opsctl gate`: the gates before servers, and what they would have refused.

use clap::{Args, Subcommand};

use super::engine::{self, EngineArgs};
use super::install::{self, AcceptArgs, InstallArgs, UninstallArgs};
use super::kubernetes::{self, KubernetesArgs};
use super::report::{self, ReportArgs};
use super::ssh::{self, SshArgs};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::Failure;

/// Judge what reaches servers: ssh, container engines, clusters
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate engine --listen unix:/gate/docker.sock --engine unix:/var/run/docker.sock
  opsctl gate report --since 7d

A gate has the credentials; the agent reaches servers only through it.")]
pub struct GateArgs {
    #[command(subcommand)]
    verb: GateVerb,
}

#[derive(Debug, Subcommand)]
enum GateVerb {
    Accept(AcceptArgs),
    Engine(EngineArgs),
    Install(InstallArgs),
    Kubernetes(KubernetesArgs),
    Report(ReportArgs),
    Ssh(SshArgs),
    Uninstall(UninstallArgs),
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[
    install::ACCEPT,
    engine::FACTS,
    install::INSTALL,
    kubernetes::FACTS,
    report::FACTS,
    ssh::FACTS,
    install::UNINSTALL,
];

/// Runs the verb.
pub fn run(args: &GateArgs) -> Result<u8, Failure> {
    match &args.verb {
        GateVerb::Engine(args) => engine::run(args),
        GateVerb::Accept(args) => install::accept(args),
        GateVerb::Install(args) => install::install(args),
        GateVerb::Kubernetes(args) => kubernetes::run(args),
        GateVerb::Report(args) => report::run(args),
        GateVerb::Ssh(args) => ssh::run(args),
        GateVerb::Uninstall(args) => install::uninstall(args),
    }
}
