//! Determines which hooks the client runs. The rules are the observed behaviour of release 2.1.330.

use std::path::PathBuf;

use serde_json::Value;

use super::sources::{Ignored, Scope, Source};
use crate::setup::render::{
    VERIFIER, groups, has_readable_matcher, hooks, is_hook_readable, is_marked, serves_hooks,
};
use opsctl_policy::model::records::event::{EVENTS, event_name};
use opsctl_redact::shortened;

/// The maximum length of a displayed command line or prompt, in characters.
const LONGEST: usize = 100;

/// The origin of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It calls opsctl.
    Ours,
    /// It is configured in `hosts.yaml`.
    Inventory,
    /// It is from another source.
    Others,
}

/// A hook as the client reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The client's name of the event.
    pub event: String,
    /// The matcher of tools, sources or agents; `None` for all.
    pub matcher: Option<String>,
    /// The permission rule that restricts it (`if`).
    pub condition: Option<String>,
    /// `command`, `prompt` and so on, as written.
    pub kind: String,
    /// A command line, a URL, or the beginning of a prompt.
    pub runs: String,
    /// Whether its answer has an effect.
    pub answers: bool,
    /// Its origin.
    pub origin: Origin,
    /// The index of its source.
    pub source: usize,
    /// Why it does not run; `None` if it runs.
    pub ignored: Option<Ignored>,
}

/// All existing sources and their hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The files, highest precedence first.
    pub sources: Vec<Source>,
    /// The hooks, in the order of the files.
    pub hooks: Vec<Hook>,
    /// The files that name a mod.
    pub mods: Vec<PathBuf>,
}

/// Determines which hooks run. `mods` are the files that name a mod, `bare` is the variable that disables hooks outside managed settings, if one is set.
pub fn survey(mut sources: Vec<Source>, mods: Vec<PathBuf>, bare: Option<&str>) -> Survey {
    let switches = Switches::of(&sources.iter().filter(|source| source.ignored.is_none()), bare);
    for source in &mut sources {
        source.ignored = source.ignored.take().or_else(|| switches.against(&source.scope).map(Ignored::Hook));
    }
    let mut known: Vec<(Hook, Value)> = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        for (event, group) in groups(&source.settings) {
            for value in hooks(group) {
                let mut hook = read(event, group, value, index);
                let identity = identity(value);
                hook.ignored = source.ignored.clone().or_else(|| {
                    let why = unreadable(event, group, value);
                    why.or_else(|| twin(&hook, &identity, &sources, &known)).map(Ignored::Hook)
                });
                known.push((hook, identity));
            }
        }
    }
    let hooks = known.into_iter().map(|(hook, _)| hook).collect();
    Survey { sources, hooks, mods }
}

/// Why a hook is a duplicate. The client compares hooks within all settings files together, and within each plugin.
fn twin(hook: &Hook, identity: &Value, sources: &[Source], known: &[(Hook, Value)]) -> Option<String> {
    let plugin =
        |hook: &Hook| sources.get(hook.source).map(|source| &source.scope).filter(|scope| scope.is_plugin());
    let (twin, _) = known.iter().find(|(other, known)| {
        other.ignored.is_none()
            && known == identity
            && (&other.event, &other.matcher) == (&hook.event, &hook.matcher)
            && plugin(other) == plugin(hook)
    })?;
    Some(format!("it duplicates a hook in {}", sources.get(twin.source)?.file.display()))
}

/// Settings that disable hooks.
struct Switches {
    /// Disables all hooks.
    all: Option<String>,
    /// Disables hooks outside managed settings.
    others: Option<String>,
}

impl Switches {
    fn of<'a>(usable: &(impl DoubleEndedIterator<Item = &'a Source> + Clone), bare: Option<&str>) -> Self {
        let said = |key: &str, source: &Source| format!("`{key}` in {}", source.file.display());
        let managed = || usable.clone().filter(|source| source.scope == Scope::Managed);
        let switch = |source: &Source| source.settings.get("disableAllHooks").and_then(Value::as_bool);
        // Of several managed files the last decides, of the others the one with the highest precedence. Plugins cannot.
        let by_managed = managed().rev().find_map(|source| Some((source, switch(source)?)));
        let by_others = usable
            .clone()
            .filter(|source| source.scope != Scope::Managed && !source.scope.is_plugin())
            .find_map(|source| Some((source, switch(source)?)));
        let on = |stated: Option<(&Source, bool)>| {
            stated.filter(|(_, disables)| *disables).map(|(source, _)| said("disableAllHooks", source))
        };
        // The client treats any value except false as true.
        let managed_only = managed().find_map(|source| {
            let stated = source.settings.get("allowManagedHooksOnly")?;
            (stated != &Value::Bool(false) && stated != "false")
                .then(|| said("allowManagedHooksOnly", source))
        });
        let disabled = if by_managed.is_none() { on(by_others) } else { None };
        Self {
            all: on(by_managed),
            others: managed_only.or(disabled).or_else(|| bare.map(|name| format!("the variable {name}"))),
        }
    }

    fn against(&self, scope: &Scope) -> Option<String> {
        self.all.clone().or_else(|| self.others.clone().filter(|_| !scope.is_managed()))
    }
}

fn unreadable(event: &str, group: &Value, hook: &Value) -> Option<String> {
    if !EVENTS.iter().any(|known| event_name(known) == event) {
        return Some("the client has no event of this name".to_owned());
    }
    (!has_readable_matcher(group) || !is_hook_readable(hook)).then(|| "the client cannot read it".to_owned())
}

/// The keys by which the client recognises duplicates: what a hook runs and when, not its timeout or message.
fn identity(hook: &Value) -> Value {
    let keys = [
        "type", "command", "args", "shell", "prompt", "model", "url", "headers", "server", "tool", "input",
        "if",
    ];
    keys.iter().map(|key| hook.get(*key).cloned().unwrap_or_default()).collect()
}

fn read(event: &str, group: &Value, hook: &Value, source: usize) -> Hook {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text(hook, "type").unwrap_or_else(|| "none".to_owned());
    let prompt = text(hook, "prompt").unwrap_or_default();
    let runs = match kind.as_str() {
        "command" => command_line(hook),
        "http" => text(hook, "url").unwrap_or_default(),
        "mcp_tool" => {
            format!("{} {}", text(hook, "server").unwrap_or_default(), text(hook, "tool").unwrap_or_default())
        }
        _ => shortened(prompt.lines().next().unwrap_or_default(), LONGEST),
    };
    let origin = if is_marked(group) {
        Origin::Inventory
    } else if calls_opsctl(hook) || prompt.starts_with(VERIFIER) {
        Origin::Ours
    } else {
        Origin::Others
    };
    Hook {
        event: event.to_owned(),
        matcher: text(group, "matcher").filter(|matcher| !matcher.is_empty() && matcher != "*"),
        condition: text(hook, "if"),
        answers: hook.get("async") != Some(&Value::Bool(true))
            && !matches!(kind.as_str(), "prompt" | "agent"),
        kind,
        runs: shortened(&runs, LONGEST),
        origin,
        source,
        ignored: None,
    }
}

fn calls_opsctl(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    command.rsplit('/').next() == Some("opsctl") && serves_hooks(hook)
}

fn command_line(hook: &Value) -> String {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    let args = hook.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let quoted = |word: &str| {
        if word.is_empty() || word.contains(char::is_whitespace) {
            format!("'{word}'")
        } else {
            word.to_owned()
        }
    };
    std::iter::once(command.to_owned()).chain(args.map(quoted)).collect::<Vec<_>>().join(" ")
}
