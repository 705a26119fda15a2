//! The objections of the rules about commands and files, which apply to every tool call.

use std::path::Path;

use crate::inventory::compiled::PolicyHeader;
use crate::model::event::ToolFile;
use crate::model::verdict::Reason;
use crate::policy::files::guarded::Places;
use crate::policy::files::{self, Access, Touch};
use crate::policy::place::normal;
use crate::policy::{dry_run, never, tier};
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::machine::Machine;
use crate::shell::Script;

/// The objections to a command.
pub fn objections(script: &Script, header: &PolicyHeader, environment: &Environment) -> Vec<Reason> {
    let tier = environment.tier.or(header.tier);
    let mut reasons = never::objections(script, &header.rules, tier, &Machine::default());
    reasons.extend(tier.and_then(|tier| tier::denied(script, &header.deny, tier)));
    reasons.extend(files::objections(script, &header.rules, &|| places(environment), &Machine::default()));
    reasons
}

/// The objections to a tool that opens a file without a shell.
pub fn file_objections(
    file: &ToolFile,
    cwd: Option<&Path>,
    header: &PolicyHeader,
    environment: &Environment,
) -> Vec<Reason> {
    let touch = if file.writes { Touch::Write } else { Touch::Read };
    let access = Access { touch, path: file.path.clone(), unknown: false };
    let cwd = cwd.and_then(Path::to_str);
    let mut reasons =
        files::tool_objections(&[access], cwd, &header.rules, &|| places(environment), &Machine::default());
    if environment.dry_run && file.writes {
        reasons.push(dry_run::file_objection(&file.path));
    }
    reasons
}

/// The files of this installation.
fn places(environment: &Environment) -> Places {
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = |path: &Path| normal(&here.join(path).to_string_lossy());
    Places {
        project: absolute(&environment.project_dir),
        home: std::env::var("HOME").ok().filter(|home| home.starts_with('/')),
        ledger: absolute(&environment.db_path),
        state: absolute(&environment.state_dir),
        hosts: installation::hosts_file(environment.hosts.as_deref()).map(|path| absolute(&path)),
        opsctl: std::env::current_exe().ok().map(|path| absolute(&path)),
    }
}
