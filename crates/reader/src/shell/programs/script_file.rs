//! Scripts that are run by their path, `./x`, in the language that their first line names.

use crate::catalogue::base_name;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
use crate::shell::text::Field;

impl Evaluator {
    /// Follows a script that is run by its path; `None` when the program is not a file whose text is known.
    pub fn run_script_file(&mut self, shell: &Shell, invocation: &Invocation, name: &str) -> Option<String> {
        let is_path =
            name.contains('/') || self.unknowns.only_mark(name).is_some_and(|name| name.found.is_some());
        let path = if is_path { name.to_owned() } else { self.in_own_path(shell, name)? };
        let is_installed = names::INSTALLED.begin(&path);
        if is_installed && self.file_content(shell, &path).is_none() {
            return None;
        }
        let scripts = self.scripts_at(shell, &path);
        let is_on_disk = !scripts.is_empty() && scripts.iter().all(|script| !script.is_written);
        let mut printed = None;
        for script in scripts {
            let label = script.path.clone();
            let mut inner = shell.child().through(&label);
            inner.args = Shared::new(invocation.from(1).to_vec());
            inner.stdin.clone_from(&invocation.stdin);
            let ran = self.through(shell, invocation, label, |this| match interpreter(&script.text) {
                Some(mut fields) => {
                    fields.push(Field::literal(script.path.as_str()));
                    fields.extend(invocation.args().cloned());
                    this.run_program(&inner, &invocation.with(fields))
                }
                None => this.shell_file(shell, inner, &script),
            });
            if is_on_disk {
                self.mark_script();
            }
            printed.get_or_insert_with(String::new).push_str(&ran);
        }
        printed
    }
}

/// The words of the first line `#!…`; `None` without one. `env` is left out, unless it sets a variable.
fn interpreter(text: &str) -> Option<Vec<Field>> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words.first().is_some_and(|first| base_name(first) == "env") && !line.contains('=') {
        words.remove(0);
        words.retain({
            let mut own = true;
            move |word| {
                own &= word.starts_with('-');
                !own
            }
        });
    }
    (!words.is_empty()).then(|| words.into_iter().map(Field::literal).collect())
}
