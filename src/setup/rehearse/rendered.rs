//! Whether the client's settings, and the policy that its hooks read, are those that opsctl renders.

use std::error::Error;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report::{GuaranteeStatus, Seen};
use crate::setup::doctor::guard_files::expected;
use crate::setup::doctor::paths;
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::load;

/// Compares the files of `project` with those that this program renders from `hosts`, else from the policy in force.
pub fn compare(project: &Path, hosts: Option<&Path>, policy: &Compiled) -> Seen {
    let fail = |seen| (GuaranteeStatus::Fail, seen);
    match differing(project, hosts, policy) {
        Ok(differing) if differing.is_empty() => {
            let from = hosts.map(|hosts| format!("from {}", hosts.display()));
            (GuaranteeStatus::Pass, from.unwrap_or_else(|| "no hosts.yaml".to_owned()))
        }
        Ok(differing) => fail(format!("different: {}; run `opsctl render`", paths(&differing))),
        Err(error) => fail(error.to_string()),
    }
}

fn differing(
    project: &Path,
    hosts: Option<&Path>,
    policy: &Compiled,
) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let installation = match hosts {
        Some(hosts) => load::load(hosts)?,
        None => policy.installation.clone(),
    };
    let compiled = Compiled { installation, tier: policy.tier };
    let opsctl = std::env::current_exe()
        .map_err(|error| format!("the path of opsctl cannot be determined ({error})"))?;
    let expected = expected(&compiled, project, &opsctl)?.into_iter().map(|file| {
        let path = project.join(file.path);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        (path, is_equal(&found, &file.text))
    });
    Ok(expected.filter(|(_, equal)| !equal).map(|(path, _)| path).collect())
}

/// Whether two texts are equal; JSON may be formatted differently.
fn is_equal(found: &str, rendered: &str) -> bool {
    let json = |text| serde_json::from_str::<Value>(text).ok();
    found == rendered || json(found).is_some_and(|found| json(rendered) == Some(found))
}
