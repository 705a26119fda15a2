//! The files that state the targets of a command: a playbook, those of a compose project, or Kubernetes manifests.

use std::collections::VecDeque;
use std::path::Path;

use crate::catalogue::program::{Role, TargetKind};
use crate::languages::names::manifests as names;
use crate::manifest::compose as compose_files;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::script::{Command, Stated};
use crate::shell::state::Shell;

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
    if kind == TargetKind::Workload {
        let files = manifests(evaluator, started);
        return Some(files).filter(|files| !files.texts.is_empty()).map(Box::new);
    }
    if !matches!(kind, TargetKind::Playbook | TargetKind::Compose | TargetKind::Project)
        || evaluator.disk_of(started.shell).is_none() && evaluator.files.is_empty()
    {
        return None;
    }
    let files = match kind {
        TargetKind::Playbook => playbook(evaluator, started),
        TargetKind::Project => Some(manifests(evaluator, started)),
        _ => compose(evaluator, started, command),
    };
    files.filter(|files| !files.texts.is_empty() || files.project.is_some()).map(Box::new)
}

fn playbook(evaluator: &mut Evaluator, started: &Started<'_>) -> Option<Stated> {
    let given = started.usage.operands(started.texts);
    let mut words = given.words();
    // The file of several ones is not clear.
    let only = words.next().filter(|_| words.next().is_none())?;
    let is_written = evaluator.file_content(started.shell, only).is_some();
    let text = evaluator.read_data(started.shell, only)?;
    Some(Stated { texts: vec![text], is_written, ..Stated::default() })
}

/// The files of `docker stack deploy -c FILE` and `kubectl apply -f FILE`.
fn manifests(evaluator: &mut Evaluator, started: &Started<'_>) -> Stated {
    let given = started.usage.operands(started.texts);
    let files: Vec<&str> = given.values(Role::Manifests).collect();
    let reading = Shell { stdin: started.invocation.stdin.clone(), ..started.shell.clone() };
    let paths = files.iter().take(MOST_FILES).map(|file| if *file == "-" { "/dev/stdin" } else { file });
    let texts: Vec<String> = paths.filter_map(|file| evaluator.read_data(&reading, file)).collect();
    Stated { is_partial: texts.len() < files.len(), texts, ..Stated::default() }
}

fn compose(evaluator: &mut Evaluator, started: &Started<'_>, command: &Command) -> Option<Stated> {
    let Started { shell, usage, texts, invocation, .. } = *started;
    let given = usage.operands_before(texts);
    let mut files: Vec<String> = given.values(Role::Manifests).map(str::to_owned).collect();
    let variable = |name: &str| command.variable(name).map(|value| value.text.clone());
    let stated_folder = given.values(Role::Folder).last();
    let first_folder = files.first().and_then(|file| file.rsplit_once('/')).map(|(folder, _)| folder);
    let environment = given.values(Role::Environment).last().map_or_else(
        || format!("{}/.env", stated_folder.or(first_folder).unwrap_or(".").trim_end_matches('/')),
        str::to_owned,
    );
    let settings = evaluator.compose_variables(shell, &environment);
    let setting = |name: &str| compose_files::variable(&settings, name).map(str::to_owned);
    let project = setting("COMPOSE_PROJECT_NAME");
    if files.is_empty() {
        let list =
            variable("COMPOSE_FILE").filter(|list| !list.is_empty()).or_else(|| setting("COMPOSE_FILE"));
        let list = list.unwrap_or_default();
        files = list.split(':').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    }
    if !files.is_empty() {
        let reading = Shell { stdin: invocation.stdin.clone(), ..shell.clone() };
        let paths = files.iter().map(|file| if file == "-" { "/dev/stdin" } else { file.as_str() });
        let read = paths.take(MOST_FILES).filter_map(|file| {
            Some((
                file.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned(),
                evaluator.read_data(&reading, file)?,
            ))
        });
        let read = read.collect();
        return Some(Stated { project, ..with_others(evaluator, shell, read) });
    }
    let start =
        evaluator.path_of(shell, stated_folder.unwrap_or(".")).filter(|path| path.starts_with('/'))?;
    let mut read = |folder: &str, names: &[&str]| {
        names
            .iter()
            .find_map(|name| evaluator.read_data(shell, &format!("{}/{name}", folder.trim_end_matches('/'))))
    };
    let found = Path::new(&start).ancestors().filter_map(Path::to_str).take(HIGHEST).find_map(|folder| {
        let texts = std::iter::once(read(folder, names::COMPOSE.0)?)
            .chain(read(folder, names::COMPOSE_MERGED.0))
            .map(|text| (folder.to_owned(), text));
        Some((folder.to_owned(), texts.collect()))
    });
    let (folder, texts) = found?;
    let project = project.or_else(|| {
        let settings = evaluator.compose_variables(shell, &format!("{folder}/.env"));
        compose_files::variable(&settings, "COMPOSE_PROJECT_NAME").map(str::to_owned)
    });
    Some(Stated { folder: Some(folder), project, ..with_others(evaluator, shell, texts) })
}

/// Files, each with its folder, and the files that they include and extend.
fn with_others(evaluator: &mut Evaluator, shell: &Shell, files: Vec<(String, String)>) -> Stated {
    let mut stated = Stated::default();
    let mut left: VecDeque<(String, String)> = files.into();
    while let Some((folder, text)) = left.pop_front() {
        let place =
            |file: &String| if file.starts_with('/') { file.clone() } else { format!("{folder}/{file}") };
        for path in compose_files::included(&text).iter().map(place) {
            if stated.texts.len() + left.len() < MOST_FILES
                && let Some(text) = evaluator.read_data(shell, &path)
            {
                left.push_back((path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned(), text));
            }
        }
        for path in compose_files::extended(&text).iter().map(place) {
            if stated.bases.len() < MOST_FILES {
                stated.bases.extend(evaluator.read_data(shell, &path));
            }
        }
        stated.texts.push(text);
    }
    stated
}
