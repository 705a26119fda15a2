//! Checks whether keys and tokens must be replaced.

use super::examined::Examined;
use super::finding::Finding;
use crate::guard::approval::rotation;
use crate::machine::client::own_files;

const CHECK: &str = "keys";

/// Checks that no key or token is in use that an earlier release could have shown to an agent.
pub fn keys(examined: &Examined<'_>) -> Finding {
    let environment = examined.environment;
    let outdated = rotation::outdated(&environment.state_dir, &own_files::answering_keys(environment));
    if outdated.is_empty() {
        return Finding::ok(CHECK, "none that an earlier release could have shown to an agent");
    }
    let names: Vec<String> = outdated.iter().map(|file| file.display().to_string()).collect();
    Finding::warning(
        CHECK,
        format!("an earlier release could have shown {} to an agent", names.join(", ")),
        "stop the guard and remove these files; run `opsctl key`, put its line into hosts.yaml and render; start the guard, \
         which makes a new desk.key and desk-token and so ends all logins; replace the API key and other files that its user can read, too",
    )
}
