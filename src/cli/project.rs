//! The project in use, which may differ from the one in the environment.

use crate::doctor::project_in_force;
use crate::inventory::compiled::Compiled;
use crate::inventory::load;
use crate::runtime::environment::{Environment, EnvironmentWarning};
use crate::runtime::installation::{COMPILED_POLICY, hosts_file};

/// The environment of the process with the project in use: if `hosts.yaml` was replaced in a read-only image, the one that
/// the entrypoint rendered to the state folder. Adds a warning if the rendered policy is out of date with `hosts.yaml`.
pub fn environment_in_force() -> Environment {
    let mut environment = Environment::of_process();
    if let Ok(opsctl) = std::env::current_exe() {
        environment.project_dir = project_in_force(&environment, &opsctl);
    }
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
