//! The environment of a verb, with a warning if the rendered policy is out of date.

use crate::machine::environment::{Environment, EnvironmentWarning};
use crate::machine::installation::{COMPILED_POLICY, hosts_file};
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::load;

/// The environment of the process, with a warning if the rendered policy is out of date with `hosts.yaml`.
pub fn environment_in_force() -> Environment {
    let mut environment = Environment::of_process();
    environment.warnings.extend(outdated(&environment));
    environment
}

fn outdated(environment: &Environment) -> Option<EnvironmentWarning> {
    let policy = environment.project_dir.join(COMPILED_POLICY);
    let in_force = Compiled::from_json(&std::fs::read(&policy).ok()?).ok()?;
    let hosts = hosts_file(environment.hosts.as_deref())?;
    let wanted = load::load(&hosts).ok()?;
    (in_force.installation != wanted).then_some(EnvironmentWarning::OutdatedPolicy { policy, hosts })
}
