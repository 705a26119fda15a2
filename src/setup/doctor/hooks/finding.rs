//! The finding of the doctor about hooks.

use super::sources::Scope;
use super::survey::{Hook, Ignored, Origin, Survey};
use crate::setup::doctor::finding::Finding;

const CHECK: &str = "hooks";
const MANAGE: &str = "remove it, or run `opsctl render --managed /etc/claude-code/managed-settings.json` as root, so that only managed hooks run";

/// Checks that opsctl's hooks run, and that no other hook can change what they checked.
pub fn finding(survey: &Survey) -> Finding {
    let before_a_tool = || survey.hooks.iter().filter(|hook| hook.event == "PreToolUse");
    let runs = |hook: &&Hook| hook.ignored.is_none();
    let ours = || before_a_tool().filter(|hook| hook.origin == Origin::Ours);
    let file = |hook: &Hook| {
        survey.sources.get(hook.source).map(|source| source.file.display().to_string()).unwrap_or_default()
    };
    let managed = survey.sources.iter().find(|source| source.scope == Scope::Managed);
    if let Some((source, Ignored::File(why))) =
        managed.and_then(|source| Some((source, source.ignored.as_ref()?)))
    {
        let what = format!("the client cannot use {}: {why}", source.file.display());
        return Finding::failed(CHECK, what, "correct it: the client does not start with it");
    }
    if !ours().any(|hook| runs(&hook)) {
        let why = ours().find_map(|hook| Some((hook, hook.ignored.as_ref()?)));
        return match why {
            Some((hook, why)) => {
                let what = format!("opsctl's hooks in {} do not run: {why}", file(hook));
                Finding::failed(CHECK, what, "remove the cause, or render managed settings")
            }
            None => Finding::failed(CHECK, "no hook calls opsctl before a tool call", "run `opsctl render`"),
        };
    }
    let foreign: Vec<&Hook> =
        before_a_tool().filter(runs).filter(|hook| hook.origin == Origin::Others && hook.answers).collect();
    if let Some(hook) = foreign.first() {
        let what = format!(
            "{} from other sources before a tool call, such as `{}` in {}: it may replace the command after opsctl has checked it",
            if foreign.len() == 1 { "a hook".to_owned() } else { format!("{} hooks", foreign.len()) },
            hook.runs,
            file(hook)
        );
        return Finding::warning(CHECK, what, MANAGE);
    }
    let unread = survey.sources.iter().find_map(|source| {
        let Some(Ignored::File(why)) = &source.ignored else { return None };
        Some(format!("the client ignores {}: {why}", source.file.display()))
    });
    if let Some(what) = unread {
        return Finding::warning(CHECK, what, "correct it or move it away");
    }
    let running = survey.hooks.iter().filter(runs).count();
    let ignored = survey.hooks.len() - running;
    Finding::ok(CHECK, format!("{running} active, {ignored} ignored; `opsctl doctor --hooks` lists them"))
}
