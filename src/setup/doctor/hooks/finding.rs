//! The finding of the doctor about hooks.

use super::sources::{Ignored, Scope};
use super::survey::{Hook, Origin, Survey};
use crate::setup::doctor::check::{Outcome, failed, warning};

/// The name of the check.
pub const CHECK: &str = "hooks";

const MANAGE: &str = "remove it, or run `opsctl render --managed /etc/claude-code/managed-settings.json` as root, so that only managed hooks run";

/// Checks that opsctl's hooks run, and that no other hook can change what they checked.
pub fn check(survey: &Survey) -> Outcome {
    let before_a_tool = || survey.hooks.iter().filter(|hook| hook.event == "PreToolUse");
    let runs = |hook: &&Hook| hook.ignored.is_none();
    let ours = || before_a_tool().filter(|hook| hook.origin == Origin::Ours);
    let file = |hook: &Hook| {
        survey.sources.get(hook.source).map(|source| source.file.display().to_string()).unwrap_or_default()
    };
    let mut unread = survey.sources.iter().filter_map(|source| match &source.ignored {
        Some(Ignored::File(why)) => Some((source.scope == Scope::Managed, source.file.display(), why)),
        _ => None,
    });
    if let Some((_, file, why)) = unread.clone().find(|(managed, ..)| *managed) {
        let what = format!("the client cannot use {file}: {why}");
        return Err(failed(what, "correct it: the client does not start with it"));
    }
    if !ours().any(|hook| runs(&hook)) {
        let (hook, why) = ours()
            .find_map(|hook| Some((hook, hook.ignored.as_ref()?)))
            .ok_or_else(|| failed("no hook calls opsctl before a tool call", "run `opsctl render`"))?;
        let what = format!("opsctl's hooks in {} do not run: {why}", file(hook));
        return Err(failed(what, "remove the cause, or render managed settings"));
    }
    let foreign: Vec<&Hook> =
        before_a_tool().filter(runs).filter(|hook| hook.origin == Origin::Others && hook.answers).collect();
    if let Some(hook) = foreign.first() {
        let number =
            if foreign.len() == 1 { "a hook".to_owned() } else { format!("{} hooks", foreign.len()) };
        let what = format!(
            "{number} from other sources before a tool call, such as `{}` in {}: it may replace the command after opsctl has checked it",
            hook.runs,
            file(hook)
        );
        return Err(warning(what, MANAGE));
    }
    if let Some((_, file, why)) = unread.next() {
        return Err(warning(format!("the client ignores {file}: {why}"), "correct it or move it away"));
    }
    let running = survey.hooks.iter().filter(runs).count();
    let ignored = survey.hooks.len() - running;
    Ok(format!("{running} active, {ignored} ignored; `opsctl doctor --hooks` lists them"))
}
