//! Whether the client's settings, and the policy that its hooks read, are those that opsctl renders.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report::{Finding, GuaranteeStatus};
use crate::setup::doctor::guard_files::{CompareError, expected};
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::load;

/// The guarantee.
pub const GUARANTEE: &str = "the client's settings are those that opsctl renders";

/// Compares the files of `project` with those that this program renders from `hosts`, else from the policy in force.
pub fn finding(project: &Path, hosts: Option<&Path>, policy: &Compiled) -> Finding {
    let (outcome, seen) = match differing(project, hosts, policy) {
        Ok(differing) if differing.is_empty() => (
            GuaranteeStatus::Pass,
            hosts.map_or_else(|| "no hosts.yaml".to_owned(), |hosts| format!("from {}", hosts.display())),
        ),
        Ok(differing) => {
            let paths: Vec<String> = differing.iter().map(|path| path.display().to_string()).collect();
            (GuaranteeStatus::Fail, format!("different: {}; run `opsctl render`", paths.join(", ")))
        }
        Err(error) => (GuaranteeStatus::Fail, error.to_string()),
    };
    Finding { guarantee: GUARANTEE, outcome, seen }
}

fn differing(project: &Path, hosts: Option<&Path>, policy: &Compiled) -> Result<Vec<PathBuf>, CompareError> {
    let installation = match hosts {
        Some(hosts) => load::load(hosts)?,
        None => policy.installation.clone(),
    };
    let compiled = Compiled { installation, tier: policy.tier };
    let opsctl = std::env::current_exe().map_err(CompareError::Executable)?;
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
