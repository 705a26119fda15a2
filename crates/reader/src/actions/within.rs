//! What a command acts on in a container or a guest: units, programs of a supervisor, containers.

use super::call::{own_end, words_at};
use super::line::{Line, Named, named};
use super::platforms::{engine, guest, kubectl};
use super::targets;
use crate::catalogue::Catalogue;
use crate::catalogue::lookup::Usage;
use crate::catalogue::program::{self, TargetKind};
use crate::shell::{Command, Construct};
use crate::terms::action::{Action, Family, Target, Within};
use crate::terms::reference::{Form, Reference};

/// States where the actions of a command take place that runs in a container or a guest. In a container, the target of an
/// action on a program of a supervisor is the container. `around` are the constructs around the command, outermost first.
pub(super) fn place(actions: &mut [Action], command: &Command, around: &[&Construct], catalogue: Catalogue) {
    let mut belonging = actions
        .iter_mut()
        .filter(|action| {
            matches!(action.family, Family::Unit | Family::Process | Family::Container | Family::Compose)
        })
        .peekable();
    if belonging.peek().is_none() {
        return;
    }
    let Some(within) = place_of(command, around, catalogue) else { return };
    let is_guest = matches!(within.target, Target::Guest(_));
    for action in belonging {
        // The engine in a container is usually that of the host.
        if matches!(action.family, Family::Container | Family::Compose) && !is_guest {
            continue;
        }
        if action.family == Family::Process && !is_guest {
            action.target.clone_from(&within.target);
            action.reference.clone_from(&within.reference);
        } else {
            action.within = Some(Box::new(within.clone()));
        }
    }
}

/// What a command runs in: as the innermost program around it states, on the same host.
pub fn place_of(command: &Command, around: &[&Construct], catalogue: Catalogue) -> Option<Within> {
    let mut hosts = &command.hosts;
    for construct in around.iter().rev() {
        let Construct::Through(wrapper) = construct else { continue };
        let line = Line::new(wrapper, catalogue);
        let Some(usage) = line.usage() else { continue };
        if let Some(runs) = usage.form.runs.filter(|runs| runs.inside) {
            // `nsenter` leaves the container for another place.
            return stated(&line, &usage, runs.within?);
        }
        if wrapper.hosts != *hosts {
            return None;
        }
        hosts = &wrapper.hosts;
    }
    None
}

/// What a program runs its command in.
fn stated(line: &Line<'_>, usage: &Usage, within: program::Target) -> Option<Within> {
    let global = line.arguments(usage.start, usage.rest, usage.program.value.unwrap_or_default());
    let own = line.arguments(usage.rest, own_end(line, usage), usage.value());
    let word = words_at(within.at, line, usage, &own).into_iter().next()?;
    let mut reference = engine::reference(line, usage, &global, usage.host(line.texts()));
    let name = match named(&word) {
        Named::One(name) => name,
        Named::Matching(part) => {
            reference.form = Form::PartOfNames;
            part
        }
        Named::Everything(_) | Named::Unknown => {
            return Some(Within { target: Target::Unknown, reference: Reference::default() });
        }
    };
    let target = match within.kind {
        TargetKind::Compose => Target::ComposeService(name.to_owned()),
        TargetKind::Guest => Target::Guest(guest::read(line.program(), name)),
        TargetKind::Workload => {
            let (workload, form) = kubectl::read("pod", name, kubectl::namespace(usage, &[&global, &own]));
            reference.form = form;
            Target::Workload(workload)
        }
        _ => Target::Container(targets::container(name).to_owned()),
    };
    Some(Within { target, reference })
}
