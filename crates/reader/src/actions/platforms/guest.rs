//! Virtual machines and system containers.

use crate::actions::call::Call;
use crate::actions::line::{Named, named};
use crate::terms::action::{Action, Family, Target};
use crate::terms::guest::{Guest, GuestProgram};

pub(in crate::actions) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let words = call.targets();
    if words.is_empty() && call.own.has(&call.does.selects) {
        actions.push(call.action(Family::Guest, Target::Unknown, format!("{}, by selection", call.words())));
    }
    for word in words {
        let target = match named(&word) {
            Named::One(name) => match read(call.line.program(), name) {
                // Where an option takes a value that is not known here, the value is no guest.
                Guest { program: Some(GuestProgram::Qm | GuestProgram::Pct), name }
                    if !name.bytes().all(|byte| byte.is_ascii_digit()) || name.len() < 3 =>
                {
                    Target::Unknown
                }
                guest => Target::Guest(guest),
            },
            Named::Everything(listing) => {
                actions.push(call.on_everything(Family::Guest, &format!("$({listing})")));
                return;
            }
            Named::Matching(_) | Named::Unknown => Target::Unknown,
        };
        let evidence = call.evidence(target.name().unwrap_or(&word.text));
        let mut action = call.action(Family::Guest, target, evidence);
        action.repeats |= call.is_batched() && word.known().is_some();
        // `nas:web` of incus and lxc.
        if let Some((remote, _)) = word.text.split_once(':').filter(|_| call.usage.program.key == "lxc") {
            action.host = Some(remote.to_owned()).filter(|remote| remote != "local").or(action.host);
        }
        actions.push(action);
    }
}

/// The guest that a word of a program names: `101`, `nas:web` on another server, or a path of the interface of Proxmox.
pub(in crate::actions) fn read(program: &str, word: &str) -> Guest {
    let of_path = |kind: &str| word.split_once(kind)?.1.split('/').next();
    if let Some(number) = of_path("/qemu/") {
        return Guest { program: Some(GuestProgram::Qm), name: number.to_owned() };
    }
    if let Some(number) = of_path("/lxc/") {
        return Guest { program: Some(GuestProgram::Pct), name: number.to_owned() };
    }
    let name = word.rsplit(':').next().unwrap_or(word);
    Guest { program: GuestProgram::named(program), name: name.to_owned() }
}
