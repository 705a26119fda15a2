//! Programs that run what a file in their folder states: `make`, `npm run`, `just`, `run-parts`.

use std::rc::Rc;

use super::wrapper::quoted;
use crate::catalogue::program::Role;
use crate::languages::names::manifests as names;
use crate::manifest::{self, Commands};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::execution::output::printed as output;
use crate::shell::on_disk::Search;
use crate::shell::state::Shell;
use crate::shell::text::{Field, Unknown};

/// Maximum number of folders above the working directory in which a justfile is searched.
const MOST_PARENTS: usize = 8;

/// The words of a task runner.
#[derive(Default)]
struct Words<'a> {
    folder: Option<&'a str>,
    files: Vec<&'a str>,
    /// Lines of a makefile in options.
    lines: Vec<&'a str>,
    /// The words that are not options.
    plain: Vec<&'a str>,
    is_idle: bool,
    is_partial: bool,
}

impl<'a> Words<'a> {
    fn of(started: &Started<'a>, from: usize) -> Self {
        let usage = started.usage;
        let given = usage.operands_from(from, started.texts);
        let reads_with = usage.form.effect.map(|terms| terms.reads_with).unwrap_or_default();
        Self {
            folder: given.values(Role::Folder).last(),
            files: given.values(Role::ScriptFile).collect(),
            lines: given.values(Role::Lines).collect(),
            plain: given.words().collect(),
            is_idle: given.has(Role::Idle) || given.states(&usage.form.quiet) || given.states(&reads_with),
            is_partial: given.values(Role::Folder).count() > 1,
        }
    }
}

pub(crate) fn make(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let words = Words::of(started, started.usage.rest);
    let inner = evaluator.in_folder(started, words.folder);
    let file = match words.files.first() {
        Some(file) => evaluator.file_of_tasks(started, &inner, file),
        None => evaluator.first_file(&inner, "", names::MAKEFILES.0),
    };
    let lines = words.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let file = file.or_else(|| (!lines.is_empty()).then(|| ("--eval".to_owned(), String::new())));
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    let text = lines + &text;
    let (assigned, goals): (Vec<&str>, Vec<&str>) = words.plain.iter().partition(|word| word.contains('='));
    let split = |word: &&str| {
        word.split_once('=').map(|(name, value)| (name.trim_end_matches(':').to_owned(), value.to_owned()))
    };
    let variables: Vec<(String, String)> = assigned.iter().filter_map(split).collect();
    let mut commands = manifest::make::commands(&text, &goals, &variables);
    let steers = |name: &str| matches!(name, "SHELL" | "MAKEFLAGS" | "MAKEFILES" | ".SHELLFLAGS");
    commands.is_partial |= words.is_partial
        || words.files.len() > 1
        || variables.iter().any(|(name, _)| steers(name))
        || started.shell.env.iter().any(|(name, _)| steers(name));
    evaluator.run_commands(started, inner, &path, &commands)
}

pub(crate) fn package(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let mut words = Words::of(started, started.usage.start);
    let is_run = matches!(words.plain.first(), Some(&("run" | "run-script")));
    if is_run {
        words.plain.remove(0);
    }
    let name = words.plain.first().copied();
    // yarn and pnpm run a script without `run`, too.
    let name = name.filter(|name| is_run || started.program != "npm" || names::PACKAGE_VERBS.has(name));
    let mut inner = evaluator.in_folder(started, words.folder);
    let file = name.and_then(|name| Some((name, evaluator.first_file(&inner, "", &["package.json"])?)));
    let Some((name, (path, text))) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    let at = started.texts.iter().position(|text| *text == name).map_or(started.texts.len(), |at| at + 1);
    let rest = started.invocation.from(at);
    let arguments: Vec<Field> = rest.iter().filter(|field| field.text != "--").cloned().collect();
    let name = if name == "t" { "test" } else { name };
    let commands = manifest::package::commands(&text, name, &quoted(&arguments));
    // What the package has installed is found before everything else.
    inner.add_env("PATH", crate::shell::Word::literal("node_modules/.bin:$PATH"));
    evaluator.run_commands(started, inner, &path, &commands)
}

pub(crate) fn just(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let words = Words::of(started, started.usage.rest);
    let mut inner = evaluator.in_folder(started, words.folder);
    let file = match words.files.first() {
        Some(file) => evaluator.file_of_tasks(started, &inner, file),
        None => (0..=MOST_PARENTS)
            .find_map(|level| evaluator.first_file(&inner, &"../".repeat(level), names::JUSTFILES.0)),
    };
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    // Recipes run in the folder of their file.
    if words.folder.is_none() {
        inner.cwd = inner.follow(path.rsplit_once('/').map_or(".", |(folder, _)| folder));
    }
    let commands = manifest::just::commands(&text, &words.plain);
    evaluator.run_commands(started, inner, &path, &commands)
}

pub(crate) fn run_parts(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let words = Words::of(started, started.usage.rest);
    let given = usage.operands(texts);
    let folder = words.plain.first().and_then(|folder| evaluator.path_of(shell, folder));
    let Some(folder) = folder.filter(|_| !words.is_idle && evaluator.disk_of(shell).is_some()) else {
        return evaluator.plain_program(started);
    };
    // Any name that contains the letters of the expression may match it.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let pattern = given.values(Role::Names).next().map(|regex| regex.trim_matches(['^', '$']));
    let names = match pattern {
        Some(pattern) if pattern.chars().all(is_plain) => vec![format!("*{pattern}*")],
        _ => vec![],
    };
    let found = Unknown {
        source: format!("{folder}/*"),
        found: Some(Search::Below { folders: vec![folder], names }),
        ..Unknown::default()
    };
    let program = Field::literal(evaluator.unknowns.mark(found));
    let fields = std::iter::once(program).chain(given.values(Role::Arguments).map(Field::literal)).collect();
    let inner = shell.clone().through("run-parts");
    let one = invocation.with(fields);
    evaluator.through(shell, invocation, "run-parts", |this| this.run_program(&inner, &one))
}

impl Evaluator {
    /// A child shell of a program, in a folder that an option names.
    fn in_folder(&self, started: &Started<'_>, folder: Option<&str>) -> Shell {
        let mut inner = started.shell.child().through(started.program);
        if let Some(folder) = folder {
            inner.cwd = self.path_of(started.shell, folder);
        }
        inner.stdin = Some(String::new());
        inner
    }

    /// A file that an option names, with its path; `-` is standard input.
    fn file_of_tasks(
        &mut self,
        started: &Started<'_>,
        inner: &Shell,
        file: &str,
    ) -> Option<(String, String)> {
        let reading = Shell { stdin: started.invocation.stdin.clone(), ..inner.clone() };
        self.first_file(&reading, "", &[if file == "-" { "/dev/stdin" } else { file }])
    }

    /// The first of these files that can be read in a folder, with its path.
    pub fn first_file(&mut self, shell: &Shell, folder: &str, names: &[&str]) -> Option<(String, String)> {
        names.iter().map(|name| format!("{folder}{name}")).find_map(|path| {
            let text = self.script_file(shell, &path)?;
            Some((path, text))
        })
    }

    /// Adds a program that is not followed.
    fn plain_program(&mut self, started: &Started<'_>) -> String {
        self.leaf(started.shell, started.invocation);
        output::of(self, started.shell, started.invocation, started.program)
    }

    /// Follows the commands that a file states, each in a shell of its own.
    fn run_commands(
        &mut self,
        started: &Started<'_>,
        mut inner: Shell,
        path: &str,
        commands: &Commands,
    ) -> String {
        if commands.is_partial {
            self.complain(Complaint::PartialFile(self.unknowns.show(path)));
        }
        inner.args = Rc::default();
        for (name, value) in &commands.environment {
            inner.set_text(name, value.as_str());
            self.export(&mut inner, name);
        }
        self.through(started.shell, started.invocation, started.program, |this| {
            let text = commands.scripts.join("\n");
            let printed = this.follow_file(&inner.clone(), path, &text, |this| {
                this.each(&commands.scripts, |this, script| this.run_text(&mut inner.clone(), script))
            });
            printed.unwrap_or_default()
        })
    }
}
