//! `opsctl render`: renders the client's settings, the prompts and the policy from `hosts.yaml`.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::machine::client::clients::Client;
use crate::machine::environment::Environment;
use crate::machine::installation::{COMPILED_POLICY, hosts_file};
use crate::setup::render::clients::{self, ClientOrder};
use crate::setup::render::{MANAGED, Managed, Order, Rendered, SETTINGS, egress, kubernetes, output, render};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, complain, print, utf8};
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::load;
use opsctl_machine::plain_file;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::policy::Tier;

/// Render the client's settings, the prompts and the compiled policy from hosts.yaml
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl render                               # into the current folder
  opsctl render --hosts lab.yaml --out /app   # /app/.claude/settings.json etc.
  opsctl render --tier 1 --out project        # sessions in project observe
  opsctl render --out /app --managed /etc/claude-code/managed-settings.json
  opsctl render --out /app --check            # exit code 1 if anything differs
  opsctl render --for codex --out project     # project/.codex/hooks.json
  opsctl render --for gemini --out /app --managed /etc/gemini-cli/settings.json

Without --hosts, the file is CLAUDEOPS_HOSTS, else /app/hosts.yaml, else ./hosts.yaml.")]
pub struct RenderArgs {
    /// The tier of sessions with these files, unless `CLAUDEOPS_TIER` states one; default: `policy.tier` of hosts.yaml, with
    /// `--check` the one for which the files are rendered
    #[arg(long, value_name = "TIER")]
    tier: Option<TierChoice>,
    /// The hosts.yaml file
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The client that the hooks are for; the rest of what is rendered for Claude Code is not
    #[arg(long = "for", value_name = "CLIENT", default_value = "claude")]
    client: ClientChoice,
    /// The output folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Render the hooks into the machine's managed settings of the client, which no project, user or repository can override
    #[arg(long, value_name = "FILE")]
    managed: Option<PathBuf>,
    /// Also write the allow-list of an egress proxy: the API and the hosts of the inventory, as the option Filter of
    /// tinyproxy reads it
    #[arg(long, value_name = "FILE")]
    egress: Option<PathBuf>,
    /// Also write the roles of the gate before a cluster, and what is always denied to it, as manifests of Kubernetes
    #[arg(long, value_name = "FILE")]
    kubernetes: Option<PathBuf>,
    /// The program that the hooks call; default: this program
    #[arg(long, value_name = "PATH")]
    opsctl: Option<PathBuf>,
    /// Render an inventory without hosts and services: the budgets, tiers and rules only
    #[arg(long)]
    empty: bool,
    /// Write nothing, and exit with 1 if a file is out of date
    #[arg(long)]
    check: bool,
}

/// A client whose hooks can be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientChoice {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
}

impl ClientChoice {
    const fn client(self) -> Client {
        match self {
            Self::Claude => Client::ClaudeCode,
            Self::Codex => Client::Codex,
            Self::Gemini => Client::Gemini,
        }
    }
}

/// A tier of sessions, or the choice of none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierChoice {
    /// Sessions observe
    #[value(name = "1")]
    Observe,
    /// They also restart services, and make changes that can be undone
    #[value(name = "2")]
    Remediate,
    /// They also redeploy services
    #[value(name = "3")]
    Full,
    /// Only budgets and rules apply, unless `CLAUDEOPS_TIER` states a tier
    #[value(name = "none")]
    None,
}

impl TierChoice {
    /// The tier, if one was chosen.
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Self::Observe => Some(Tier::Observe),
            Self::Remediate => Some(Tier::Remediate),
            Self::Full => Some(Tier::Full),
            Self::None => None,
        }
    }
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("render")
    .quiet(&["--check"])
    .writes(&["--out", "--managed", "--egress", "--kubernetes"])
    .with_state()];

/// Files for other programs. Their paths are relative to the current folder, not to `out`.
fn further(args: &RenderArgs, compiled: &Compiled) -> Result<Vec<Rendered>, Failure> {
    let inventory = &compiled.installation.inventory;
    let mut rendered = vec![];
    if let Some(file) = &args.egress {
        rendered.push(Rendered { path: std::path::absolute(file)?, text: egress::allow_list(inventory) });
    }
    if let Some(file) = &args.kubernetes {
        let text = kubernetes::manifests(inventory, compiled.tier)?;
        rendered.push(Rendered { path: std::path::absolute(file)?, text });
    }
    Ok(rendered)
}

/// Renders the hooks of a client besides Claude Code.
fn for_another(args: &RenderArgs, compiled: &Compiled, opsctl: &str) -> Result<u8, Failure> {
    let client = args.client.client();
    let project = std::path::absolute(&args.out)?;
    let managed = args.managed.as_deref().map(std::path::absolute).transpose()?;
    let file = managed.clone().unwrap_or_else(|| project.join(clients::settings(client)));
    let existing = match plain_file::text(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Failure::new(format!("{}: {error}; check its owner and rights", file.display())));
        }
    };
    let (managed, existing) = (managed.as_deref(), existing.as_deref());
    let order = ClientOrder { client, compiled, opsctl, project: &project, managed, existing };
    let mut rendered = clients::render_client(&order)?;
    rendered.extend(further(args, compiled)?);
    if args.check {
        return check(args, &rendered);
    }
    output::write(&args.out, &rendered)?;
    if managed.is_none() {
        complain(format_args!(
            "the client runs these hooks only after a person has trusted the project; to run them always, use `--managed {}` as root",
            clients::managed(client)
        ));
    }
    list(args, &rendered);
    Ok(OK)
}

/// Reports the files that differ from what is rendered.
fn check(args: &RenderArgs, rendered: &[Rendered]) -> Result<u8, Failure> {
    let differing = output::differing(&args.out, rendered)?;
    for path in &differing {
        complain(format_args!("{} is out of date with hosts.yaml; run `opsctl render`", path.display()));
    }
    Ok(if differing.is_empty() { OK } else { FAILED })
}

/// Prints the paths of the files.
fn list(args: &RenderArgs, rendered: &[Rendered]) {
    for file in rendered {
        print(&format!("{}\n", args.out.join(&file.path).display()));
    }
}

/// Runs the verb.
pub fn run(args: &RenderArgs) -> Result<u8, Failure> {
    let mut environment = Environment::of_process();
    environment.hosts = args.hosts.clone().or(environment.hosts);
    let hosts = hosts_file(&environment)
        .ok_or_else(|| Failure::new("no hosts.yaml: name one with --hosts or CLAUDEOPS_HOSTS"))?;
    let installation = load::load(&hosts)?;
    let Inventory { hosts: machines, services, .. } = &installation.inventory;
    if machines.is_empty() && services.is_empty() && !args.empty {
        return Err(Failure::new(format!(
            "{} lists no hosts and no services; add some, or render only its policy with --empty",
            hosts.display()
        )));
    }
    let rendered_for =
        || Some(Compiled::from_json(&plain_file::bytes(&args.out.join(COMPILED_POLICY)).ok()?).ok()?.tier);
    let tier = match args.tier {
        Some(choice) => choice.tier(),
        None if args.check => rendered_for().unwrap_or(installation.policy.tier),
        None => installation.policy.tier,
    };
    let compiled = Compiled { installation, tier };
    let opsctl = match &args.opsctl {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(|error| {
            let what = "the path of this program cannot be determined";
            Failure::new(format!("{what} ({error}); name it with --opsctl"))
        })?,
    };
    let opsctl = utf8(&opsctl)?;
    if args.client != ClientChoice::Claude {
        return for_another(args, &compiled, opsctl);
    }
    let project = output::project(&args.out, opsctl, &compiled.installation.settings)?;
    let managed_settings = args.managed.as_deref().map(output::existing_settings).transpose()?;
    // Relative to the current folder, not to `out`.
    let managed_file = args.managed.as_deref().map(std::path::absolute).transpose()?;
    let managed = managed_file.as_deref().zip(managed_settings.as_ref());
    let mut rendered = render(&Order {
        compiled: &compiled,
        opsctl,
        settings: &project.settings,
        managed: managed.map(|(file, settings)| Managed { file, settings }),
    })?;
    rendered.extend(project.local);
    rendered.extend(further(args, &compiled)?);
    if args.check {
        for weakening in &project.removed {
            complain(format_args!("{weakening}; `opsctl render` removes it; {}", weakening.remedy()));
        }
        return check(args, &rendered);
    }
    output::write(&args.out, &rendered)?;
    for weakening in &project.removed {
        complain(format_args!("removed {weakening}; {}", weakening.remedy()));
    }
    if managed_file.is_none() {
        complain(format_args!(
            "a mod of the client can silence the hooks in {}; to prevent that, run `opsctl render --managed {MANAGED}` as root",
            args.out.join(SETTINGS).display()
        ));
    }
    if tier.or(environment.tier).is_none() && args.tier.is_none() && managed_file.is_none() {
        complain(
            "no tier: in sessions without CLAUDEOPS_TIER, budgets and rules apply, but the limits of no tier; state one with `--tier 1` or `policy.tier`, or choose this with `--tier none`",
        );
    }
    list(args, &rendered);
    Ok(OK)
}
