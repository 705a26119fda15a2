//! Programs that run what a file in their folder states: `make`, `npm run`, `just`, `run-parts`.

use std::rc::Rc;

use super::wrapper::quoted;
use crate::catalogue::lookup::Usage;
use crate::catalogue::program::Role;
use crate::languages::names::manifests as names;
use crate::manifest::{self, Commands};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
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
    fn of(texts: &'a [&'a str], from: usize, usage: &Usage) -> Self {
        let given = usage.operands_from(from, texts);
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

pub(crate) fn make(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    (program, usage): (&str, &Usage),
) -> String {
    let texts = invocation.texts();
    let words = Words::of(&texts, usage.rest, usage);
    let inner = evaluator.in_folder(shell, words.folder, program);
    let file = match words.files.first() {
        Some(file) => evaluator.first_file(&inner, "", &[*file]),
        None => evaluator.first_file(&inner, "", names::MAKEFILES.0),
    };
    let lines = words.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let file = file.or_else(|| (!lines.is_empty()).then(|| ("--eval".to_owned(), String::new())));
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(shell, invocation, program);
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
        || shell.env.iter().any(|(name, _)| steers(name));
    evaluator.run_commands(shell, inner, invocation, (program, &path), &commands)
}

pub(crate) fn package(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    (program, usage): (&str, &Usage),
) -> String {
    let texts = invocation.texts();
    let mut words = Words::of(&texts, usage.start, usage);
    let is_run = matches!(words.plain.first(), Some(&("run" | "run-script")));
    if is_run {
        words.plain.remove(0);
    }
    let name = words.plain.first().copied();
    // yarn and pnpm run a script without `run`, too.
    let name = name.filter(|name| is_run || program != "npm" || names::PACKAGE_VERBS.has(name));
    let mut inner = evaluator.in_folder(shell, words.folder, program);
    let file = name.and_then(|name| Some((name, evaluator.first_file(&inner, "", &["package.json"])?)));
    let Some((name, (path, text))) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(shell, invocation, program);
    };
    let at = texts.iter().position(|text| *text == name).map_or(texts.len(), |at| at + 1);
    let rest = invocation.fields.get(at..).unwrap_or_default();
    let arguments: Vec<Field> = rest.iter().filter(|field| field.text != "--").cloned().collect();
    let name = if name == "t" { "test" } else { name };
    let commands = manifest::package::commands(&text, name, &quoted(&arguments));
    // What the package has installed is found before everything else.
    inner.add_env("PATH", crate::shell::Word::literal("node_modules/.bin:$PATH"));
    evaluator.run_commands(shell, inner, invocation, (program, &path), &commands)
}

pub(crate) fn just(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    (program, usage): (&str, &Usage),
) -> String {
    let texts = invocation.texts();
    let words = Words::of(&texts, usage.rest, usage);
    let mut inner = evaluator.in_folder(shell, words.folder, program);
    let file = match words.files.first() {
        Some(file) => evaluator.first_file(&inner, "", &[*file]),
        None => (0..=MOST_PARENTS)
            .find_map(|level| evaluator.first_file(&inner, &"../".repeat(level), names::JUSTFILES.0)),
    };
    let Some((path, text)) = file.filter(|_| !words.is_idle) else {
        return evaluator.plain_program(shell, invocation, program);
    };
    // Recipes run in the folder of their file.
    if words.folder.is_none() {
        inner.cwd = inner.follow(path.rsplit_once('/').map_or(".", |(folder, _)| folder));
    }
    let commands = manifest::just::commands(&text, &words.plain);
    evaluator.run_commands(shell, inner, invocation, (program, &path), &commands)
}

pub(crate) fn run_parts(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    usage: &Usage,
) -> String {
    let texts = invocation.texts();
    let words = Words::of(&texts, usage.rest, usage);
    let given = usage.operands(&texts);
    let folder = words.plain.first().and_then(|folder| evaluator.path_of(shell, folder));
    let Some(folder) = folder.filter(|_| !words.is_idle && evaluator.disk_of(shell).is_some()) else {
        return evaluator.plain_program(shell, invocation, "run-parts");
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
    evaluator.through(shell, invocation, "run-parts".to_owned(), |this| this.run_program(&inner, &one))
}

impl Evaluator {
    /// A child shell of a program, in a folder that an option names.
    fn in_folder(&self, shell: &Shell, folder: Option<&str>, program: &str) -> Shell {
        let mut inner = shell.child().through(program);
        if let Some(folder) = folder {
            inner.cwd = self.path_of(shell, folder);
        }
        inner.stdin = Some(String::new());
        inner
    }

    /// The first of these files that can be read in a folder, with its path.
    pub fn first_file(&mut self, shell: &Shell, folder: &str, names: &[&str]) -> Option<(String, String)> {
        names.iter().map(|name| format!("{folder}{name}")).find_map(|path| {
            let text = self.script_file(shell, &path)?;
            Some((path, text))
        })
    }

    /// Adds a program that is not followed.
    fn plain_program(&mut self, shell: &Shell, invocation: &Invocation, program: &str) -> String {
        self.leaf(shell, invocation);
        output::of(self, shell, invocation, program)
    }

    /// Follows the commands that a file states, each in a shell of its own.
    fn run_commands(
        &mut self,
        shell: &Shell,
        mut inner: Shell,
        invocation: &Invocation,
        (program, path): (&str, &str),
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
        self.through(shell, invocation, program.to_owned(), |this| {
            let text = commands.scripts.join("\n");
            let printed = this.follow_file(&inner.clone(), path, &text, |this| {
                let mut printed = String::new();
                for script in &commands.scripts {
                    if this.exhausted() {
                        break;
                    }
                    printed.push_str(&this.run_text(&mut inner.clone(), script));
                }
                printed
            });
            printed.unwrap_or_default()
        })
    }
}
