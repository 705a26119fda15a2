//! Modules of `ansible`: those that only look, and those that the reader follows.

use super::http::address::Address;
use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use crate::lists::{ANSIBLE_ARGUMENTS, ANSIBLE_FILE_MODULES, ANSIBLE_MODULES, ANSIBLE_REPAIRS};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell::AnsibleCall;
use opsctl_reader::terms::effect::Effect;

/// Values of `executable` that are a shell.
const SHELLS: [&str; 6] = ["/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh", "bash", "sh"];

/// The effect of a module alone; commands and services that it runs are nodes of their own below it in the tree.
pub fn effect(usage: &Usage, texts: &[&str]) -> Proof {
    let call = AnsibleCall::of(texts, usage);
    let stated = |reads: bool| if reads { READS } else { CHANGES };
    // The last one wins.
    if call.pattern.is_none() || usage.operands(texts).values(Role::Module).count() > 1 {
        return (Effect::Unknown, Why::RunsUnknown("ansible".to_owned()));
    }
    let name = call.name();
    let collection = call.module.strip_suffix(name).unwrap_or_default();
    let keys = ANSIBLE_ARGUMENTS.iter().find(|(module, _)| *module == name).map_or("", |(_, keys)| *keys);
    let is_key = |key| keys.split(' ').any(|one| one == key);
    let has_only_keys = || {
        call.arguments.split_whitespace().all(|word| word.split_once('=').is_some_and(|(key, _)| is_key(key)))
    };
    // Those that the reader follows as an action.
    let is_state = |state| matches!(state, "started" | "stopped" | "restarted" | "reloaded" | "absent");
    match name {
        "command" | "shell" | "raw" => {
            let elsewhere = ["_raw_params", "argv"].iter().any(|key| call.arguments.contains(key));
            let names_program =
                ["executable=", "\"executable\""].iter().any(|key| call.arguments.contains(key));
            let is_shell =
                !names_program || call.argument("executable").is_some_and(|path| SHELLS.contains(&path));
            let is_command = !call.command().trim().is_empty() && !elsewhere && is_shell;
            if is_command { stated(true) } else { (Effect::Unknown, Why::RunsUnknown("ansible".to_owned())) }
        }
        "script" | "win_script" | "expect" => (Effect::Unknown, Why::RunsUnknown("ansible".to_owned())),
        "service" | "systemd" | "systemd_service" | "sysvinit" => {
            stated(has_only_keys() && call.argument("state").is_none_or(is_state))
        }
        "docker_container" | "podman_container" => {
            stated(has_only_keys() && call.argument("state").is_some_and(is_state))
        }
        "docker_compose" | "docker_compose_v2" => stated(
            has_only_keys() && call.argument("state").map_or(call.argument("restarted").is_some(), is_state),
        ),
        "supervisorctl" | "pm2" => stated(call.argument("state").is_some_and(is_state)),
        "fetch" => {
            let dest = call.argument("dest").unwrap_or_default();
            let is_scratch = ["/tmp/", "/var/tmp/"].iter().any(|folder| dest.starts_with(folder));
            stated(is_scratch && !dest.contains("..") && has_only_keys())
        }
        "setup" | "mount_facts" => stated(has_only_keys()),
        // They list packages, and nothing else.
        "yum" | "dnf" | "dnf5" => stated(call.argument("list").is_some() && has_only_keys()),
        "uri" => stated(
            has_only_keys()
                && call.argument("url").is_none_or(|url| !Address::of(url).changes())
                && call.argument("method").is_none_or(|method| matches!(method, "GET" | "HEAD")),
        ),
        _ if name.ends_with("_info") || name.ends_with("_facts") => stated(true),
        _ => {
            let built_in = ["", "ansible.builtin.", "ansible.legacy.", "ansible.windows."];
            stated(built_in.contains(&collection) && ANSIBLE_MODULES.contains(&name))
        }
    }
}

/// Whether a module that changes something is one of a repair: files are judged by their paths, services by their budgets.
pub fn repairs(usage: &Usage, texts: &[&str]) -> bool {
    let call = AnsibleCall::of(texts, usage);
    let links = call.argument("state").is_some_and(|state| matches!(state, "link" | "hard"));
    let names = [&ANSIBLE_FILE_MODULES[..], &ANSIBLE_REPAIRS[..]];
    !links && names.into_iter().flatten().any(|name| *name == call.name())
}
