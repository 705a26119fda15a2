//! Files that a command reads because a search finds them: their names are known only when it runs.

use super::access::{Access, Touch};
use crate::lists::HARMLESS_FOLDERS;
use crate::paths::glob;
use opsctl_reader::catalogue::expression::Expression;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::{FileHow, How, Role};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Word, glob as fits};

/// A name that a search must leave out to be free of secrets where the files that it finds cannot be looked at.
const TYPICAL: &str = ".env";

/// Whether no secrets are expected among the files that a search finds. `base` is the folder in full, `secret` are globs.
pub fn is_harmless<'a>(access: &Access, base: &str, mut secret: impl Iterator<Item = &'a str>) -> bool {
    let name = parts(access).1;
    // Then only files at a place of their own are secret, such as `/etc/shadow`.
    let is_left_out = access.left_out.iter().any(|out| fits(out, TYPICAL));
    let is_expected = HARMLESS_FOLDERS.iter().any(|one| glob::matches(one, base));
    !secret.any(|secret| {
        let (folder, last) = secret.rsplit_once('/').unwrap_or(("", secret));
        let folder = if folder == "**" { "" } else { folder };
        let is_below = folder.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        fits(name, &last.replace('*', ""))
            && (is_below || (folder.is_empty() && !is_expected && !is_left_out))
    })
}

/// The folder and the names that a search is limited to.
pub fn parts(access: &Access) -> (&str, &str) {
    let (base, name) = access.path.rsplit_once('/').unwrap_or((".", &access.path));
    (if base.is_empty() { "/" } else { base }, name)
}

/// Whether a search below `base` for names like `name` may find a file of this glob. The folder in which a glob begins is meant only
/// where the search begins in it or at the root, and what it finds is certainly written: a project contains folders that are guarded as a
/// whole.
pub fn may_find(base: &str, name: &str, guarded: &str, certain: bool) -> bool {
    let is_within = |path: &str, folder: &str| {
        folder.is_empty()
            || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let base = base.trim_end_matches('/');
    let (folder, last) = guarded.rsplit_once('/').unwrap_or(("", guarded));
    // Of a home, only a search in its hidden folders.
    if guarded.ends_with("/.*/**") || guarded.contains("/*/bin/**") {
        return certain && glob::matches(guarded, base);
    }
    if last == "**" {
        return certain && (is_within(base, &glob::literal(folder)) || base.is_empty());
    }
    let folder = if folder == "**" { String::new() } else { glob::literal(folder) };
    fits(name, &last.replace('*', "")) && (is_within(&folder, base) || is_within(base, &folder))
}

/// Whether a glob of the shell, which only another machine can resolve, may match a file of this rule.
///
/// Where a file is `written`, a glob may stand for each folder that it fits.
pub fn may_match(word: &str, guarded: &str, written: bool) -> bool {
    let names = |text: &str| text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if !written && may_read(word, guarded) {
        return true;
    }
    let is_anywhere = guarded.starts_with("**/");
    // Of a folder as a whole, the beginning of the word names it.
    let folder = guarded.strip_suffix("/**").filter(|_| !is_anywhere);
    let (mut word, rule): (Vec<String>, Vec<String>) =
        (names(word), names(folder.unwrap_or(guarded).trim_start_matches("**/")));
    if folder.is_some() {
        word.truncate(rule.len());
    }
    let Some(start) = word.len().checked_sub(rule.len()).filter(|start| is_anywhere || *start == 0) else {
        return false;
    };
    // A glob matches no hidden name, unless it states the dot. Of files anywhere and of folders, it must ask for this one: `*.conf` and
    // `/etc/*/x` do not.
    let is_glob = |text: &str| text.contains(['*', '?', '[']);
    // The name of the file is written out, and only its folder is a glob.
    let is_named = word.last().zip(rule.last()).is_some_and(|(last, name)| !is_glob(last) && !is_glob(name));
    let is_vague = word.iter().any(|name| name == "*");
    let fits_name = |(glob, name): (&String, &String)| {
        if written && folder.is_some() {
            return glob.starts_with('.') == name.starts_with('.') && glob::overlap(name, glob);
        }
        if !is_glob(glob) && is_glob(name) {
            return fits(name, glob) && !(is_vague && name.starts_with('*'));
        }
        let name = name.replace('*', "");
        let is_hidden = name.starts_with('.');
        let is_meant = *glob == name || is_named || asks_for(glob, &name);
        fits(glob, &name)
            && glob.starts_with('.') == is_hidden
            && (is_hidden || is_meant || !is_anywhere && folder.is_none())
    };
    !rule.iter().any(|name| name == "**") && word.iter().skip(start).zip(&rule).all(fits_name)
}

/// Whether a glob finds a secret by a part of its folder: `/run/s*/*` for `/run/secrets/**`, `/root/.kube/*` for `**/.kube/config`.
///
/// A folder is found by a letter, by its dot, or where any folder and any file in it are read, as in `/run/*/*`.
fn may_read(word: &str, guarded: &str) -> bool {
    let names = |text: &str| text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let is_glob = |text: &str| text.contains(['*', '?', '[']);
    let is_any = |text: &str| !text.contains(|c: char| c.is_ascii_alphanumeric());
    let (within, is_folder) = guarded.strip_suffix("/**").map_or((guarded, false), |folder| (folder, true));
    let is_anywhere = within.starts_with("**/");
    let (word, rule): (Vec<String>, Vec<String>) = (names(word), names(within.trim_start_matches("**/")));
    let is_hidden = rule.first().is_some_and(|name| name.starts_with('.'));
    // Of files, only those of a hidden folder, such as `.kube/config`; other rules name their file.
    let is_file = !is_folder && is_anywhere && rule.len() > 1;
    if rule.is_empty()
        || rule.iter().any(|name| name == "**")
        || is_anywhere && !is_hidden
        || !is_folder && !is_file
    {
        return false;
    }
    let last = if is_anywhere { word.len() } else { 0 };
    (0..=last).any(|start| {
        let behind = word.iter().skip(start + rule.len());
        let is_rest = match behind.clone().last() {
            Some(name) => is_folder && is_glob(name),
            None => is_file && word.len() == start + rule.len(),
        };
        let reads_all = behind.clone().all(|name| is_any(name));
        let finds = |(glob, name): (&String, &String)| {
            let is_found = !is_any(glob) || glob.starts_with('.') || reads_all && (is_file || !is_glob(name));
            glob == name
                || glob.starts_with('.') == name.starts_with('.')
                    && fits(glob, &name.replace('*', ""))
                    && is_found
        };
        is_rest && word.iter().skip(start).zip(&rule).all(finds)
    })
}

/// Whether a search for names like this looks for a secret one, such as `.env*` for `.env`.
pub fn asks_for(name: &str, secret: &str) -> bool {
    let core = name.trim_start_matches(['*', '?']).split(['*', '?', '[']).next().unwrap_or_default();
    core.len() > 2 && secret.starts_with(core) && fits(name, secret)
}

/// What a tool of the client reads that searches the files of a glob below a folder: `*.{ts,js}`, `src/**/*.py`.
pub fn searched(folder: &str, glob: &str) -> Vec<Access> {
    let name = glob.rsplit('/').next().unwrap_or(glob);
    let name = if name.is_empty() || name.starts_with('!') { "*" } else { name };
    let within = name.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match within {
        None => vec![search(folder, name, true)],
        Some((head, (names, tail))) => {
            names.split(',').map(|name| search(folder, &format!("{head}{name}{tail}"), true)).collect()
        }
    }
}

pub(super) fn search(base: &str, name: &str, deep: bool) -> Access {
    let path = format!("{}/{name}", base.trim_end_matches('/'));
    Access::named(Touch::Search { deep }, path, base.contains(['$', '`']))
}

/// Adds what the program reads whose words are the output of a search: `cat $(find …)`, `find … | xargs cat`.
pub fn printed(word: &Word, catalogue: Catalogue, into: &mut Vec<Access>) {
    let Some((_, source)) = word.text.split_once("$(").filter(|_| word.unknown.is_some()) else { return };
    let (source, tail) = source.rsplit_once(')').unwrap_or((source, ""));
    let mut stages = source.split('|').map(|stage| -> Vec<&str> {
        let words = stage.split_whitespace().map(|word| word.trim_matches(['\'', '"', '(', ')']));
        words.filter(|word| !word.is_empty()).collect()
    });
    let Some(texts) = stages.next() else { return };
    let before = into.len();
    found(&texts, catalogue, into);
    // `$(find … -type d)/key` is a file of any folder below.
    if let Some((_, name)) = tail.rsplit_once('/') {
        let places = catalogue.usage(&texts, &|_| false).map(|usage| usage.expression(&texts).places);
        let folders = places.into_iter().flatten().filter_map(|at| texts.get(at).copied()).map(str::to_owned);
        let listed = into.iter().skip(before).map(|access| match access.touch {
            Touch::Search { .. } => parts(access).0.to_owned(),
            _ => access.path.clone(),
        });
        let folders: Vec<String> = folders.chain(listed).collect();
        into.extend(folders.iter().map(|folder| search(folder, name, true)));
    }
    for filter in stages.filter_map(|stage| filter(&stage)) {
        let found = into.len();
        for at in before..found {
            let Some(access) = into.get_mut(at).filter(|access| matches!(access.touch, Touch::Search { .. }))
            else {
                continue;
            };
            let folder = parts(access).0.to_owned();
            match &filter {
                Filter::LeavesOut(name) => access.left_out.push(name.clone()),
                Filter::Keeps(name) if parts(access).1 == "*" => access.path = format!("{folder}/{name}"),
                Filter::Keeps(_) => {}
            }
            // The folder may be secret as a whole.
            into.push(read(&folder));
        }
    }
}

/// Adds the files whose names a command prints.
fn found(texts: &[&str], catalogue: Catalogue, into: &mut Vec<Access>) {
    let Some(usage) = catalogue.usage(texts, &|_| false) else {
        return into.extend(positionals(texts).iter().map(|word| read(word)));
    };
    let given = usage.operands(texts);
    let words: Vec<&str> = given.words().collect();
    match (usage.form.runs.map(|runs| runs.how), base_name(texts.first().copied().unwrap_or_default())) {
        (Some(How::Find), _) => find(&usage.expression(texts), texts, into),
        (Some(How::Fd), _) => {
            let name = words
                .first()
                .map_or("*".to_owned(), |name| format!("*{}*", name.trim_matches(['^', '$', '\\'])));
            let folder = words.get(1).copied().unwrap_or(".");
            let mut found = search(folder, &name, true);
            // Without these options, it leaves out what is hidden.
            found.left_out.extend((!given.has(Role::Recursive)).then(|| ".*".to_owned()));
            into.push(found);
        }
        (_, "locate" | "plocate" | "mlocate") => {
            into.extend(words.iter().map(|name| search("/", &format!("*{name}*"), true)));
        }
        (_, "ls") => {
            let all = given.has(Role::Hidden);
            let folders: &[&str] = if words.is_empty() { &["."] } else { &words };
            for folder in folders {
                let mut found = search(folder, "*", given.has(Role::Recursive));
                found.left_out.extend((!all).then(|| ".*".to_owned()));
                into.push(found);
            }
            into.extend(words.iter().map(|word| read(word)));
        }
        (_, "du" | "tree") => into.extend(words.iter().map(|word| search(word, "*", true))),
        _ if matches!(usage.files().how, Some(FileHow::TextSearch | FileHow::FolderSearch)) => {
            texts_search(&usage, &given, true, into);
        }
        _ => into.extend(positionals(texts).iter().map(|word| read(word))),
    }
}

fn read(path: &str) -> Access {
    Access::named(Touch::Read, path.to_owned(), path.contains(['$', '`']))
}

/// The words that are no options.
fn positionals<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    texts.iter().skip(1).filter(|text| !text.starts_with('-')).copied().collect()
}

/// How a filter limits the names of a list, as globs.
enum Filter {
    LeavesOut(String),
    Keeps(String),
}

/// What a filter does to a list of names: `grep '\.yml$'`, `grep -v '\.env'`.
fn filter(texts: &[&str]) -> Option<Filter> {
    let core = positionals(texts).first()?.replace('\\', "");
    let is_end = core.ends_with('$');
    let core = core.trim_matches(['^', '$']);
    let is_plain = core.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if texts.first() != Some(&"grep") || !is_plain || core.is_empty() {
        return None;
    }
    if texts.iter().any(|text| text.starts_with('-') && text.contains('v')) {
        return Some(Filter::LeavesOut(format!("*{core}*")));
    }
    (is_end && core.starts_with('.')).then(|| Filter::Keeps(format!("*{core}")))
}

/// The files that `find` finds.
fn find(expression: &Expression<'_>, texts: &[&str], into: &mut Vec<Access>) {
    if expression.tests.contains(&("-type", "d")) {
        return;
    }
    let places = expression.places.iter().filter_map(|at| texts.get(*at).copied()).collect();
    let named = |negated: bool| {
        let names = expression.names.iter().filter(move |name| name.negated == negated);
        names.map(|name| name.glob.rsplit('/').next().unwrap_or(name.glob).to_owned())
    };
    // `-iname` finds names in any case.
    let mut wanted: Vec<String> = named(false).collect();
    let lower: Vec<String> =
        wanted.iter().map(|name| name.to_lowercase()).filter(|name| !wanted.contains(name)).collect();
    wanted.extend(lower);
    searches(places, wanted, &named(true).collect::<Vec<_>>(), into);
}

/// Adds the searches below folders, by default the working directory, for names, by default any.
fn searches(mut places: Vec<&str>, mut names: Vec<String>, left_out: &[String], into: &mut Vec<Access>) {
    if places.is_empty() {
        places.push(".");
    }
    if names.is_empty() {
        names.push("*".to_owned());
    }
    let searches = places.iter().flat_map(|place| names.iter().map(|name| search(place, name, true)));
    into.extend(searches.map(|access| Access { left_out: left_out.to_vec(), ..access }));
}

/// The files that `grep -r` and similar programs search; `lists` where the names that they print are read.
pub fn texts_search(usage: &Usage, given: &Operands<'_>, lists: bool, into: &mut Vec<Access>) {
    let descends = usage.files().how == Some(FileHow::FolderSearch);
    let hidden = given.has(Role::Recursive);
    if !(hidden || descends) || given.has(Role::NamesOnly) != lists {
        return;
    }
    let first_is_file = usage.files().first_is_file;
    let has_pattern = given.options.iter().any(|(name, _)| name.is_any(&first_is_file));
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    left_out.extend(given.values(Role::Excludes).map(str::to_owned));
    for glob in given.values(Role::Includes) {
        match glob.strip_prefix('!') {
            Some(name) => left_out.push(name.to_owned()),
            None => names.push(glob.to_owned()),
        }
    }
    names.extend(given.values(Role::Endings).map(|ending| format!("*.{ending}")));
    let mut places: Vec<&str> = given.words().skip(usize::from(!has_pattern)).collect();
    if !hidden {
        // Without a folder it searches standard input, if there is one.
        places.retain(|place| may_be_folder(place));
        if places.is_empty() {
            return;
        }
        left_out.push(".*".to_owned());
    }
    searches(places, names, &left_out, into);
}

/// The files that `grep` and similar programs search. A pattern may be several words, of which all but one are files.
pub fn texts(command: &Command, usage: &Usage, given: &Operands<'_>, into: &mut Vec<Access>) {
    texts_search(usage, given, false, into);
    let pattern = given.words.first().and_then(|index| command.words.get(*index));
    let open = pattern.filter(|word| word.may_be_several());
    into.extend(open.map(|word| Access::new(Touch::Read, word)));
}

/// Whether a name may be one of a folder: it has no ending, or that of a folder with parts of a configuration.
fn may_be_folder(place: &str) -> bool {
    let name = place.trim_end_matches('/').rsplit('/').next().unwrap_or(place);
    place.ends_with('/') || !name.trim_start_matches('.').contains('.') || fits("*.d", name)
}

/// The files below the folders that an archiver packs to its standard output.
pub fn packed(given: &Operands<'_>, into: &mut Vec<Access>) {
    if given.has(Role::Packs) {
        let left_out: Vec<String> = given.values(Role::Excludes).map(str::to_owned).collect();
        let searches = given.words().map(|text| search(text, "*", true));
        into.extend(searches.map(|access| Access { left_out: left_out.clone(), ..access }));
    }
}
