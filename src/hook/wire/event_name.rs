//! The names of the client's events as arguments of `opsctl hook`, in kebab case.

/// Arguments of `opsctl hook`: all events that the client has, the most frequent first. An event without a handler is
/// allowed.
pub const EVENTS: [&str; 33] = [
    "session-start",
    "user-prompt-submit",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-use-failure",
    "post-tool-batch",
    "subagent-start",
    "subagent-stop",
    "stop",
    "stop-failure",
    "session-end",
    "notification",
    "pre-compact",
    "user-prompt-expansion",
    "post-compact",
    "pre-model-switch",
    "post-model-switch",
    "permission-request",
    "permission-denied",
    "setup",
    "teammate-idle",
    "task-created",
    "task-completed",
    "elicitation",
    "elicitation-result",
    "config-change",
    "worktree-create",
    "worktree-remove",
    "instructions-loaded",
    "cwd-changed",
    "file-changed",
    "directory-added",
    "message-display",
];

/// A further argument of `opsctl hook`: records session state from any event, in a hook that the client does not wait
/// for.
pub const SESSION_STATE: &str = "session-state";

/// The client's name of an event: `pre-tool-use` → `PreToolUse`.
pub(super) fn camel_case(kebab: &str) -> String {
    kebab
        .split('-')
        .filter_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EVENT_NAMES;

    #[test]
    fn every_event_of_the_client_has_its_name_in_kebab_case() {
        let mut names = EVENTS.map(camel_case);
        let mut known = EVENT_NAMES.map(str::to_owned);
        names.sort();
        known.sort();
        assert_eq!(names, known);
    }
}
