//! Answers the guard's questions about this machine, which is the agent's.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::session_files;
use super::{context_warning, transcript};
use crate::context::Reader;
use crate::context::usage::{self, Awaited};
use crate::link::lookup::{self, Lookup};
use crate::model::mode::Mode;
use crate::model::policy::Tier;
use crate::policy::identity::Surroundings as _;
use crate::policy::word_paths::LocalMachine as _;
use crate::runtime::client;
use crate::runtime::disk::{LocalDisk, ScriptWire};
use crate::runtime::engines::{Engines, run_inspect};
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::machine::Machine;
use crate::shell::disk::Disk as _;

/// The programs of container engines that may be asked.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The answer to a question; null where there is none.
pub fn answer(question: &Lookup, environment: &Environment) -> Value {
    match question {
        Lookup::Variable(name) => value(LocalDisk.variable(name)),
        Lookup::Function(name) => value(LocalDisk.function(name)),
        Lookup::Script(path) => value(ScriptWire::from(LocalDisk.read(path))),
        Lookup::Folder(path) => {
            let entries = LocalDisk.list(path).into_iter().map(|entry| (entry.name, entry.is_folder));
            value(entries.collect::<Vec<_>>())
        }
        Lookup::Canonical(path) => value(Machine::default().canonical(path)),
        Lookup::Expand(pattern) => value(Machine::default().expand(pattern)),
        Lookup::Below { folder, deep } => value(Machine::default().below(folder, *deep)),
        Lookup::IsFolder(path) => value(Machine::default().is_folder(path)),
        Lookup::HostName => value(Engines::as_remembered(environment, chrono::Utc::now()).name()),
        Lookup::Container { program, sudo, destination, id } => {
            let is_plain = |text: &str| !text.starts_with('-');
            let known = ENGINES.contains(&program.as_str());
            if !known || !is_plain(id) || !destination.as_deref().is_none_or(is_plain) {
                return Value::Null;
            }
            value(run_inspect(program, *sudo, destination.as_deref(), id))
        }
        Lookup::LastModel(path) => value(transcript::last_model(Path::new(path))),
        Lookup::LastWords { transcript, call } => value(transcript::last_words(Path::new(transcript), call)),
        Lookup::Asking(mode) => value(client::asking(mode.as_deref().and_then(Mode::named))),
        Lookup::LastError(path) => value(transcript::last_error(Path::new(path))),
        Lookup::Tokens { transcript, awaited, windows, may_come } => {
            let awaited = match awaited {
                lookup::Awaited::Nothing => Awaited::Nothing,
                lookup::Awaited::Call(id) => Awaited::Call(id),
                lookup::Awaited::Answer(words) => Awaited::Answer(words),
            };
            let path = Path::new(transcript);
            let expected = || *may_come && context_warning::not_yet(path);
            value(context_warning::up_to_date(path, awaited, windows, expected))
        }
        Lookup::ClientModel { transcript, model } => value(usage::client_name(Path::new(transcript), model)),
        Lookup::SessionFiles { tier, role } => {
            let reader = Reader { tier: tier.and_then(Tier::from_number), role: role.as_deref() };
            let compiled = installation::in_force(environment, &mut vec![]);
            value(session_files::of(reader, &compiled, environment))
        }
    }
}

fn value(found: impl Serialize) -> Value {
    serde_json::to_value(found).unwrap_or_default()
}
