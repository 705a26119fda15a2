//! What the survey of the hooks means for the guard.

use super::sources::Scope;
use super::survey::{Hook, Ignored, Origin, Survey};
use crate::doctor::finding::Finding;

const CHECK: &str = "hooks";
const MANAGE: &str = "take it out, or run `opsctl render --managed /etc/claude-code/managed-settings.json` as root: only managed hooks run then";

/// Whether opsctl's hooks run, and whether others may spoil what they say.
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
        return Finding::failed(CHECK, what, "mend it: the client does not start with it");
    }
    if !ours().any(|hook| runs(&hook)) {
        let why = ours().find_map(|hook| Some((hook, hook.ignored.as_ref()?)));
        return match why {
            Some((hook, why)) => {
                let what = format!("opsctl's hooks in {} do not run: {why}", file(hook));
                Finding::failed(CHECK, what, "remove what is in the way, or render managed settings")
            }
            None => Finding::failed(CHECK, "no hook calls opsctl before a tool", "run `opsctl render`"),
        };
    }
    let foreign: Vec<&Hook> =
        before_a_tool().filter(runs).filter(|hook| hook.origin == Origin::Others && hook.answers).collect();
    if let Some(hook) = foreign.first() {
        let what = format!(
            "{} of others before a tool, such as `{}` in {}: it may replace the command that opsctl has read",
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
        return Finding::warning(CHECK, what, "mend it or move it away");
    }
    let running = survey.hooks.iter().filter(runs).count();
    let ignored = survey.hooks.len() - running;
    Finding::ok(CHECK, format!("{running} in force, {ignored} ignored; `opsctl doctor --hooks` lists them"))
}
