//! Which policy is in force: the rendered one, else `hosts.yaml`, else the defaults.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::environment::Environment;
use crate::inventory::compiled::{Compiled, PolicyHeader, read_windows};
use crate::inventory::load;
use crate::model::policy::Tier;

/// Where `opsctl render` puts the compiled policy, below the folder it renders to.
pub const COMPILED_POLICY: &str = ".claude/opsctl/policy.json";

/// Where `hosts.yaml` is looked for when `CLAUDEOPS_HOSTS` does not name it.
const USUAL_PLACES: [&str; 2] = ["/app/hosts.yaml", "hosts.yaml"];

/// The policy in force. A file that cannot be used is reported, and the next source takes its place: the
/// limits of the defaults hold in any case.
pub fn in_force(environment: &Environment, complaints: &mut Vec<String>) -> Compiled {
    let rendered = environment.project_dir.join(COMPILED_POLICY);
    match std::fs::read(&rendered) {
        Ok(text) => match Compiled::from_json(&text) {
            Ok(compiled) => return compiled,
            Err(error) => {
                complaints
                    .push(format!("{}: {error}; render it anew with `opsctl render`", rendered.display()));
            }
        },
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory => {}
        Err(error) => complaints.push(format!("{} cannot be read ({error})", rendered.display())),
    }
    let Some(hosts) = hosts_file(environment.hosts.as_deref()) else { return Compiled::default() };
    match load::load(&hosts) {
        Ok(installation) => Compiled { installation, tier: None },
        Err(error) => {
            complaints.push(format!("{error}; holding to the default limits"));
            Compiled::default()
        }
    }
}

/// The rules in force, without the inventory: what every command is held to has to be quick to read.
///
/// It does not complain of a source that cannot be used. That is told where something acts, not for each `ls`.
pub fn header_in_force(environment: &Environment) -> PolicyHeader {
    match File::open(environment.project_dir.join(COMPILED_POLICY)) {
        Ok(file) => {
            if let Some(header) = PolicyHeader::read(BufReader::with_capacity(4096, file)) {
                return header;
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory => {
            // Without a rendered policy, the inventory may have rules of its own. Few have.
            let text = hosts_file(environment.hosts.as_deref()).map(std::fs::read_to_string);
            let has_rules = |text: &String| RULE_KEYS.iter().any(|key| text.contains(key));
            if !text.is_some_and(|text| text.as_ref().is_ok_and(has_rules)) {
                return PolicyHeader::default();
            }
        }
        Err(_) => {}
    }
    in_force(environment, &mut vec![]).into()
}

/// The tier of the session: the one that it was started with, else the one that its files were rendered for.
pub fn tier_in_force(environment: &Environment) -> Option<Tier> {
    environment.tier.or_else(|| header_in_force(environment).tier)
}

/// The windows of models that the operator states. As with the rules, a source that cannot be used is told of elsewhere.
pub fn windows_in_force(environment: &Environment) -> Vec<(String, u32)> {
    if let Ok(file) = File::open(environment.project_dir.join(COMPILED_POLICY)) {
        return read_windows(BufReader::with_capacity(4096, file));
    }
    let text = hosts_file(environment.hosts.as_deref()).map(std::fs::read_to_string);
    if text.is_some_and(|text| text.is_ok_and(|text| text.contains("windows"))) {
        in_force(environment, &mut vec![]).installation.context.windows
    } else {
        vec![]
    }
}

/// The keys of `hosts.yaml` that state rules.
const RULE_KEYS: [&str; 10] =
    ["programs", "never", "data", "deny", "protect", "secret", "tools", "webhooks", "contacts", "role"];

/// The inventory file: the one that is named, else the first usual place that has one.
pub fn hosts_file(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| USUAL_PLACES.iter().map(PathBuf::from).find(|place| place.is_file()))
}
