//! The environment of a verb, with a warning if the rendered policy is out of date.

use super::output::complain_all;
use crate::machine::environment::{Environment, EnvironmentWarning};
use crate::machine::installation::{COMPILED_POLICY, hosts_file, in_force};
use crate::machine::warning::Warning;
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::{Installation, load};
use opsctl_machine::plain_file;

/// The environment of the process, with a warning if the rendered policy is out of date with `hosts.yaml`.
pub fn environment_in_force() -> Environment {
    let mut environment = Environment::of_process();
    environment.warnings.extend(outdated(&environment));
    environment
}

/// The installation in force. What is wrong with it or with the environment is printed.
pub fn installation_in_force(environment: &Environment) -> Installation {
    let mut warnings = Warning::of_environment(&environment.warnings);
    let installation = in_force(environment, &mut warnings).installation;
    complain_all(warnings);
    installation
}

fn outdated(environment: &Environment) -> Option<EnvironmentWarning> {
    let policy = environment.project_dir.join(COMPILED_POLICY);
    let in_force = Compiled::from_json(&plain_file::bytes(&policy).ok()?).ok()?;
    let hosts = hosts_file(environment)?;
    let wanted = load::load(&hosts).ok()?;
    (in_force.installation != wanted).then_some(EnvironmentWarning::OutdatedPolicy { policy, hosts })
}
