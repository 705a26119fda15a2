//! Which policy is in force: the rendered one, else `hosts.yaml`, else the defaults.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use crate::inventory::compiled::Compiled;
use crate::inventory::load;

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

/// The inventory file: the one that is named, else the first usual place that has one.
pub fn hosts_file(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| USUAL_PLACES.iter().map(PathBuf::from).find(|place| place.is_file()))
}
