//! Programs that run what a file in their folder states: `make`, `npm run`, `just`, `task`, `mise run`, `run-parts`.

use super::wrapper::quoted;
use crate::catalogue::program::Role;
use crate::languages::names::{Names, manifests as names};
use crate::manifest::{self, Commands};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::execution::output::printed as output;
use crate::shell::on_disk::Search;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
use crate::shell::text::{Field, Unknown};

/// Maximum number of folders above the working directory in which a justfile is searched.
const MOST_PARENTS: usize = 8;

/// Maximum nesting of files that include others.
const MOST_INCLUDES: usize = 4;

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
    let text = lines + &evaluator.with_included(&inner, "", text, names::MAKE_INCLUDES);
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
        || started.shell.variables.iter().any(|(name, variable)| variable.exported && steers(name));
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
    let at = name.and_then(|name| started.texts.iter().position(|text| *text == name));
    let script = name.filter(|_| !words.is_idle).zip(at).and_then(|(name, at)| {
        let name = if name == "t" { "test" } else { name };
        evaluator.package_script(started, words.folder, (name, at + 1), &["package.json"], true)
    });
    script.unwrap_or_else(|| evaluator.plain_program(started))
}

/// Follows `node --run NAME`, `bun run NAME`, `bun NAME` and `deno task NAME`; `None` for code.
pub(crate) fn script_of_code(evaluator: &mut Evaluator, started: &Started<'_>) -> Option<String> {
    let texts = started.texts;
    let value = |options: &[&str]| {
        let at = texts.iter().position(|text| options.contains(&text.split('=').next().unwrap_or(text)))?;
        Some((texts.get(at)?.split_once('=').map(|(_, value)| value).or(texts.get(at + 1).copied())?, at))
    };
    let folder = value(&["--cwd"]).map(|(folder, _)| folder);
    let valued = |text: &str| names::SCRIPT_OPTIONS.has(text);
    let mut words = texts.iter().enumerate().skip(1).filter(|(at, text)| {
        !text.starts_with('-') && !texts.get(at - 1).is_some_and(|before| *at > 1 && valued(before))
    });
    match started.program {
        "deno" => {
            words.next().filter(|(_, text)| **text == "task")?;
            let (at, name) = words.next()?;
            let config = value(&["-c", "--config"]).map(|(file, _)| file);
            let files = config.map_or_else(|| names::DENO_FILES.0.to_vec(), |file| vec![file]);
            evaluator.package_script(started, folder, (name, at + 1), &files, true)
        }
        "bun" => {
            let (first, name) = words.next()?;
            let (at, name) = if *name == "run" { words.next()? } else { (first, name) };
            // What is no script is a file.
            evaluator.package_script(started, folder, (name, at + 1), &["package.json"], false)
        }
        "node" | "nodejs" => {
            let (name, at) = value(&["--run"])?;
            let after = if texts.get(at).is_some_and(|text| text.contains('=')) { at + 1 } else { at + 2 };
            evaluator.package_script(started, None, (name, after), &["package.json"], true)
        }
        _ => None,
    }
}

pub(crate) fn task(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let words = Words::of(started, started.usage.rest);
    let mut inner = evaluator.in_folder(started, words.folder);
    let file = match words.files.first() {
        Some(file) => evaluator.file_of_tasks(started, &inner, file),
        None => evaluator.file_above(&inner, names::TASKFILES.0),
    };
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    if words.folder.is_none() && !path.starts_with("/dev/") {
        inner.go(path.rsplit_once('/').map_or(".", |(folder, _)| folder));
    }
    let dashes = started.texts.iter().position(|text| *text == "--");
    let rest = dashes.map_or(&[][..], |at| started.invocation.from(at + 1));
    let own = words.plain.get(..words.plain.len().saturating_sub(rest.len())).unwrap_or_default();
    let commands = manifest::taskfile::commands(&text, own, &quoted(rest));
    evaluator.run_commands(started, inner, &path, &commands)
}

/// Follows `mise run NAME`: a task of a file of settings, or a script in a folder of tasks.
pub(crate) fn mise(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let words = Words::of(started, started.usage.rest);
    let mut inner = evaluator.in_folder(started, words.folder);
    let at = words.plain.first().and_then(|name| started.texts.iter().position(|text| text == name));
    let Some((name, at)) = words.plain.first().zip(at).filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    let rest = started.invocation.from(at + 1);
    let rest: Vec<Field> = rest.iter().filter(|field| field.text != "--").cloned().collect();
    let mut tasks = rest.split(|field| field.text == ":::");
    let mut named = vec![((*name).to_owned(), quoted(tasks.next().unwrap_or_default()))];
    named.extend(tasks.filter_map(|words| Some((words.first()?.text.clone(), quoted(words.get(1..)?)))));
    let mut found = Commands::default();
    let mut path = None;
    for (name, arguments) in named {
        let in_file = (0..=MOST_PARENTS).find_map(|level| {
            names::MISE_FILES.iter().find_map(|file| {
                let file = evaluator.first_file(&inner, &"../".repeat(level), &[file])?;
                Some((manifest::mise::commands(&file.1, &name, &arguments)?, file.0))
            })
        });
        let script = |this: &mut Evaluator| {
            let name = name.replace(':', "/");
            let files: Vec<String> =
                names::MISE_FOLDERS.iter().map(|folder| format!("{folder}/{name}")).collect();
            let paths: Vec<&str> = files.iter().map(String::as_str).collect();
            let (file, _) = this.first_file(&inner, "", &paths)?;
            Some((Commands { scripts: vec![format!("./{file} {arguments}")], ..Commands::default() }, file))
        };
        let Some((commands, file)) = in_file.or_else(|| script(evaluator)) else { continue };
        found.scripts.extend(commands.scripts);
        found.environment.extend(commands.environment);
        found.is_partial |= commands.is_partial;
        path.get_or_insert(file);
    }
    let Some(path) = path else { return evaluator.plain_program(started) };
    let above = path.matches("../").count();
    inner.cwd = inner.follow(&"../".repeat(above)).or(inner.cwd);
    evaluator.run_commands(started, inner, &path, &found)
}

pub(crate) fn just(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let words = Words::of(started, started.usage.rest);
    let mut inner = evaluator.in_folder(started, words.folder);
    let file = match words.files.first() {
        Some(file) => evaluator.file_of_tasks(started, &inner, file),
        None => evaluator.file_above(&inner, names::JUSTFILES.0),
    };
    let texts = started.texts;
    if let Some(at) = texts.iter().position(|text| matches!(*text, "-c" | "--command"))
        && !texts.contains(&"--shell")
    {
        let one = started.invocation.with(started.invocation.from(at + 1).to_vec());
        return evaluator
            .through(started.shell, started.invocation, "just", |this| this.run_program(&inner, &one));
    }
    let given = started.usage.operands(texts);
    let shell: Vec<&str> = given.values(Role::Launcher).collect();
    if shell.first().is_some_and(|name| evaluator.catalogue.find(name).is_some_and(|program| program.acts)) {
        // The words of a command, or the lines of a recipe, go to this program.
        let fields = shell.iter().chain(&words.plain).map(|word| Field::literal(*word)).collect();
        let one = started.invocation.with(fields);
        return evaluator
            .through(started.shell, started.invocation, "just", |this| this.run_program(&inner, &one));
    }
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(started);
    };
    let above = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let text = evaluator.with_included(&inner, &above, text, names::JUST_INCLUDES);
    // Recipes run in the folder of their file.
    if words.folder.is_none() {
        inner.go(path.rsplit_once('/').map_or(".", |(folder, _)| folder));
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
    /// The text of a file with the files that it includes in place of the statements that name them. Paths are relative to `folder`.
    fn with_included(&mut self, shell: &Shell, folder: &str, mut text: String, statements: Names) -> String {
        for _ in 0..MOST_INCLUDES {
            let mut found = false;
            let mut out = String::new();
            for line in text.lines() {
                let mut words = line.split_whitespace();
                let includes =
                    !line.starts_with('\t') && words.next().is_some_and(|word| statements.has(word));
                let paths = words.map(|word| word.trim_matches(['\'', '"'])).map(|word| {
                    if word.starts_with('/') { word.to_owned() } else { format!("{folder}{word}") }
                });
                let paths: Vec<String> = if includes { paths.collect() } else { vec![] };
                let texts: Vec<String> =
                    paths.iter().map_while(|path| self.script_file(shell, path)).collect();
                if texts.is_empty() || texts.len() < paths.len() {
                    out.extend([line, "\n"]);
                } else {
                    found = true;
                    out.extend(texts.iter().flat_map(|text| [text.as_str(), "\n"]));
                }
            }
            text = out;
            if !found {
                break;
            }
        }
        text
    }

    /// A child shell of a program, in a folder that an option names.
    fn in_folder(&self, started: &Started<'_>, folder: Option<&str>) -> Shell {
        let mut inner = started.shell.child().through(started.program);
        if let Some(folder) = folder {
            inner.enter(self.path_of(started.shell, folder));
        }
        inner.stdin = Some(String::new());
        inner
    }

    /// The first of these files that can be read in the working directory or above it, with its path.
    fn file_above(&mut self, shell: &Shell, names: &[&str]) -> Option<(String, String)> {
        (0..=MOST_PARENTS).find_map(|level| self.first_file(shell, &"../".repeat(level), names))
    }

    /// Follows a script of a package, with the words from `at` on as its arguments; `None` without a file, or without the
    /// script where a file needs none.
    fn package_script(
        &mut self,
        started: &Started<'_>,
        folder: Option<&str>,
        (name, at): (&str, usize),
        files: &[&str],
        is_certain: bool,
    ) -> Option<String> {
        let mut inner = self.in_folder(started, folder);
        let (path, text) = self.file_above(&inner, files)?;
        let rest = started.invocation.from(at);
        let arguments: Vec<Field> = rest.iter().filter(|field| field.text != "--").cloned().collect();
        let commands = manifest::package::commands(&text, name, &quoted(&arguments));
        if commands.is_partial && !is_certain {
            return None;
        }
        inner.go(path.rsplit_once('/').map_or(".", |(folder, _)| folder));
        // What the package has installed is found before everything else.
        inner.set_text("PATH", "node_modules/.bin:$PATH");
        Some(self.run_commands(started, inner, &path, &commands))
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
        inner.args = Shared::default();
        for (name, value) in &commands.environment {
            inner.set_text(name, value.as_str());
            inner.export(name);
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
