//! Checks the prompts and skills of an existing image for steps that opsctl has taken over.

use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::examined::Examined;
use super::finding::Finding;
use crate::setup::render::REPLACED;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;

/// Folders of a project, and files, with instructions for the agent.
const PLACES: [&str; 9] = [
    "CLAUDE.md",
    "prompts",
    "skills",
    "checks",
    "playbooks",
    ".claude/CLAUDE.md",
    ".claude/skills",
    ".claude/commands",
    ".claude/agents",
];

/// What a line tells the agent to do, the pattern of such a line, and the remedy.
const LEFTOVERS: [(&str, &str, &str); 4] = [
    (
        "edits cooldown.json",
        r"(?i)\b(update|write|append|edit|modify|increment|add|record|reset|clear|save)\b.*(cooldown\.json|cooldown (state|counters)|\bstate file|`(restarts|redeployments|restart_timestamps|redeployment_timestamps|consecutive_healthy|last_run|last_daily_digest)`)|>\s*\S*cooldown\.json",
        "`opsctl verify`, `opsctl cooldown checked` and `digested` write cooldown.json, and hooks record actions",
    ),
    (
        "reads state with sqlite3 or jq",
        r"(?i)\b(sqlite3|jq)\b.*(cooldown\.json|claudeops\.db|CLAUDEOPS_DB_PATH|CLAUDEOPS_STATE_DIR|/state/)",
        "`opsctl cooldown` and `opsctl events` read state",
    ),
    ("writes a cooldown marker", r"\[COOLDOWN:", "hooks record actions; remove the marker"),
    (
        "names a script that opsctl replaces",
        r"\b(cooldown-check|event-emit|session-context|notify-apprise)\.sh\b",
        "hooks replace the scripts; remove the step",
    ),
];

/// A line that forbids a step.
const FORBIDS: &str = r"(?i)\b(never|(do|must|may|does) not|don't|mustn't)\b";

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// How many folders deep files are searched.
const MAX_DEPTH: usize = 4;

/// How many lines the finding lists.
const LISTED: usize = 5;

/// Checks that no prompt tells the agent to do what opsctl does, and that no replaced script is left.
pub fn prompts(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "prompts";
    let project = &examined.environment.project_dir;
    let (mut found, mut remedies) = (Vec::new(), Vec::new());
    // opsctl renders the verifier's prompt itself.
    let scripts = REPLACED.iter().filter(|script| has_extension(Path::new(script), "sh"));
    for script in scripts.filter(|script| project.join(script).exists()) {
        found.push(format!("{script} is left"));
        remedies.push("delete the scripts that opsctl replaces");
    }
    let mut files = Vec::new();
    for place in PLACES {
        collect(&project.join(place), MAX_DEPTH, &mut files);
    }
    for file in files {
        let Ok(Content::Bytes(text)) = plain_file::read(&file, MAX_BYTES) else { continue };
        let name = file.strip_prefix(project).unwrap_or(&file).display().to_string();
        for (line, what, remedy) in leftovers(&String::from_utf8_lossy(&text)) {
            found.push(format!("{name}:{line} {what}"));
            remedies.push(remedy);
        }
    }
    if found.is_empty() {
        return Finding::ok(CHECK, "no instructions that opsctl replaces");
    }
    remedies.sort_unstable();
    remedies.dedup();
    let more = found.len().saturating_sub(LISTED);
    found.truncate(LISTED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Finding::warning(CHECK, found.join("; ") + &rest, remedies.join("; "))
}

/// The lines of a prompt, from 1, that instruct the agent to do what opsctl does; each with what it does, and the remedy.
fn leftovers(prompt: &str) -> Vec<(usize, &'static str, &'static str)> {
    // The patterns are constants, which a test compiles.
    let patterns = LEFTOVERS.map(|(what, pattern, remedy)| (what, Regex::new(pattern).ok(), remedy));
    let forbids = Regex::new(FORBIDS).ok();
    let matches = |pattern: &Option<Regex>, line| pattern.as_ref().is_some_and(|regex| regex.is_match(line));
    let lines = prompt.lines().enumerate().filter(|(_, line)| !matches(&forbids, line));
    lines
        .filter_map(|(number, line)| {
            let (what, _, remedy) = patterns.iter().find(|(_, pattern, _)| matches(pattern, line))?;
            Some((number + 1, *what, *remedy))
        })
        .collect()
}

/// Adds the Markdown files at a path. Links are not followed.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_file() && has_extension(path, "md") {
        files.push(path.to_owned());
    } else if metadata.is_dir()
        && depth > 0
        && let Ok(folder) = path.read_dir()
    {
        let mut entries: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            collect(&entry, depth - 1, files);
        }
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_steps_that_opsctl_has_taken_over() {
        for (line, found) in [
            ("- Update the cooldown state file", Some("edits cooldown.json")),
            ("4. If healthy: update cooldown state (increment restart count)", Some("edits cooldown.json")),
            ("- Always update the state file after any health check", Some("edits cooldown.json")),
            ("- Update `last_run` timestamp after checks complete", Some("edits cooldown.json")),
            ("append a record to the service's `restarts` array", Some("edits cooldown.json")),
            ("echo '{}' > /state/cooldown.json", Some("edits cooldown.json")),
            ("jq '.services' /state/cooldown.json", Some("reads state with sqlite3 or jq")),
            ("sqlite3 \"$CLAUDEOPS_DB_PATH\" 'SELECT * FROM events'", Some("reads state with sqlite3 or jq")),
            ("[COOLDOWN:restart:jellyfin] success — HTTP 200", Some("writes a cooldown marker")),
            ("run .claude/hooks/event-emit.sh", Some("names a script that opsctl replaces")),
            ("- Do NOT modify cooldown counters (tier 1)", None),
            ("Read `/state/cooldown.json` before any remediation", None),
            ("Restart the service, then check it again.", None),
            ("[EVENT:warning:jellyfin] update available", None),
        ] {
            assert_eq!(leftovers(line).first().map(|(_, what, _)| *what), found, "{line}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in LEFTOVERS.map(|(_, pattern, _)| pattern).into_iter().chain([FORBIDS]) {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }
}
