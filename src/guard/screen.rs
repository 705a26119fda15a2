//! The screen of a request: the rules that apply to it, on the machine of its agent.

use std::path::Path;
use std::rc::Rc;

use crate::machine::client::own_files;
use crate::machine::disk::LocalDisk;
use crate::machine::local::Machine;
use crate::machine::request::Request;
use opsctl_policy::effects::Scratch;
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::paths::word_paths::normal;
use opsctl_policy::screen::Screen;
use opsctl_reader::shell::disk::Disk;

/// Answers a question about a request with the rules of a policy.
pub fn with<T>(header: &PolicyHeader, request: &Request, ask: impl FnOnce(Screen<'_>) -> T) -> T {
    ask(Screen {
        header,
        tier: request.tier.or(header.tier),
        mode: request.mode,
        dry_run: request.dry_run,
        machine: &Machine::of(&request.agent).as_host(request.is_host),
        disk: &|| disk(request),
        locations: &|| own_files::locations(request),
        scratch: &|| scratch(request),
    })
}

/// The scripts of the agent's machine.
pub fn disk(request: &Request) -> Option<Rc<dyn Disk>> {
    Some(Rc::new(LocalDisk(request.agent.clone())))
}

/// The folders that sessions may write at any tier: those for temporary files and for results.
fn scratch(request: &Request) -> Scratch {
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = |path: &Path| normal(&here.join(path).to_string_lossy());
    let temporary = request.agent.variable("TMPDIR");
    let temporary = temporary.filter(|dir| dir.starts_with("/tmp/") || dir.starts_with("/var/tmp/"));
    let mut scratch = Scratch::default();
    scratch.0.push(format!("{}/**", absolute(&request.results_dir())));
    scratch.0.push(format!("{}/handoff.json", absolute(request.session_state_dir())));
    scratch.0.extend(temporary.map(|dir| format!("{}/**", normal(&dir))));
    scratch
}
