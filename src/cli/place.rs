//! Where a person's verb looks: the project in force, which may not be the one that the variables name.

use std::path::Path;

use crate::doctor::project_in_force;
use crate::inventory::compiled::Compiled;
use crate::inventory::load;
use crate::runtime::environment::Environment;
use crate::runtime::installation::{COMPILED_POLICY, hosts_file};

/// The environment of the process, with the project in force: in a read-only image whose `hosts.yaml` was replaced, that
/// is the one that the entrypoint rendered to the state folder. A policy that `hosts.yaml` has outgrown is told of.
pub fn environment_in_force() -> Environment {
    let mut environment = Environment::of_process();
    if let Ok(opsctl) = std::env::current_exe() {
        environment.project_dir = project_in_force(&environment, &opsctl);
    }
    environment.complaints.extend(outgrown(&environment));
    environment
}

fn outgrown(environment: &Environment) -> Option<String> {
    let rendered = environment.project_dir.join(COMPILED_POLICY);
    let in_force = Compiled::from_json(&std::fs::read(&rendered).ok()?).ok()?;
    let hosts = hosts_file(environment.hosts.as_deref())?;
    let wanted = load::load(&hosts).ok()?;
    (in_force.installation != wanted).then(|| in_words(&rendered, &hosts))
}

fn in_words(rendered: &Path, hosts: &Path) -> String {
    format!(
        "{} is in force and was rendered from another hosts.yaml than {}; run `opsctl render`, or start the container anew",
        rendered.display(),
        hosts.display()
    )
}
