//! `opsctl doctor --hooks`: every hook, whose it is, and why it does not run.

use serde_json::{Value, json};

use crate::setup::doctor::hooks::{CHECK, Hook, Origin, Source, Survey, check, mods};
use crate::setup::doctor::{Condition, Finding};
use crate::verbs::terminal::exit_code::{FAILED, OK};
use crate::verbs::terminal::failure::Failure;
use crate::verbs::terminal::output::{print, print_json};

/// Prints the hooks of all sources, and the mods. Returns 1 if opsctl's own hooks do not run, or a mod can silence them.
pub fn run(survey: &Survey, json: bool) -> Result<u8, Failure> {
    let finding = Finding::of(CHECK, check(survey));
    let mods_finding = Finding::of(mods::CHECK, mods::check(survey));
    if json {
        let hook = |hook: &Hook| Some(hook_json(hook, survey.sources.get(hook.source)?));
        print_json(&json!({
            "sources": survey.sources.iter().map(source_json).collect::<Vec<_>>(),
            "hooks": survey.hooks.iter().filter_map(hook).collect::<Vec<_>>(),
            "finding": finding,
            "mods": survey.mods,
            "mods_finding": mods_finding,
        }))?;
    } else {
        for (index, source) in survey.sources.iter().enumerate() {
            print(&format!("{}: {}\n", source.scope, source.file.display()));
            if let Some(why) = &source.ignored {
                print(&format!("  IGNORED: {why}\n"));
            }
            let own = survey.hooks.iter().filter(|hook| hook.source == index);
            print(&own.map(|hook| line(hook, source.ignored.is_some())).collect::<String>());
        }
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

/// Formats one hook. The line of the file states whether the whole file is ignored.
fn line(hook: &Hook, above: bool) -> String {
    let Hook { event, kind, runs, .. } = hook;
    let matcher = hook.matcher.as_deref().map(|matcher| format!(" {matcher}")).unwrap_or_default();
    let condition = hook.condition.as_deref().map(|rule| format!(" if {rule}")).unwrap_or_default();
    let whose = match hook.origin {
        Origin::Ours => String::new(),
        origin => format!(" (of {})", of(origin)),
    };
    let ignored = match &hook.ignored {
        Some(why) if !above => format!("\n    IGNORED: {why}"),
        _ => String::new(),
    };
    format!("  {event}{matcher}{condition}: {kind} {runs}{whose}{ignored}\n")
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
