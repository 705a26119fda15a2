//! Which policy is in force: the rendered one, else `hosts.yaml`, else the defaults.

use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::warning::Warning;
use opsctl_inventory::compiled::{Compiled, read_header, read_windows};
use opsctl_inventory::load;
use opsctl_machine::plain_file;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::policy::{OnFailure, Tier};

/// The compiled policy that `opsctl render` writes, relative to the folder it renders to.
pub const COMPILED_POLICY: &str = ".claude/opsctl/policy.json";

/// Where `hosts.yaml` is searched first if `CLAUDEOPS_HOSTS` is not set.
const OF_IMAGE: &str = "/app/hosts.yaml";

/// With more services, a hook that reads `hosts.yaml` takes more than 20 ms.
const MANY_SERVICES: usize = 1000;

/// The policy in force. A file that cannot be used adds a warning, and the next source is used; the last one is the
/// defaults. Where a file was left out for them, actions need a ledger: it may have said so, and must not be loosened.
pub fn in_force(environment: &Environment, warnings: &mut Vec<Warning>) -> Compiled {
    let before = warnings.len();
    if let Some(path) = compiled_policy(environment) {
        match plain_file::bytes(&path) {
            Ok(text) => match Compiled::from_json(&text) {
                Ok(compiled) => return compiled,
                Err(error) => warnings.push(Warning::CompiledPolicy { path, error }),
            },
            Err(error) if is_missing(&error) => {}
            Err(error) => warnings.push(Warning::UnreadablePolicy { path, error }),
        }
    }
    match hosts_file(environment).map(|path| (load::load(&path), path)) {
        Some((Ok(installation), path)) => {
            let services = installation.inventory.services.len();
            if services > MANY_SERVICES && !environment.ignore_compiled {
                warnings.push(Warning::Unrendered { path, services });
            }
            return Compiled { tier: installation.policy.tier, installation };
        }
        Some((Err(error), _)) => warnings.push(Warning::Inventory(error)),
        None if warnings.len() > before => warnings.push(Warning::NoPolicy),
        None => {}
    }
    let mut compiled = Compiled::default();
    if warnings.len() > before {
        compiled.installation.policy.on_failure = OnFailure::Closed;
    }
    compiled
}

/// The file that [`in_force`] reads; `None`: there is none, and the default limits apply.
pub fn source(environment: &Environment) -> Option<PathBuf> {
    compiled_policy(environment).filter(|path| path.exists()).or_else(|| hosts_file(environment))
}

/// The compiled policy, whether it exists or not; `None` if it is ignored.
fn compiled_policy(environment: &Environment) -> Option<PathBuf> {
    (!environment.ignore_compiled).then(|| environment.policy_dir().join(COMPILED_POLICY))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The rules in force, without the inventory: they apply to every command and must be quick to read.
///
/// A source that cannot be used adds no warning here: [`in_force`] warns, which a command with an action calls.
pub fn header_in_force(environment: &Environment) -> PolicyHeader {
    match compiled_policy(environment).map(|path| plain_file::open(&path)) {
        Some(Ok((file, _))) => {
            if let Some(head) = read_header(BufReader::with_capacity(4096, file)) {
                return head;
            }
        }
        Some(Err(error)) if !is_missing(&error) => {}
        None | Some(Err(_)) => {
            // Without a compiled policy the inventory may have rules of its own; few have.
            let text = hosts_file(environment).map(|path| plain_file::text(&path));
            match text {
                Some(Ok(text)) if RULE_KEYS.iter().any(|key| text.contains(key)) => {}
                Some(Ok(_)) => return PolicyHeader::of_plain_inventory(),
                None => return PolicyHeader::default(),
                Some(Err(_)) => {}
            }
        }
    }
    in_force(environment, &mut vec![]).into()
}

/// The tier of the session: the one in its environment, else the one that its files were rendered for.
pub fn tier_in_force(environment: &Environment) -> Option<Tier> {
    environment.tier.or_else(|| header_in_force(environment).tier)
}

/// The context windows of models in tokens, as `hosts.yaml` states them. A source that cannot be used adds no warning.
pub fn windows_in_force(environment: &Environment) -> Vec<(String, u32)> {
    if let Some(Ok((file, _))) = compiled_policy(environment).map(|path| plain_file::open(&path)) {
        return read_windows(BufReader::with_capacity(4096, file));
    }
    let text = hosts_file(environment).map(|path| plain_file::text(&path));
    if text.is_some_and(|text| text.is_ok_and(|text| text.contains("windows"))) {
        in_force(environment, &mut vec![]).installation.context.windows
    } else {
        vec![]
    }
}

/// The keys of `hosts.yaml` that the header has.
const RULE_KEYS: [&str; 13] = [
    "tier",
    "programs",
    "effects",
    "never",
    "data",
    "deny",
    "protect",
    "secret",
    "tools",
    "webhooks",
    "contacts",
    "role",
    "redact_output",
];

/// The only folder below the project's that was rendered, if the project's was not.
pub fn rendered_below(environment: &Environment) -> Option<PathBuf> {
    let is_rendered = |folder: &Path| folder.join(COMPILED_POLICY).is_file();
    if is_rendered(&environment.project_dir) {
        return None;
    }
    let below = std::fs::read_dir(&environment.project_dir).ok()?.flatten().map(|entry| entry.path());
    let mut rendered = below.filter(|folder| is_rendered(folder));
    rendered.next().filter(|_| rendered.next().is_none())
}

/// The inventory file: the one that the environment names, else that of the image or of the project. A folder into which the agent has
/// changed since has none.
pub fn hosts_file(environment: &Environment) -> Option<PathBuf> {
    let project = environment.policy_dir();
    let is_here = project == Path::new(".") || std::env::current_dir().is_ok_and(|here| here == project);
    let of_project = if is_here { "hosts.yaml".into() } else { project.join("hosts.yaml") };
    let usual = [OF_IMAGE.into(), of_project];
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    environment.hosts.clone().or_else(|| usual.into_iter().find(exists))
}
