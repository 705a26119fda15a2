//! The mounted repositories of a session: what they contain, by path, and the files that describe them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::find::Walk;
use super::load::Loader;
use super::text::{Frame, QUOTE, Reading, Skipped};
use crate::machine::client::repositories::folders;
use crate::machine::request::Request;
use opsctl_inventory::compiled::Compiled;
use opsctl_reader::terms::plain_text::plain_lines;
use opsctl_redact::shortened;

/// The maximum number of repositories that are searched.
const MOST_REPOSITORIES: usize = 50;

/// The file of a repository that describes it.
const DESCRIPTION: &str = "CLAUDE-OPS.md";

/// Folders of a repository whose files are listed.
const PARTS: [&str; 3] = [".claude-ops/checks", ".claude-ops/playbooks", ".claude-ops/skills"];

/// Names of files that deploy services, in addition to the playbooks of `hosts.yaml`.
const DEPLOYMENT: [&str; 11] = [
    "Chart.yaml",
    "ansible.cfg",
    "compose.yaml",
    "compose.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "helmfile.yaml",
    "inventory",
    "inventory.ini",
    "inventory.yaml",
    "inventory.yml",
];

/// The maximum size in bytes of one list of names.
const NAMES_BYTES: usize = 400;

/// What the repositories in `folder` contain. Text of a repository is quoted, and names that cannot be shown are replaced:
/// it is data of others.
pub fn gather(folder: &Path, compiled: &Compiled, request: &Request) -> Reading {
    let mut loader = Loader::new(compiled, request);
    let mut lines = Vec::new();
    let all = match folders(folder) {
        Ok(all) => all,
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                let what = folder.display().to_string();
                loader.reading.skipped.push(Skipped { what, why: format!("it cannot be listed ({error})") });
            }
            vec![]
        }
    };
    let visible = |(name, path): &(String, PathBuf)| !name.starts_with('.') && path.is_dir();
    let mut all: Vec<(String, PathBuf)> = all.into_iter().filter(visible).collect();
    let more = all.len().saturating_sub(MOST_REPOSITORIES);
    all.truncate(MOST_REPOSITORIES);
    for (name, path) in &all {
        lines.push(format!("{} ({}):", shortened(name, 64), shortened(&path.to_string_lossy(), 200)));
        lines.extend(contents(path, compiled, &mut loader));
    }
    if more > 0 {
        lines.push(format!("… and {more} more repositories"));
    }
    let mut reading = loader.reading;
    for file in &mut reading.files {
        let quoted: Vec<String> =
            plain_lines(&file.text).lines().map(|line| format!("{QUOTE}{line}")).collect();
        file.text = quoted.join("\n");
    }
    Reading { frame: Frame::Repositories(lines), ..reading }
}

/// Lines that list what a repository contains; adds the file that describes it to `loader`.
fn contents(repository: &Path, compiled: &Compiled, loader: &mut Loader<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let is_described = repository.join(DESCRIPTION).symlink_metadata().is_ok();
    if is_described {
        loader.add_of(repository, DESCRIPTION);
    }
    for part in PARTS {
        let (files, more) = Walk::default().files(repository, &format!("{part}/**"));
        lines.extend(names(part, &files, &repository.join(part), more));
    }
    let services = &compiled.installation.inventory.services;
    let deploys = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        DEPLOYMENT.iter().any(|known| name == *known)
            || services.iter().flat_map(|service| &service.playbooks).any(|known| name == known.as_str())
    };
    let (mut files, more) = Walk::default().files(repository, "**");
    files.retain(deploys);
    lines.extend(names("deployment", &files, repository, more));
    if !is_described {
        lines.push(format!("  no {DESCRIPTION}: its README and its files show what it is for"));
    }
    lines
}

/// A line that lists files by their path below `folder`; `None` without files.
fn names(what: &str, files: &[PathBuf], folder: &Path, more: bool) -> Option<String> {
    let mut line = String::new();
    for (at, file) in files.iter().enumerate() {
        let name = shortened(&file.strip_prefix(folder).unwrap_or(file).to_string_lossy(), 100);
        if line.len() + name.len() > NAMES_BYTES {
            line.push_str(&format!(" … and {} more", files.len() - at));
            break;
        }
        line.push_str(if at == 0 { "" } else { ", " });
        line.push_str(&name);
    }
    if more {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str("… there are too many files to search them all");
    }
    (!line.is_empty()).then(|| format!("  {what}: {line}"))
}
