//! What commands do to files whose content is known.

use std::rc::Rc;
use std::sync::Arc;

use super::writing::{Written, may_write, overwrites, written_by};
use super::written::{MOST_WRITERS, SHORTEST_NAME, key_on};
use crate::catalogue::program::{How, Stated};
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::execution::output::printed;
use crate::shell::script::Command;
use crate::shell::state::Shell;
use crate::shell::text::{Filter, Unknown, is_known, join};

impl Evaluator {
    /// Adds as unread text what the script wrote to files that a program gets which may run them: those that its words name, and
    /// those in the working directory, where such a program finds its own.
    fn suspect_written(&mut self, shell: &Shell, invocation: &Invocation, command: &Command) {
        let texts = command.texts();
        let usage = self.catalogue.usage(&texts, &|_| false);
        let is_open = usage.as_ref().is_none_or(|usage| {
            let form = usage.form;
            form.runs.is_none()
                && form.does.is_none()
                && usage.program.commands.is_empty()
                && form.effect.is_none_or(|terms| terms.stated == Stated::Unknown)
        });
        let loads = usage.as_ref().is_some_and(|usage| usage.program.loads_folder);
        if !is_open && !loads {
            return;
        }
        let here = shell.cwd.as_ref().map(|cwd| self.key(shell, cwd) + "/");
        let named: Vec<String> = invocation
            .args()
            .flat_map(|field| field.text.split(['=', ',']))
            .filter(|word| word.len() >= SHORTEST_NAME)
            .map(|word| self.key(shell, word))
            .collect();
        // Code is followed with the modules that it loads.
        let runs = usage.as_ref().and_then(|usage| usage.form.runs);
        if runs.is_some_and(|runs| matches!(runs.how, How::Code(_))) {
            return;
        }
        let is_given = |key: &String| {
            named.iter().any(|named| {
                key == named || is_open && key.rsplit_once('/').is_some_and(|(folder, _)| folder == named)
            }) || here
                .as_ref()
                .is_some_and(|here| key.strip_prefix(here.as_str()).is_some_and(|name| !name.contains('/')))
        };
        let found: Vec<(String, String)> = self
            .files
            .iter()
            .filter(|(key, text)| is_given(key) && is_known(text) && self.mentions_action(text))
            .take(MOST_WRITERS)
            .map(|(key, text)| (key.rsplit('/').next().unwrap_or(key).to_owned(), text.clone()))
            .collect();
        for (name, text) in found {
            self.complain(Complaint::Runs(name));
            self.unread(shell, &text);
        }
    }

    /// Stores what a program may make of files that the script wrote, such as an archive, under the other names in its words.
    fn store_made(&mut self, shell: &Shell, invocation: &Invocation, command: &Command, program: &str) {
        if !may_write(command, |_| true, self.catalogue) {
            return;
        }
        let words = invocation.args().map(|field| field.text.as_str());
        let words: Vec<&str> = words.filter(|word| !word.starts_with('-')).take(MOST_WRITERS).collect();
        let (known, other): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| self.file_content(shell, word).is_some());
        let texts: Vec<String> = known.iter().filter_map(|word| self.file_content(shell, word)).collect();
        let text = self.unknowns.sources(&texts.join("\n"));
        if !self.mentions_action(&text) {
            return;
        }
        let ending = names::PACKED_ENDINGS.get(program).and_then(|endings| endings.iter().next());
        let mut made: Vec<String> = other.into_iter().map(str::to_owned).collect();
        made.extend(
            ending.into_iter().flat_map(|ending| known.iter().map(move |word| format!("{word}{ending}"))),
        );
        for path in made {
            let source = format!("$(< {})", self.unknowns.show(&path));
            let made_from = Some(text.clone());
            let mark = self.unknowns.mark(Unknown { source, many: true, made_from, ..Unknown::default() });
            self.store_file(shell, &path, &mark, false);
        }
    }

    /// Forgets the content of files that a command may change in a way that is not followed.
    pub fn forget_changed(
        &mut self,
        shell: &Shell,
        invocation: &Invocation,
        command: &Command,
        program: &str,
    ) {
        let edits = program == "sed" && invocation.args().any(|field| names::EDITING.begin(&field.text));
        if self.files.is_empty() && !edits {
            return;
        }
        if !self.files.is_empty() {
            self.suspect_written(shell, invocation, command);
            if !edits && !names::COPIERS.has(program) {
                self.store_made(shell, invocation, command, program);
            }
        }
        self.doubt_files(shell, invocation, command, program);
        if names::FOLLOWED_WRITERS.get(program).is_some() || names::KEEPERS.has(program) {
            return;
        }
        let mut others: Option<Vec<String>> = None;
        for field in invocation.args() {
            let old = self.files.get(&self.key(shell, &field.text)).cloned();
            let old = old.or_else(|| edits.then(|| self.unchanged(shell, &field.text)).flatten());
            let Some(old) = old.filter(|_| overwrites(command, &field.text, self.catalogue)) else {
                continue;
            };
            let others = others.get_or_insert_with(|| {
                let is_file = |text: &&str| self.files.contains_key(&self.key(shell, text));
                invocation.texts().into_iter().filter(|text| !is_file(text)).map(str::to_owned).collect()
            });
            let words: Vec<String> = others.iter().filter(|text| **text != field.text).cloned().collect();
            let edited = printed::filtered(self, &words, old.clone()).filter(|_| edits);
            let new = edited.unwrap_or_else(|| {
                let source = format!("$(< {})", self.unknowns.show(&field.text));
                let made_from =
                    Some(format!("{}\n{}", join(&invocation.fields), self.unknowns.sources(&old)));
                let filter = edits.then(|| Arc::new(Filter { words, input: old, is_edit: true }));
                self.unknowns.mark(Unknown { source, many: true, made_from, filter, ..Unknown::default() })
            });
            self.store_file(shell, &field.text, &new, false);
        }
    }

    /// A mark for a file on this machine that no command of this text has changed so far.
    fn unchanged(&mut self, shell: &Shell, path: &str) -> Option<String> {
        let absolute =
            self.path_of(shell, path).filter(|absolute| !path.starts_with('-') && !self.changes(absolute));
        absolute.and_then(|absolute| self.file_mark(shell, &absolute))
    }

    /// Doubts the content of files that a command may have changed in a way that is not followed.
    pub fn doubt_files(&mut self, shell: &Shell, invocation: &Invocation, command: &Command, program: &str) {
        let written = written_by(invocation, command, program, self.catalogue);
        self.doubt(shell, &written);
    }

    /// Doubts the content of all files where a shell runs.
    pub fn doubt_all_files(&mut self, shell: &Shell) {
        self.doubt(shell, &Written::Any);
    }

    fn doubt(&mut self, shell: &Shell, written: &Written) {
        let place = key_on(shell, "");
        let written = match written {
            Written::Any => None,
            Written::These(paths) if paths.is_empty() => return,
            Written::These(paths) => {
                Some(paths.iter().map(|path| self.key(shell, path)).collect::<Vec<String>>())
            }
        };
        let is_in = |key: &str, path: &String| {
            key.strip_prefix(path.trim_end_matches('.')).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || path.ends_with(['/', '.', ':'])
            })
        };
        let is_changed = |key: &str| {
            let path = key.strip_prefix(place.as_str());
            path.is_some_and(|path| !path.starts_with("/dev/fd/"))
                && written.as_ref().is_none_or(|written| written.iter().any(|path| is_in(key, path)))
        };
        let keys: Vec<String> = self.files.keys().filter(|key| is_changed(key)).cloned().collect();
        self.spend(keys.len() / 16);
        for key in keys {
            self.doubt_file(key);
        }
    }

    /// Doubts the content of the file with this key.
    pub(super) fn doubt_file(&mut self, key: String) {
        let old = self.files.get(&key).cloned().unwrap_or_default();
        let is_unknown = self
            .unknowns
            .only_mark(&old)
            .is_some_and(|unknown| unknown.is_doubtful || unknown.content.is_some() || unknown.is_foreign);
        if !is_unknown {
            let path = key.split_once(':').map_or(key.as_str(), |(_, path)| path);
            let source = format!("$(< {})", self.unknowns.show(path));
            let made_from = Some(self.unknowns.sources(&old)).filter(|text| !text.is_empty());
            let doubtful = Unknown { source, made_from, many: true, is_doubtful: true, ..Unknown::default() };
            let mark = self.unknowns.mark(doubtful);
            Rc::make_mut(&mut self.files).insert(key, mark + "\n");
        }
    }
}
