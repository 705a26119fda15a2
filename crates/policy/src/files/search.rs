//! Files that a command reads because a search finds them: their names are known only when it runs.

use super::access::{Access, Touch};
use crate::catalogue::base_name;
use crate::catalogue::options::{Item, Scanner};
use crate::policy::glob;
use crate::shell::{Command, Word, glob as fits};

/// A name that a search must leave out to be free of secrets where the files that it finds cannot be looked at.
const TYPICAL: &str = ".env";

/// Folders in which no secrets are expected, on any machine.
const HARMLESS: &[&str] = &[
    "/bin/**",
    "/boot/**",
    "/dev/**",
    "/etc/*/**",
    "/lib*/**",
    "/proc/net/**",
    "/proc/sys/**",
    "/run/log/**",
    "/run/systemd/**",
    "/sbin/**",
    "/sys/**",
    "/tmp/**",
    "/usr/**",
    "/var/cache/**",
    "/var/lib/apt/**",
    "/var/lib/dpkg/**",
    "/var/lib/systemd/**",
    "/var/log/**",
    "/var/spool/**",
    "/var/tmp/**",
];

/// Whether no secrets are expected among the files that a search finds. `base` is the folder in full, `secret` are globs.
pub fn is_harmless<'a>(access: &Access, base: &str, mut secret: impl Iterator<Item = &'a str>) -> bool {
    let name = parts(access).1;
    if access.left_out.iter().any(|out| fits(out, TYPICAL)) {
        return true;
    }
    let is_expected = HARMLESS.iter().any(|one| glob::matches(one, base));
    !secret.any(|secret| {
        let (folder, last) = secret.rsplit_once('/').unwrap_or(("", secret));
        let folder = if folder == "**" { "" } else { folder };
        let is_below = folder.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        fits(name, &last.replace('*', "")) && (is_below || (folder.is_empty() && !is_expected))
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
    if last == "**" {
        return certain && (is_within(base, &glob::literal(folder)) || base.is_empty());
    }
    let folder = if folder == "**" { String::new() } else { glob::literal(folder) };
    fits(name, &last.replace('*', "")) && (is_within(&folder, base) || is_within(base, &folder))
}

/// Whether a search for names like this looks for a secret one, such as `.env*` for `.env`.
pub fn asks_for(name: &str, secret: &str) -> bool {
    let core = name.trim_matches(['*', '?']);
    core.len() > 2 && secret.starts_with(core) && fits(name, secret)
}

pub(super) fn search(base: &str, name: &str, deep: bool) -> Access {
    let path = format!("{}/{name}", base.trim_end_matches('/'));
    Access::named(Touch::Search { deep }, path, base.contains(['$', '`']))
}

/// Adds what the program reads whose words are the output of a search: `cat $(find …)`, `find … | xargs cat`.
pub fn printed(word: &Word, into: &mut Vec<Access>) {
    let Some((_, source)) = word.text.split_once("$(").filter(|_| word.unknown.is_some()) else { return };
    let source = source.rsplit_once(')').map_or(source, |(source, _)| source);
    let mut stages = source.split('|').map(|stage| -> Vec<&str> {
        let words = stage.split_whitespace().map(|word| word.trim_matches(['\'', '"', '(', ')']));
        words.filter(|word| !word.is_empty()).collect()
    });
    let Some(texts) = stages.next() else { return };
    let before = into.len();
    found(&texts, into);
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
fn found(texts: &[&str], into: &mut Vec<Access>) {
    match base_name(texts.first().copied().unwrap_or_default()) {
        "find" | "gfind" | "bfs" => find(texts, into),
        "fd" | "fdfind" => {
            let words = positionals(texts);
            let hidden =
                texts.iter().any(|text| matches!(*text, "-H" | "-u" | "--hidden" | "--unrestricted"));
            let name = words
                .first()
                .map_or("*".to_owned(), |name| format!("*{}*", name.trim_matches(['^', '$', '\\'])));
            into.extend(hidden.then(|| search(words.get(1).copied().unwrap_or("."), &name, true)));
        }
        "locate" | "plocate" | "mlocate" => {
            into.extend(positionals(texts).iter().map(|name| search("/", &format!("*{name}*"), true)));
        }
        "ls" => {
            let words = positionals(texts);
            let all = texts.iter().any(|text| {
                matches!(*text, "--all" | "--almost-all")
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains(['a', 'A']))
            });
            if all && words.is_empty() {
                into.push(search(".", "*", false));
            }
            into.extend(words.iter().filter(|_| all).map(|word| search(word, "*", false)));
            into.extend(words.iter().map(|word| read(word)));
        }
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "git" => texts_search(texts, true, into),
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
fn find(texts: &[&str], into: &mut Vec<Access>) {
    let mut words =
        texts.iter().skip(1).copied().skip_while(|text| matches!(*text, "-L" | "-H" | "-P")).peekable();
    let mut places = Vec::new();
    while let Some(place) = words.next_if(|text| !text.starts_with(['-', '(', '!', '\\'])) {
        places.push(place);
    }
    if places.is_empty() {
        places.push(".");
    }
    let rest: Vec<&str> = words.collect();
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for (at, pair) in rest.windows(2).enumerate() {
        let [test, value] = pair else { continue };
        let negated = at
            .checked_sub(1)
            .and_then(|at| rest.get(at))
            .is_some_and(|text| matches!(*text, "!" | "-not" | "\\!"));
        let name = value.rsplit('/').next().unwrap_or(value);
        match *test {
            "-type" if *value == "d" => return,
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" if negated => {
                left_out.push(name.to_owned());
            }
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" => names.push(name),
            _ => {}
        }
    }
    if names.is_empty() {
        names.push("*");
    }
    let searches = places.iter().flat_map(|place| names.iter().map(|name| search(place, name, true)));
    into.extend(searches.map(|access| Access { left_out: left_out.clone(), ..access }));
}

/// Options of programs that search texts which take a value.
const VALUED: &[&str] = &[
    "-e",
    "--regexp",
    "-f",
    "--file",
    "-m",
    "--max-count",
    "-A",
    "-B",
    "-C",
    "--context",
    "--after-context",
    "--before-context",
    "-d",
    "--directories",
    "-D",
    "-g",
    "--glob",
    "--iglob",
    "-t",
    "--type",
    "--include",
    "--exclude",
    "--exclude-dir",
    "-j",
    "--threads",
    "-M",
    "--max-columns",
    "--color",
    "--colour",
    "--sort",
];

/// The files that `grep -r` and its kin search; `lists` where the names that they print are read.
pub fn texts_search(texts: &[&str], lists: bool, into: &mut Vec<Access>) {
    let program = base_name(texts.first().copied().unwrap_or_default());
    let skips_hidden = matches!(program, "rg" | "ag" | "ack" | "ugrep" | "ug" | "rga");
    let (mut deep, mut prints, mut has_pattern) = (program == "rgrep", true, false);
    let (mut words, mut names, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    // `git grep` has a verb.
    let first = if program == "git" { 2 } else { 1 };
    for item in Scanner::new(texts, first, VALUED) {
        let (name, value) = match item {
            Item::Positional(index) => {
                words.extend(texts.get(index).copied());
                continue;
            }
            Item::Option(name, at) => (name, at.and_then(|at| texts.get(at.index)?.get(at.offset..))),
            Item::Dashes(_) => continue,
        };
        has_pattern |= name.is_any(&["-e", "-f", "--regexp", "--file"]);
        prints &= !name.is_any(&[
            "-l",
            "-L",
            "-c",
            "-q",
            "--files-with-matches",
            "--files-without-match",
            "--count",
            "--quiet",
            "--silent",
            "--files",
        ]);
        deep |= match program {
            "git" => name.is("--no-index"),
            _ if skips_hidden => name.is_any(&["-u", "-.", "--hidden", "--unrestricted"]),
            _ => {
                name.is_any(&["-r", "-R", "--recursive", "--dereference-recursive"])
                    || value == Some("recurse")
            }
        };
        match value {
            Some(value) if name.is("--exclude") => left_out.push(value.to_owned()),
            Some(value) if name.is_any(&["--include", "-g", "--glob", "--iglob"]) => {
                match value.strip_prefix('!') {
                    Some(name) => left_out.push(name.to_owned()),
                    None => names.push(value.to_owned()),
                }
            }
            Some(value) if skips_hidden && name.is_any(&["-t", "--type"]) => names.push(format!("*.{value}")),
            _ => {}
        }
    }
    if !deep || prints == lists {
        return;
    }
    let mut places = words.get(usize::from(!has_pattern)..).unwrap_or_default().to_vec();
    if places.is_empty() {
        places.push(".");
    }
    if names.is_empty() {
        names.push("*".to_owned());
    }
    let searches = places.iter().flat_map(|place| names.iter().map(|name| search(place, name, true)));
    into.extend(searches.map(|access| Access { left_out: left_out.clone(), ..access }));
}

/// The files below the folders that an archiver packs to its standard output.
pub fn packed(command: &Command, texts: &[&str], into: &mut Vec<Access>) {
    let packs = texts.iter().skip(1).take(1).any(|mode| mode.contains('c')) || texts.contains(&"--create");
    if packs {
        let excluded = texts.iter().filter_map(|text| text.strip_prefix("--exclude="));
        let left_out: Vec<String> = excluded.map(str::to_owned).collect();
        let words = command.words.iter().skip(2).map(|word| word.text.as_str());
        let searches = words.filter(|text| !text.starts_with('-')).map(|text| search(text, "*", true));
        into.extend(searches.map(|access| Access { left_out: left_out.clone(), ..access }));
    }
}
