//! Kubernetes workloads: `KIND NAME…`, `KIND/NAME…`.

use super::call::Call;
use super::line::{Named, named};
use crate::catalogue::base_name;
use crate::model::action::{Action, Family, Target};
use crate::model::reference::Form;
use crate::model::workload::Workload;
use crate::shell::Word;

/// The kinds of which a name contains that of a workload.
const PODS: [&str; 3] = ["pod", "pods", "po"];

pub(super) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let words = call.targets();
    let from_file = call.own.has(&["-f", "--filename", "-k", "--kustomize"]);
    let kind = words.first().map_or("", |word| word.text.as_str());
    if call.own.has(&call.does.all) {
        actions.push(call.on_everything(Family::Workload, &format!("{kind}, by selection")));
        return;
    }
    // `kind name name` or `kind/name kind/name`.
    let names = if kind.contains('/') { words.as_slice() } else { words.get(1..).unwrap_or_default() };
    // `set image deploy/x container=image`.
    let names: Vec<&Word> =
        names.iter().filter(|word| word.unknown.is_some() || !word.text.contains('=')).collect();
    if names.is_empty() {
        let kind_is_unknown = words.first().is_some_and(|word| matches!(named(word), Named::Unknown));
        if from_file || kind_is_unknown {
            let evidence = format!("{} {kind}", call.words());
            actions.push(call.action(Family::Workload, Target::Unknown, evidence.trim_end().to_owned()));
        } else if !words.is_empty() {
            actions.push(call.on_everything(Family::Workload, &format!("{kind}, all of them")));
        }
        return;
    }
    for word in names {
        let (target, shown) = match named(word) {
            Named::One(text) | Named::Matching(text) => {
                (Target::Workload(Workload::named(base_name(text))), text)
            }
            Named::Everything(listing) => {
                actions.push(call.on_everything(Family::Workload, &format!("$({listing})")));
                return;
            }
            Named::Unknown => (Target::Unknown, word.text.as_str()),
        };
        let shown = if shown.contains('/') { shown.to_owned() } else { format!("{kind} {shown}") };
        let mut action = call.action(Family::Workload, target, format!("{} {shown}", call.words()));
        let kind = shown.split(['/', ' ', '.']).next().unwrap_or_default();
        if PODS.iter().any(|pod| pod.eq_ignore_ascii_case(kind)) {
            action.reference.form = Form::Pod;
        }
        actions.push(action);
    }
}
