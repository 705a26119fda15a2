//! `docker compose` and similar programs.

use crate::actions::call::Call;
use crate::actions::line::{Named, named};
use crate::catalogue::program::Role;
use crate::manifest::compose;
use crate::path::fold;
use crate::terms::action::{Action, Family, Target};

pub(in crate::actions) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let files = call.line.command.stated.as_deref();
    let stated = files.map(|files| compose::project(&files.texts, &files.bases)).unwrap_or_default();
    let under_all_names = |(name, containers): (String, Vec<String>)| [vec![name], containers].concat();
    let project = project(call, stated.name, files.and_then(|files| files.folder.as_deref()));
    if call.own.positionals.is_empty() {
        let target = project.map_or(Target::Unknown, Target::ComposeProject);
        let mut action = call.action(Family::Compose, target, call.words());
        action.reference.below = stated.services.into_iter().map(under_all_names).collect();
        actions.push(action);
        return;
    }
    // Words after a list of all services add nothing to it.
    if let Some(listing) = call.targets().iter().find_map(|word| match named(word) {
        Named::Everything(listing) => Some(listing.to_owned()),
        _ => None,
    }) {
        actions.push(call.on_everything(Family::Compose, &format!("$({listing})")));
        return;
    }
    let first = actions.len();
    call.act_on_each(Family::Compose, Target::ComposeService, |name| name, actions);
    for action in actions.iter_mut().skip(first) {
        let own = stated.services.iter().find(|(name, _)| Some(name.as_str()) == action.target.name());
        action.reference.below = own.cloned().map(under_all_names).into_iter().collect();
        action.reference.project.clone_from(&project);
    }
}

/// The stacks of a swarm. What a stack file lists is of the stack, too.
pub(in crate::actions) fn find_stacks(call: &Call<'_>, actions: &mut Vec<Action>) {
    let first = actions.len();
    call.act_on_each(Family::Container, Target::ComposeProject, |name| name, actions);
    let Some(files) = call.line.command.stated.as_deref() else { return };
    let services: Vec<Vec<String>> = compose::project(&files.texts, &files.bases)
        .services
        .into_iter()
        .map(|(name, _)| vec![name])
        .collect();
    for action in actions.iter_mut().skip(first) {
        action.reference.below.clone_from(&services);
    }
}

/// The name of the project, as compose determines it: as given, as its files state it, or that of its folder. `found` is the
/// folder in which its files are.
fn project(call: &Call<'_>, stated: Option<String>, found: Option<&str>) -> Option<String> {
    let (command, arguments) = (call.line.command, &call.global);
    let role = |role| call.usage.role_before(role);
    if let Some(name) = arguments.value(&role(Role::Project)) {
        return name.known().map(str::to_owned);
    }
    if let Some(name) = command.variable("COMPOSE_PROJECT_NAME").filter(|name| !name.text.is_empty()) {
        return name.known().map(str::to_owned);
    }
    if let Some(name) = command.stated.as_ref().and_then(|files| files.project.clone()) {
        return Some(name);
    }
    if stated.is_some() {
        return stated;
    }
    let cwd = command.cwd.as_deref();
    if let Some(dir) = arguments.value(&role(Role::Folder)) {
        return folder(dir.known()?, cwd);
    }
    let file = arguments.values(&role(Role::Manifests)).next();
    if let Some(file) = file.or_else(|| command.variable("COMPOSE_FILE")).filter(|file| file.text != "-") {
        let file = file.known()?;
        let file = file.split(':').next().unwrap_or(file);
        return folder(
            file.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir }),
            cwd,
        );
    }
    folder(found.unwrap_or("."), cwd)
}

/// The name of a folder that is relative to `cwd`; `None` for the root and for unknown names.
fn folder(dir: &str, cwd: Option<&str>) -> Option<String> {
    let start = if dir.starts_with(['/', '~']) { "" } else { cwd.unwrap_or_default() };
    let names = fold(start, dir);
    names.last().filter(|name| !name.contains(['$', '~'])).map(|name| (*name).to_owned())
}
