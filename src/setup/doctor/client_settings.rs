//! Checks the settings of the project and of the user for keys that are not known to be harmless.

use std::path::Path;

use super::client;
use super::examined::Examined;
use super::finding::Finding;
use crate::setup::render::{Weakening, output};

/// Checks that the settings files of the project and of the user contain only keys that are harmless, except as
/// `hosts.yaml` states.
pub fn client_settings(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "client settings";
    let opsctl = examined.opsctl.to_string_lossy();
    let stated = &examined.policy.installation.settings;
    // The check `settings` reports files that cannot be read.
    let project = output::project(&examined.environment.project_dir, &opsctl, stated);
    let of_project = project.map(|project| project.removed).unwrap_or_default();
    if let Some(first) = of_project.first() {
        let remedy = format!("run `opsctl render`, which removes it; {}", first.remedy());
        return Finding::failed(CHECK, in_words(&of_project), remedy);
    }
    let file = client::folder().map(|folder| folder.join("settings.json"));
    let of_user: Vec<Weakening> = file.map(|file| of_user(&file, &opsctl)).unwrap_or_default();
    if !of_user.is_empty() {
        let remedy =
            "remove it, or start sessions with `opsctl session`, whose client does not read this file";
        return Finding::warning(CHECK, in_words(&of_user), remedy);
    }
    Finding::ok(CHECK, "only keys that are known to be harmless")
}

fn of_user(file: &Path, opsctl: &str) -> Vec<Weakening> {
    let Ok(settings) = output::existing_settings(file) else { return vec![] };
    let removed = settings.cleaned(opsctl, &[]).1.into_iter();
    removed.map(|(key, danger)| Weakening { key, file: file.to_owned(), danger }).collect()
}

fn in_words(found: &[Weakening]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
