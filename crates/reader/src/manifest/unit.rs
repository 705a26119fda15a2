//! Unit files of systemd: the commands that a unit runs when it is started.

use crate::languages::names::manifests as names;

/// Whether the unit ends with its commands, and is not a service that stays.
pub fn runs_once(text: &str) -> bool {
    let has = |key: &str, values: &[&str]| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once('='));
        lines.any(|(name, value)| name.trim() == key && values.contains(&value.trim()))
    };
    has("Type", &["oneshot"]) && !has("RemainAfterExit", &["yes", "true", "on", "1"])
}

/// What a unit runs when it is started.
pub fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter_map(|line| line.trim().split_once('='));
    let lines = lines.filter(|(key, _)| names::UNIT_STARTS.has(key.trim()));
    // The prefixes say how failures count; `%%` and `$$` are one character.
    let plain = |value: &str| {
        let command = value.trim().trim_start_matches(['-', '@', ':', '+', '!', '|']);
        command.replace("%%", "%").replace("$$", "$")
    };
    lines.map(|(_, value)| plain(value)).filter(|command| !command.is_empty()).collect()
}
