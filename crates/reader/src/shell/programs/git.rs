//! What git runs beside its own commands: aliases with `!`, and hooks.

use super::wrapper::quoted;
use crate::catalogue::program::Role;
use crate::languages::names::shell as names;
use crate::manifest;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::{Invocation, Started};
use crate::shell::execution::output::printed as output;
use crate::shell::options::Scanner;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_known};

/// Maximum number of folders above the working directory in which a repository is searched.
const MOST_PARENTS: usize = 12;
/// Maximum nesting of aliases.
const MOST_ALIASES: usize = 4;

pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    evaluator.leaf(shell, invocation);
    let (mut folder, mut settings) = (None, String::new());
    let verb = Scanner::new(texts, usage.start, &usage.form.valued).up_to_word(|name, at| {
        if let Some(at) = at.filter(|_| name.is_any(&usage.role_before(Role::Folder))) {
            folder = at.of(texts);
        }
        if let Some(setting) = at.filter(|_| name.is_any(&["-c"])).and_then(|at| at.of(texts)) {
            // `alias.NAME=TEXT`
            settings += &setting
                .strip_prefix("alias.")
                .map(|alias| format!("[alias]\n{alias}\n"))
                .unwrap_or_default();
        }
    });
    let word =
        verb.and_then(|at| texts.get(at)).copied().filter(|word| is_known(word) && !names::GIT_OWN.has(word));
    if let Some((at, word)) = verb.zip(word).filter(|_| evaluator.disk_of(shell).is_some()) {
        let mut inner = shell.child().through("git");
        if let Some(folder) = folder {
            inner.enter(evaluator.path_of(shell, folder));
        }
        let rest = invocation.from(at + 1);
        match names::GIT_HOOKS.get(word) {
            Some(hooks) if !usage.has(texts, &usage.form.quiet) => {
                let repository = evaluator.repository(&mut inner);
                // For `git commit`, `-n` is short for it.
                let skips = texts.contains(&"--no-verify") || word == "commit" && texts.contains(&"-n");
                let is_checked = |hook: &str| hook.starts_with("pre-") || hook == "commit-msg";
                let hooks = hooks.iter().filter(|hook| !(skips && is_checked(hook)));
                evaluator.hooks(&inner, repository, hooks);
            }
            // A listed command is no alias.
            None if usage.verb.is_empty() => {
                let mut repository = evaluator.repository(&mut inner);
                if !settings.is_empty() {
                    let own = repository.get_or_insert_with(Repository::default);
                    own.settings += &format!("\n{settings}");
                }
                evaluator.alias(shell, &inner, repository, word, rest);
            }
            _ => {}
        }
    }
    output::of(evaluator, shell, invocation, "git")
}

/// A repository: its folder for settings and hooks, and the text of its settings.
#[derive(Default)]
struct Repository {
    folder: String,
    settings: String,
}

impl Evaluator {
    /// The repository of a shell's folder. Moves the shell to its top.
    fn repository(&mut self, shell: &mut Shell) -> Option<Repository> {
        let mut top = shell.cwd.clone()?;
        for _ in 0..MOST_PARENTS {
            let mut folder = format!("{top}/.git");
            let mut settings = self.script_file(shell, &format!("{folder}/config"));
            if settings.is_none()
                && let Some(text) = self.script_file(shell, &folder)
            {
                // A worktree shares the settings of its repository.
                let linked = text.trim().strip_prefix("gitdir: ").unwrap_or_default();
                linked.split("/worktrees/").next().unwrap_or(linked).clone_into(&mut folder);
                settings = self.script_file(shell, &format!("{folder}/config"));
            }
            if let Some(settings) = settings {
                shell.enter(Some(top));
                return Some(Repository { folder, settings });
            }
            top = top
                .rsplit_once('/')
                .map(|(parent, _)| parent.to_owned())
                .filter(|parent| !parent.is_empty())?;
        }
        None
    }

    fn hooks<'a>(
        &mut self,
        shell: &Shell,
        repository: Option<Repository>,
        names: impl Iterator<Item = &'a str>,
    ) {
        let Some(repository) = repository else { return };
        let folder = manifest::git::hooks_folder(&repository.settings);
        let folder = folder.unwrap_or_else(|| format!("{}/hooks", repository.folder));
        self.inside(Construct::Group, |this| {
            for name in names {
                let path = format!("{folder}/{name}");
                // A hook that is not there is no program.
                if !this.scripts_at(shell, &path).is_empty() {
                    this.run_program(shell, &Invocation::of(vec![Field::literal(path)], None));
                }
            }
        });
    }

    fn alias(
        &mut self,
        shell: &Shell,
        inner: &Shell,
        repository: Option<Repository>,
        name: &str,
        rest: &[Field],
    ) {
        if shell.via.iter().filter(|via| *via == "git").count() >= MOST_ALIASES {
            return;
        }
        let own = repository.and_then(|repository| manifest::git::alias(&repository.settings, name));
        let found = own.or_else(|| {
            let own = [".gitconfig", ".config/git/config"].map(|name| self.at_home(inner, name));
            own.into_iter().flatten().chain(["/etc/gitconfig".to_owned()]).find_map(|path| {
                let settings = self.script_file(inner, &path)?;
                manifest::git::alias(&settings, name)
            })
        });
        let Some(text) = found else { return };
        let arguments = quoted(rest);
        let script = match text.strip_prefix('!') {
            Some(script) => format!("{script} {arguments}"),
            None => format!("git {text} {arguments}"),
        };
        self.inside(Construct::Group, |this| this.run_text(&mut inner.clone(), &script));
    }
}
