//! What a shell loads before its script: files that variables name, and functions in the environment.

use crate::shell::evaluator::Evaluator;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

impl Evaluator {
    /// Takes over the variables, functions and aliases of the files that the client's shell loads: those of `BASH_ENV` and
    /// `ENV`. Their own commands run before every command of the client, and are no part of it.
    pub fn client_startup(&mut self, shell: &mut Shell) {
        if self.disk_of(shell).is_some() {
            for variable in ["BASH_ENV", "ENV"] {
                let ((), _) = self.collected(|this| this.run_startup_file(shell, variable));
            }
        }
    }

    /// Follows the file that a variable names and that a shell runs before its script.
    pub fn run_startup_file(&mut self, shell: &mut Shell, variable: &str) {
        let own = Self::variable_text(shell, variable);
        let Some(path) = own.or_else(|| self.disk_of(shell)?.variable(variable)) else { return };
        let path = self.here_document(&mut shell.clone(), &path);
        if path.is_empty() {
            return;
        }
        if let Some(text) = self.script_file(shell, &path) {
            self.follow_file(&shell.clone(), &path, &text, |this| this.run_script(shell, &text).0);
        }
    }

    /// Defines a function that the client's shell imports from its environment, if there is one of this name.
    pub fn import_function(&mut self, shell: &mut Shell, name: &str) -> bool {
        // `command x` is no function.
        let skips = shell.via.last().is_some_and(|via| matches!(via.as_str(), "command" | "builtin"));
        let body =
            self.disk_of(shell).filter(|_| is_known(name) && !skips).and_then(|disk| disk.function(name));
        let Some(body) = body.filter(|body| body.trim_start().starts_with("()")) else { return false };
        let mut defined = shell.clone();
        self.run_script(&mut defined, &format!("{name} {body}"));
        shell.functions = defined.functions;
        shell.functions.contains_key(name)
    }
}
