//! `helm`.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};

use super::line::{Arguments, Line, Named};

const VALUED: &[&str] = &[
    "-n",
    "--namespace",
    "--kube-context",
    "--kubeconfig",
    "--kube-apiserver",
    "--kube-as-user",
    "--kube-as-group",
    "--kube-ca-file",
    "--kube-token",
    "--kube-tls-server-name",
    "--burst-limit",
    "--qps",
    "--registry-config",
    "--repository-cache",
    "--repository-config",
    "--version",
    "-f",
    "--values",
    "--set",
    "--set-string",
    "--set-file",
    "--set-json",
    "--set-literal",
    "--timeout",
    "--repo",
    "--username",
    "--password",
    "--history-max",
    "--description",
    "--ca-file",
    "--cert-file",
    "--key-file",
    "--keyring",
    "--post-renderer",
    "--post-renderer-args",
    "-o",
    "--output",
    "-l",
    "--labels",
    "--name-template",
    "--cascade",
];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    let Some(at) = line.subcommand(1, VALUED, &mut arguments) else { return };
    let (verb, many) = match line.text(at) {
        "upgrade" | "install" => (Verb::Deploy, false),
        "rollback" => (Verb::Rollback, false),
        "uninstall" | "delete" | "del" | "un" => (Verb::Uninstall, true),
        _ => return,
    };
    line.arguments(at + 1, VALUED, &mut arguments);
    if arguments.has(&["--dry-run", "--help", "-h"]) {
        return;
    }
    let words = format!("helm {}", line.text(at));
    // With a generated name the only word is the chart.
    let generated = line.text(at) == "install" && arguments.positionals.len() < 2;
    let releases = arguments.positionals.iter().take(if many { usize::MAX } else { 1 });
    for &index in releases {
        let (target, name) = match line.named(index) {
            Named::Everything(listing) => {
                actions.push(line.forbidden(verb, Family::Helm, &words, &format!("$({listing})")));
                continue;
            }
            Named::One(_) if generated => (Target::Unknown, String::new()),
            Named::One(name) => (Target::Release(name.to_owned()), format!(" {name}")),
            Named::Unknown => (Target::Unknown, format!(" {}", line.text(index))),
        };
        let evidence = format!("{words}{name}");
        actions.push(line.action(ActionKind::Redeployment, verb, Family::Helm, target, evidence));
    }
}
