//! Playbooks of Ansible: the service that a playbook is about.

use std::collections::BTreeSet;

use super::value::{Map, Value};
use crate::languages::names::{Names, manifests as names};

/// The one service that the variables of the plays name, otherwise the one container or unit of their tasks; `None` for a text
/// that names none or several.
pub fn service(text: &str) -> Option<String> {
    stated(text).or_else(|| {
        let file: Value = serde_saphyr::from_str(text).ok()?;
        only(&names_of(Some(&file), names::PLAY_MODULES))
    })
}

/// The one service that the variables of the plays name.
pub fn stated(text: &str) -> Option<String> {
    let file: Value = serde_saphyr::from_str(text).ok()?;
    let plays = file.as_list()?.iter().filter_map(Value::as_map);
    let vars = plays.filter_map(|play| play.get("vars")?.as_map());
    let stated =
        vars.filter_map(|vars| names::SERVICE_VARIABLES.iter().find_map(|key| vars.get(key)?.literal()));
    only(&stated.collect())
}

/// The containers and units that the tasks of the plays manage.
pub fn managed(text: &str) -> Vec<String> {
    let plays: Option<Value> = serde_saphyr::from_str(text).ok();
    names_of(plays.as_ref(), names::PLAY_MODULES).into_iter().map(str::to_owned).collect()
}

/// Whether a task of the plays manages the unit with this name.
pub fn manages_unit(text: &str, unit: &str) -> bool {
    let plays: Option<Value> = serde_saphyr::from_str(text).ok();
    names_of(plays.as_ref(), names::PLAY_UNIT_MODULES).contains(unit)
}

/// The containers and units that the tasks of the plays manage with these modules.
fn names_of(plays: Option<&Value>, modules: Names) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let plays = plays.and_then(Value::as_list).into_iter().flatten();
    plays.filter_map(Value::as_map).for_each(|play| tasks(play, modules, &mut names, 0));
    names
}

fn only(names: &BTreeSet<&str>) -> Option<String> {
    names.first().filter(|_| names.len() == 1).map(|name| (*name).to_owned())
}

/// Adds the containers and units that the tasks of a play or block manage with these modules.
fn tasks<'a>(play: &'a Map, modules: Names, names: &mut BTreeSet<&'a str>, depth: usize) {
    const DEEPEST: usize = 4;
    let lists = names::PLAY_TASKS.iter().filter_map(|key| play.get(key)?.as_list()).flatten();
    for task in lists.filter_map(Value::as_map) {
        for (module, arguments) in task.iter() {
            let module = module.rsplit('.').next().unwrap_or(module);
            if modules.has(module) {
                names.extend(
                    arguments
                        .get("name")
                        .and_then(Value::literal)
                        .map(|name| name.trim_end_matches(".service")),
                );
            }
        }
        if depth < DEEPEST {
            tasks(task, modules, names, depth + 1);
        }
    }
}
