//! What the kinds of words in patterns mean: a data folder, a file of a database, a number of a process.

use std::path::Path;

use super::Judged;
use crate::files;
use crate::lists::{DATA, OPEN_DEVICES, PACKAGE_FILES, PLAIN_FILES, SPARE, STORES, TEMPORARY_FOLDERS};
use crate::paths::glob;
use crate::paths::word_paths::{normal, text_paths};
use crate::rules::pattern::Kind;
use crate::selection::names::{picks_doubtful, picks_secret};
use opsctl_reader::catalogue::program::{HostWords, Prints};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::Word;

impl Judged<'_> {
    /// Whether a word of the command is of a kind.
    pub(super) fn is(&self, kind: Kind, word: &Word) -> bool {
        let Self { command, machine, .. } = *self;
        match kind {
            Kind::Unknown => word.known().is_none(),
            Kind::Secret => picks_secret(&word.text),
            Kind::Doubtful => picks_doubtful(&word.text),
            Kind::Temporary => {
                // Also where the session's own project is in such a folder, as in a test.
                let is_relative = !word.text.contains(':') && !word.text.starts_with(['/', '~']);
                if is_relative
                    && !word.text.contains("..")
                    && command.cwd.is_some()
                    && command.cwd.as_deref() == self.project
                {
                    return false;
                }
                // A name without a folder is one of a package, unless it ends as a file of one does.
                let text = word.text.strip_prefix("file:").unwrap_or(&word.text);
                let is_file = text.starts_with(['/', '.', '~'])
                    || self.is_remote() && text.contains('.')
                    || PACKAGE_FILES.iter().any(|glob| glob::matches(glob, text));
                let meant = text_paths(text, word.unknown.is_some(), command, machine).paths;
                let is_there = self.is_remote();
                let is_own = |path: &String| {
                    TEMPORARY_FOLDERS.iter().any(|one| glob::matches(one, path))
                        || is_there && files::is_open_on_hosts(path, &self.rules.protect, machine)
                };
                is_file && meant.iter().any(is_own)
            }
            Kind::Input => {
                let names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
                let is_stated = command.stdin.as_ref().is_some_and(|text| text.known().is_some());
                let is_stream = ["/dev/", "/proc/", "<("].iter().any(|start| word.text.starts_with(start));
                if names.contains(&word.text.as_str()) { !is_stated } else { is_stream }
            }
            Kind::Init => {
                let number = word.text.trim_start_matches("0x").trim_start_matches('0');
                number == "1"
                    && !command
                        .via
                        .iter()
                        .rev()
                        .take_while(|via| *via != "ssh")
                        .any(|via| self.runs_inside(via))
            }
            Kind::Listed => word.unknown.as_ref().is_some_and(|unknown| {
                unknown.source.starts_with("$(") && word.text.trim_matches('"') == unknown.source
            }),
            Kind::Pids => word.unknown.as_ref().is_some_and(|unknown| {
                unknown.source.split('|').any(|stage| {
                    let inside = stage.trim_start_matches(['$', '(', '`', ' ']);
                    let program = inside.split_whitespace().next().unwrap_or_default();
                    printed_by(program) == Some(Prints::ProcessIds)
                })
            }),
            Kind::Device => {
                let text = word.text.strip_prefix("of=").unwrap_or(&word.text);
                let read = word.text.starts_with("if=");
                let path = normal(text);
                let is_open = OPEN_DEVICES.iter().any(|glob| glob::matches(glob, &path));
                !read && path.starts_with("/dev/") && !is_open
            }
            Kind::Data => self.is_data(word),
            Kind::Store => {
                let word = if word.text.starts_with("of=") { &word.tail(3) } else { word };
                let path = normal(&word.text);
                let is_store =
                    |one: &&str| glob::matches(one, if one.contains('/') { &path } else { base_name(&path) });
                !word.text.starts_with("if=") && STORES.iter().any(is_store) && self.is_data(word)
            }
            Kind::Contents => (word.text.ends_with("/*") && self.is_data(word)) || self.lists_data(word),
            Kind::Code => {
                files::removed(&word.text).into_iter().any(|path| self.is_data(&Word::literal(path)))
            }
            Kind::Folder => {
                let meant = text_paths(self.path(word), word.unknown.is_some(), command, machine).paths;
                let is_folder = |path: &String| {
                    // In most of these folders, each service has its own folder.
                    let depth = path.split('/').filter(|part| !part.is_empty()).count();
                    let is_file = PLAIN_FILES.iter().any(|one| glob::matches(one, path));
                    !is_file && depth <= 2 + usize::from(path.starts_with("/var/")) || machine.is_folder(path)
                };
                self.is_data(word) && meant.iter().any(is_folder)
            }
        }
    }

    /// Whether a wrapper of this name runs commands in a container or a guest.
    fn runs_inside(&self, name: &str) -> bool {
        let program = self.catalogue.find(name);
        program.is_some_and(|program| {
            program.forms().any(|form| form.runs.is_some_and(|runs| runs.inside && runs.within.is_some()))
        })
    }

    /// The path that a word of a command names, on its host: `/srv` in `nas:/srv`, where it copies between hosts.
    fn path<'w>(&self, word: &'w Word) -> &'w str {
        let program = self.command.words.first().and_then(|word| self.catalogue.find(&word.text));
        let copies = program.is_some_and(|program| program.host_words == Some(HostWords::Remote));
        let path = word.text.split_once(':').filter(|(host, _)| copies && !host.contains('/'));
        path.map_or(&word.text, |(_, path)| path)
    }

    pub(super) fn is_data(&self, word: &Word) -> bool {
        let Self { command, rules, machine, .. } = *self;
        // `$DIR/` and `$DIR/*` are `/` where the variable is empty; `${DIR:?}` cannot be.
        let suffix = word.suffix();
        if word
            .unknown
            .as_ref()
            .is_some_and(|unknown| word.prefix().is_empty() && !unknown.source.contains(":?"))
            && matches!(suffix, "/" | "/*" | "/.*")
            && !word.text.starts_with('~')
            && !word.text.starts_with("$HOME")
        {
            return true;
        }
        // All files of a folder count as the folder.
        let text = self.path(word).trim_end_matches("/*").trim_end_matches("/.*");
        let text = match text {
            "" => "/",
            "*" | ".*" => ".",
            text => text,
        };
        let home = if command.host().is_some() { Some("~".to_owned()) } else { machine.variable("HOME") };
        let meant = text_paths(text, word.unknown.is_some(), command, machine);
        let absolute = |glob: &str| match (glob.strip_prefix('~'), &home) {
            (Some(rest), Some(home)) => Some(format!("{home}{rest}")),
            (Some(_), None) => None,
            (None, _) => Some(glob.to_owned()),
        };
        let is_spare = |path: &String| SPARE.iter().any(|glob| glob::matches(glob, &format!("{path}/")));
        meant.paths.iter().filter(|path| !is_spare(path)).any(|path| {
            // A glob in the path is compared as it stands: `/srv/*/cache` lies in `/srv/**`.
            let may_be = |glob: &str| {
                command.host().is_some() && path.contains(['*', '?', '[']) && glob::overlap(glob, path)
            };
            DATA.iter()
                .filter_map(|glob| absolute(glob))
                .any(|glob| glob::matches(&glob, path) || may_be(&glob))
                || rules.data.iter().filter_map(|glob| absolute(glob)).any(|glob| overlaps(&glob, path))
        })
    }

    /// Whether a word is the output of a program that lists everything in a data folder: `$(find /srv -type f)`.
    fn lists_data(&self, word: &Word) -> bool {
        let Some(unknown) = &word.unknown else { return false };
        let listing = unknown.source.strip_prefix("$(").and_then(|source| source.strip_suffix(')'));
        let mut words = listing.unwrap_or_default().split_whitespace();
        printed_by(words.next().unwrap_or_default()) == Some(Prints::FileNames)
            && !words.clone().any(|word| matches!(word, "-name" | "-iname" | "-path" | "-regex"))
            && words.any(|word| word.starts_with(['/', '~']) && self.is_data(&Word::literal(word)))
    }
}

fn printed_by(program: &str) -> Option<Prints> {
    Catalogue::default().find(program).and_then(|program| program.prints)
}

/// Whether the path is a folder that the glob names, lies below one, or is above one.
fn overlaps(glob: &str, path: &str) -> bool {
    let above = path.trim_end_matches('/').to_owned() + "/";
    glob.starts_with(&above)
        || Path::new(path).ancestors().filter_map(Path::to_str).any(|folder| glob::matches(glob, folder))
}
