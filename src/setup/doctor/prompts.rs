//! Checks the prompts and skills of an existing image for steps that opsctl has taken over.

use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;

use super::check::{Examined, Outcome, warning};
use crate::setup::render::REPLACED;
use opsctl_machine::plain_file::{self, Content};

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

/// The instructions that opsctl has taken over.
const LEFTOVERS: &str = include_str!("prompts.yaml");

#[derive(Default, Deserialize)]
struct Leftovers {
    forbids: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    what: String,
    pattern: String,
    remedy: String,
}

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// How many folders deep files are searched.
const MAX_DEPTH: usize = 4;

/// How many lines the finding lists.
const LISTED: usize = 5;

/// Checks that no prompt tells the agent to do what opsctl does, and that no replaced script is left.
pub fn prompts(examined: &Examined<'_>) -> Outcome {
    let project = &examined.environment.project_dir;
    let (mut found, mut remedies) = (Vec::new(), Vec::new());
    // opsctl renders the verifier's prompt itself.
    let scripts = REPLACED.iter().filter(|script| has_extension(Path::new(script), "sh"));
    for script in scripts.filter(|script| project.join(script).exists()) {
        found.push(format!("{script} is left"));
        remedies.push("delete the scripts that opsctl replaces".to_owned());
    }
    let mut files = Vec::new();
    for place in PLACES {
        collect(&project.join(place), MAX_DEPTH, &mut files);
    }
    // The list is a constant, which a test reads.
    let leftovers: Leftovers = serde_saphyr::from_str(LEFTOVERS).unwrap_or_default();
    for file in files {
        let Ok(Content::Bytes(text)) = plain_file::read(&file, MAX_BYTES) else { continue };
        let name = file.strip_prefix(project).unwrap_or(&file).display().to_string();
        for (line, step) in leftovers.of(&String::from_utf8_lossy(&text)) {
            found.push(format!("{name}:{line} {}", step.what));
            remedies.push(step.remedy.clone());
        }
    }
    if found.is_empty() {
        return Ok("no instructions that opsctl replaces".to_owned());
    }
    remedies.sort_unstable();
    remedies.dedup();
    let more = found.len().saturating_sub(LISTED);
    found.truncate(LISTED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(warning(found.join("; ") + &rest, remedies.join("; ")))
}

impl Leftovers {
    /// The lines of a prompt, from 1, that instruct the agent to do what opsctl does, each with the step that it is.
    fn of(&self, prompt: &str) -> Vec<(usize, &Step)> {
        let regex = |pattern: &str| Regex::new(pattern).ok();
        let forbids = regex(&self.forbids);
        let steps: Vec<_> = self.steps.iter().map(|step| (regex(&step.pattern), step)).collect();
        let matches = |regex: &Option<Regex>, line| regex.as_ref().is_some_and(|regex| regex.is_match(line));
        let lines = prompt.lines().zip(1..).filter(|(line, _)| !matches(&forbids, line));
        lines
            .filter_map(|(line, number)| {
                Some((number, steps.iter().find(|(pattern, _)| matches(pattern, line))?.1))
            })
            .collect()
    }
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
        #[derive(Deserialize)]
        struct Examples {
            examples: Vec<(String, Option<String>)>,
        }
        let leftovers: Leftovers = serde_saphyr::from_str(LEFTOVERS).unwrap();
        for pattern in leftovers.steps.iter().map(|step| &step.pattern).chain([&leftovers.forbids]) {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
        for (line, expected) in serde_saphyr::from_str::<Examples>(LEFTOVERS).unwrap().examples {
            let found = leftovers.of(&line).first().map(|(_, step)| step.what.clone());
            assert_eq!(found, expected, "{line}");
        }
    }
}
