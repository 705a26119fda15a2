//! The files of this machine that state the targets of a command: a playbook, or those of a compose project.

use std::path::Path;

use crate::catalogue::program::{Role, TargetKind};
use crate::languages::names::manifests as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::script::{Command, Stated};

/// The maximum number of files of one command that are read.
const MOST_FILES: usize = 8;
/// The maximum number of folders above the working directory in which compose files are looked for.
const HIGHEST: usize = 16;

/// The files that state the targets of a command, if it is one that has such files and runs here.
pub(super) fn read(
    evaluator: &mut Evaluator,
    started: &Started<'_>,
    command: &Command,
) -> Option<Box<Stated>> {
    let kind = started.usage.form.does?.to.kind;
    if !matches!(kind, TargetKind::Playbook | TargetKind::Compose | TargetKind::Project)
        || evaluator.disk_of(started.shell).is_none()
    {
        return None;
    }
    let files = match kind {
        TargetKind::Playbook => playbook(evaluator, started),
        TargetKind::Project => Some(stack(evaluator, started)),
        _ => compose(evaluator, started, command),
    };
    files.filter(|files| !files.texts.is_empty()).map(Box::new)
}

fn playbook(evaluator: &mut Evaluator, started: &Started<'_>) -> Option<Stated> {
    let given = started.usage.operands(started.texts);
    let mut words = given.words();
    // The file of several ones is not clear.
    let only = words.next().filter(|_| words.next().is_none())?;
    let text = evaluator.read_data(started.shell, only)?;
    Some(Stated { folder: None, texts: vec![text] })
}

/// The files of `docker stack deploy -c FILE`.
fn stack(evaluator: &mut Evaluator, started: &Started<'_>) -> Stated {
    let given = started.usage.operands(started.texts);
    let files = given.values(Role::Manifests).take(MOST_FILES);
    let read = files.filter_map(|file| evaluator.read_data(started.shell, file));
    Stated { folder: None, texts: read.collect() }
}

fn compose(evaluator: &mut Evaluator, started: &Started<'_>, command: &Command) -> Option<Stated> {
    let Started { shell, usage, texts, .. } = *started;
    let given = usage.operands_before(texts);
    let mut files: Vec<String> = given.values(Role::Manifests).map(str::to_owned).collect();
    if files.is_empty() {
        let variable = command.variable("COMPOSE_FILE").map(|files| files.text.as_str()).unwrap_or_default();
        files = variable.split(':').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    }
    if !files.is_empty() {
        let read = files.iter().take(MOST_FILES).filter_map(|file| evaluator.read_data(shell, file));
        return Some(Stated { folder: None, texts: read.collect() });
    }
    let start = given.values(Role::Folder).last().unwrap_or(".");
    let start = evaluator.path_of(shell, start).filter(|path| path.starts_with('/'))?;
    let mut read = |folder: &str, names: &[&str]| {
        names
            .iter()
            .find_map(|name| evaluator.read_data(shell, &format!("{}/{name}", folder.trim_end_matches('/'))))
    };
    Path::new(&start).ancestors().filter_map(Path::to_str).take(HIGHEST).find_map(|folder| {
        let texts = std::iter::once(read(folder, names::COMPOSE.0)?)
            .chain(read(folder, names::COMPOSE_MERGED.0))
            .collect();
        Some(Stated { folder: Some(folder.to_owned()), texts })
    })
}
