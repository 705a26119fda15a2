//! Kubernetes workloads: `KIND NAME…`, `KIND/NAME…`.

use crate::actions::call::Call;
use crate::actions::line::{Arguments, Named, named};
use crate::catalogue::base_name;
use crate::catalogue::lookup::Usage;
use crate::catalogue::program::Role;
use crate::languages::names::manifests as names;
use crate::manifest::kubernetes;
use crate::shell::Word;
use crate::terms::action::{Action, Family, Target};
use crate::terms::reference::Form;
use crate::terms::workload::{Workload, WorkloadKind};

pub(in crate::actions) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let words = call.targets();
    let from_file = call.own.has(&call.usage.role(Role::Manifests));
    let kind = words.first().map_or("", |word| word.text.as_str());
    let everything = |what: &str| {
        let namespace = namespace(call.usage, &[&call.global, &call.own]);
        let (workload, _) = read(kind, "*", namespace);
        let mut action = call.on_everything(Family::Workload, what);
        action.target = Target::Workload(workload);
        // No inventory states all pods of a cluster.
        if is_part(kind) {
            action.reference.form = Form::Pod;
        }
        action
    };
    if call.own.has(&call.does.all) {
        actions.push(everything(&format!("{kind}, by selection")));
        return;
    }
    let mut selectors = call.own.options.iter().filter(|(name, _)| name.is_any(&call.does.selects));
    if let Some((_, selector)) = selectors.next() {
        let evidence = format!("{kind}, by selection");
        let only = selector.as_ref().filter(|_| selectors.next().is_none());
        actions.push(match only.and_then(Word::known).and_then(selected) {
            Some(name) => {
                let (workload, _) = read(kind, name, namespace(call.usage, &[&call.global, &call.own]));
                let mut action = call.action(Family::Workload, Target::Workload(workload), evidence);
                action.reference.form = Form::Label;
                action
            }
            None => everything(&evidence),
        });
        return;
    }
    // `kind name name` or `kind/name kind/name`.
    let names = if kind.contains('/') { words.as_slice() } else { words.get(1..).unwrap_or_default() };
    // `set image deploy/x container=image`.
    let names: Vec<&Word> =
        names.iter().filter(|word| word.unknown.is_some() || !word.text.contains('=')).collect();
    if names.is_empty() {
        let kind_is_unknown = words.first().is_some_and(|word| matches!(named(word), Named::Unknown));
        let files = call.line.command.stated.as_deref();
        let is_partial = files.is_some_and(|files| files.is_partial);
        let stated = files.map(|files| kubernetes::workloads(&files.texts));
        let stated = stated.filter(|stated| from_file && !stated.is_empty());
        if let Some(stated) = stated {
            let own = namespace(call.usage, &[&call.global, &call.own]);
            for workload in stated {
                let evidence = format!("{} {}", call.words(), workload.name);
                let namespace = workload.namespace.or_else(|| own.map(str::to_owned));
                let target = Target::Workload(Workload { namespace, ..workload });
                actions.push(call.action(Family::Workload, target, evidence));
            }
            if is_partial {
                actions.push(call.action(Family::Workload, Target::Unknown, call.words()));
            }
        } else if from_file || kind_is_unknown {
            let evidence = format!("{} {kind}", call.words());
            actions.push(call.action(Family::Workload, Target::Unknown, evidence.trim_end().to_owned()));
        } else if !words.is_empty() {
            actions.push(everything(&format!("{kind}, all of them")));
        }
        return;
    }
    let namespace = namespace(call.usage, &[&call.global, &call.own]);
    for word in names {
        let (found, shown) = match named(word) {
            Named::One(text) | Named::Matching(text) => (Some(read(kind, text, namespace)), text),
            Named::Everything(listing) => {
                actions.push(everything(&format!("$({listing})")));
                return;
            }
            Named::Unknown => (None, word.text.as_str()),
        };
        let shown = if shown.contains('/') { shown.to_owned() } else { format!("{kind} {shown}") };
        let target = found.clone().map_or(Target::Unknown, |(workload, _)| Target::Workload(workload));
        let mut action = call.action(Family::Workload, target, format!("{} {shown}", call.words()));
        action.reference.form = found.map(|(_, form)| form).unwrap_or_default();
        actions.push(action);
    }
}

/// The workload that a selector means: `app=NAME`.
fn selected(selector: &str) -> Option<&str> {
    let (label, name) = selector.split_once('=')?;
    let name = name.strip_prefix('=').unwrap_or(name);
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    (is_plain && names::NAMING_LABELS.has(label)).then_some(name)
}

/// The namespace that the options name, if it is known.
pub(in crate::actions) fn namespace<'a>(usage: &Usage, arguments: &[&'a Arguments<'a>]) -> Option<&'a str> {
    let options = usage.role_before(Role::Namespace);
    arguments.iter().rev().find_map(|arguments| arguments.value(&options))?.known()
}

/// Whether objects of a kind belong to workloads: pods, and the jobs of schedules.
fn is_part(kind: &str) -> bool {
    let name = kind.split('.').next().unwrap_or_default();
    names::WORKLOAD_PARTS.iter().any(|part| part.eq_ignore_ascii_case(name))
        || WorkloadKind::find(kind) == Some(WorkloadKind::Job)
}

/// The workload of a name, `NAME` or `KIND/NAME`, and what the name is. `kind` is the kind of a name without one.
pub(in crate::actions) fn read(kind: &str, written: &str, namespace: Option<&str>) -> (Workload, Form) {
    let kind = written.split_once('/').map_or(kind, |(kind, _)| kind);
    let form = if is_part(kind) { Form::Pod } else { Form::Name };
    let kind = WorkloadKind::find(kind);
    let workload =
        Workload { namespace: namespace.map(str::to_owned), kind, name: base_name(written).to_owned() };
    (workload, form)
}
