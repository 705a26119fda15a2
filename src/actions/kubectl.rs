//! `kubectl`.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};

use crate::shell::valued::KUBECTL;

use super::line::{Arguments, Line, Named};

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    let Some(at) = line.subcommand(1, KUBECTL, &mut arguments) else { return };
    line.arguments(at + 1, KUBECTL, &mut arguments);
    if arguments.has(&["--help", "-h", "--dry-run"]) {
        return;
    }
    let mut rest = arguments.positionals.as_slice();
    let (verb, words) = match line.text(at) {
        "rollout" => {
            let [word, after @ ..] = rest else { return };
            if line.text(*word) != "restart" {
                return;
            }
            rest = after;
            (Verb::Restart, "kubectl rollout restart")
        }
        "delete" => {
            let kind = rest.first().map_or("", |&index| line.text(index));
            let kind = kind.split('/').next().unwrap_or(kind);
            if !matches!(kind, "pod" | "pods" | "po") {
                return;
            }
            // Its controller brings it back.
            (Verb::Restart, "kubectl delete")
        }
        "scale" => (Verb::Scale, "kubectl scale"),
        _ => return,
    };
    let selects = arguments.has(&["--all", "-l", "--selector", "--field-selector", "-A", "--all-namespaces"]);
    let from_file = arguments.has(&["-f", "--filename", "-k", "--kustomize"]);
    let kind = rest.first().map_or("", |&index| line.text(index));
    // `kind name name` or `kind/name kind/name`.
    let names = if kind.contains('/') || rest.is_empty() { rest } else { rest.get(1..).unwrap_or_default() };
    let kind_alone = names.is_empty() && !from_file;
    if selects || (kind_alone && !rest.is_empty()) {
        let what = if selects { format!("{kind}, by selection") } else { format!("{kind}, all of them") };
        let only_kind_unknown = rest.first().is_some_and(|&i| matches!(line.named(i), Named::Unknown));
        if !selects && only_kind_unknown {
            let evidence = format!("{words} {kind}");
            actions.push(line.action(ActionKind::Restart, verb, Family::Workload, Target::Unknown, evidence));
            return;
        }
        actions.push(line.forbidden(verb, Family::Workload, words, &what));
        return;
    }
    if names.is_empty() && from_file {
        let evidence = words.to_owned();
        actions.push(line.action(ActionKind::Restart, verb, Family::Workload, Target::Unknown, evidence));
    }
    for &index in names {
        let (target, shown) = match line.named(index) {
            Named::One(text) => {
                let name = text.rsplit('/').next().unwrap_or(text);
                (Target::Workload(name.to_owned()), text)
            }
            Named::Everything(listing) => {
                actions.push(line.forbidden(verb, Family::Workload, words, &format!("$({listing})")));
                return;
            }
            Named::Unknown => (Target::Unknown, line.text(index)),
        };
        let shown = if shown.contains('/') { shown.to_owned() } else { format!("{kind} {shown}") };
        let evidence = format!("{words} {shown}");
        actions.push(line.action(ActionKind::Restart, verb, Family::Workload, target, evidence));
    }
}
