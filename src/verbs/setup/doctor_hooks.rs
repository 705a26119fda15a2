//! `opsctl doctor --hooks`: every hook, whose it is, and why it does not run.

use chrono::Utc;
use serde_json::{Value, json};

use crate::setup::doctor::hooks::{CHECK, Hook, Origin, Source, Survey, check, mods};
use crate::setup::doctor::{Condition, Finding};
use crate::verbs::terminal::{FAILED, Failure, OK, print, print_json, print_page};

const TEMPLATE: &str = include_str!("../../../templates/verbs/hooks.txt.j2");

/// Prints the hooks of all sources, and the mods. Returns 1 if opsctl's own hooks do not run, or a mod can silence them.
pub fn run(survey: &Survey, json: bool) -> Result<u8, Failure> {
    let finding = Finding::of(CHECK, check(survey));
    let mods_finding = Finding::of(mods::CHECK, mods::check(survey));
    let hook = |hook: &Hook| Some(hook_json(hook, survey.sources.get(hook.source)?));
    let view = json!({
        "sources": survey.sources.iter().map(source_json).collect::<Vec<_>>(),
        "hooks": survey.hooks.iter().filter_map(hook).collect::<Vec<_>>(),
        "finding": finding,
        "mods": survey.mods,
        "mods_finding": mods_finding,
    });
    if json {
        print_json(&view)?;
    } else {
        print_page(TEMPLATE, &view, Utc::now())?;
        print(&format!("{finding}{mods_finding}"));
    }
    let fails = [finding, mods_finding].iter().any(|finding| finding.condition == Condition::Failed);
    Ok(if fails { FAILED } else { OK })
}

const fn of(origin: Origin) -> &'static str {
    match origin {
        Origin::Ours => "opsctl",
        Origin::Inventory => "hosts.yaml",
        Origin::Others => "others",
    }
}

fn source_json(source: &Source) -> Value {
    json!({
        "source": source.scope.to_string(),
        "file": source.file,
        "ignored": source.ignored.as_ref().map(ToString::to_string),
    })
}

fn hook_json(hook: &Hook, source: &Source) -> Value {
    let mut shown = json!({
        "event": hook.event,
        "matcher": hook.matcher,
        "type": hook.kind,
        "runs": hook.runs,
        "of": of(hook.origin),
        "source": source.scope.to_string(),
        "file": source.file,
        "in_force": hook.ignored.is_none(),
        "ignored": hook.ignored.as_ref().map(ToString::to_string),
    });
    if let (Some(condition), Value::Object(shown)) = (&hook.condition, &mut shown) {
        shown.insert("if".to_owned(), json!(condition));
    }
    shown
}
