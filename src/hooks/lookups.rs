//! Answers the guard's questions about this machine, which is the agent's.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::events::context_warning;
use super::transcript;
use crate::hooks::context::{self, Reader, usage};
use crate::machine::agent_side::AgentSide;
use crate::machine::client::{refusals, release};
use crate::machine::disk::LocalDisk;
use crate::machine::engines::{host_name, run_inspect};
use crate::machine::installation;
use crate::machine::link::lookup::Lookup;
use crate::machine::local::Machine;
use crate::machine::request::Request;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::paths::word_paths::LocalMachine as _;
use opsctl_reader::shell::disk::Disk as _;
use opsctl_reader::terms::mode::Mode;

/// The programs of container engines that may be asked.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The answer to a question; null where there is none.
pub fn answer(question: &Lookup, request: &Request) -> Value {
    let here = &AgentSide::HERE;
    let (disk, machine) = (LocalDisk(AgentSide::HERE), Machine::of(here));
    match question {
        Lookup::Variable(name) => value(disk.variable(name)),
        Lookup::Function(name) => value(disk.function(name)),
        Lookup::Script(path) => value(disk.read(path)),
        Lookup::ComposeVariables(path) => value(disk.compose_variables(path)),
        Lookup::Folder(path) => value(disk.list(path)),
        Lookup::Canonical(path) => value(machine.canonical(path)),
        Lookup::Expand(pattern) => value(machine.expand(pattern)),
        Lookup::Below { folder, deep } => value(machine.below(folder, *deep)),
        Lookup::IsFolder(path) => value(machine.is_folder(path)),
        Lookup::HostName => value(host_name()),
        Lookup::Container { program, sudo, destination, id } => {
            let is_plain = |text: &str| !text.starts_with('-');
            let known = ENGINES.contains(&program.as_str());
            if !known || !is_plain(id) || !destination.as_deref().is_none_or(is_plain) {
                return Value::Null;
            }
            value(run_inspect(program, *sudo, destination.as_deref(), id))
        }
        Lookup::LastModel(path) => value(transcript::last_model(Path::new(path), here)),
        Lookup::LastWords { transcript, call } => {
            value(transcript::last_words(Path::new(transcript), call, here))
        }
        Lookup::Asking(mode) => value(release::asking(mode.as_deref().and_then(Mode::named), here)),
        Lookup::Refused(path) => value(refusals::of_transcript(Path::new(path))),
        Lookup::LastError(path) => value(transcript::last_error(Path::new(path), here)),
        Lookup::Tokens { transcript, awaited, windows, may_come } => {
            let path = Path::new(transcript);
            let expected = || *may_come && context_warning::not_yet(path);
            value(context_warning::up_to_date(path, awaited, windows, expected))
        }
        Lookup::ClientModel { transcript, model } => value(usage::client_name(Path::new(transcript), model)),
        Lookup::SessionFiles { tier, role } => {
            let reader = Reader { tier: tier.and_then(Tier::from_number), role: role.as_deref() };
            let compiled = installation::in_force(request, &mut vec![]);
            value(context::files_of(reader, &compiled, request))
        }
    }
}

fn value(found: impl Serialize) -> Value {
    serde_json::to_value(found).unwrap_or_default()
}
