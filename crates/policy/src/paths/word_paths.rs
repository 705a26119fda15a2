//! The files that a word of a command refers to.

use super::computed;
use opsctl_reader::path::{above_home, fold};
use opsctl_reader::shell::{Command, Word};

/// The agent's machine: variables, links and globs. The rules query it and open nothing themselves. Where links
/// lead and what a glob matches, each machine states.
pub trait LocalMachine {
    /// Begins a new question: what may be looked at for it is limited.
    fn begin(&self) {}
    /// The value of a variable of the agent's shell.
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    /// The path with links and `..` resolved as far as it exists; `None` if it cannot be resolved.
    fn canonical(&self, path: &str) -> Option<String>;
    /// The files that a glob matches now; `None` if there are too many.
    fn expand(&self, glob: &str) -> Option<Vec<String>>;
    /// The files below a folder, as far as they can be looked at; `None` when nothing of it can.
    fn below(&self, _folder: &str, _deep: bool) -> Option<Vec<String>> {
        None
    }
    /// Whether it is a host itself, to which the rules about other machines apply.
    fn is_host(&self) -> bool {
        false
    }
    /// Whether there is a folder.
    fn is_folder(&self, _path: &str) -> bool {
        false
    }
}

/// An unknown machine, such as a remote one.
#[derive(Debug, Clone, Copy)]
pub struct UnknownMachine;

impl LocalMachine for UnknownMachine {
    fn canonical(&self, _: &str) -> Option<String> {
        None
    }

    fn expand(&self, _: &str) -> Option<Vec<String>> {
        Some(vec![])
    }
}

/// The files that a word may refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordPaths {
    /// Absolute paths: as written, and with links resolved.
    pub paths: Vec<String>,
    /// The end of a path with an unknown beginning, from a `/` on.
    pub end: Option<String>,
    /// The word is a glob that matches too many files.
    pub too_many: bool,
}

/// Resolves a word of a command.
pub fn word_paths(word: &Word, command: &Command, machine: &dyn LocalMachine) -> WordPaths {
    text_paths(&word.text, word.unknown.is_some(), command, machine)
}

/// Resolves `text`; unknown parts match any path.
pub fn text_paths(text: &str, unknown: bool, command: &Command, machine: &dyn LocalMachine) -> WordPaths {
    let remote = command.host().is_some();
    let written = text.strip_prefix("file://").unwrap_or(text);
    if !command.missed.is_empty() && !written.starts_with(['/', '~']) {
        return everywhere(text, unknown, command, machine);
    }
    let stand_ins = |written: &str| {
        let is_below = remote && !computed::names_own_files(written, command);
        let paths = if is_below { computed::stand_ins(written, command.cwd.as_deref()) } else { None };
        paths.into_iter().flatten().map(|path| normal(&path)).collect()
    };
    // `cd $X/etc && tee passwd`: the folder is as unknown as a path would be.
    if let Some(cwd) = command.cwd.as_deref().filter(|cwd| cwd.starts_with('$') && !cwd.starts_with("$("))
        && !written.starts_with(['/', '~', '$', '`'])
    {
        let below = Command { cwd: None, ..command.clone() };
        return text_paths(&format!("{cwd}/{written}"), true, &below, machine);
    }
    let cwd = command.cwd.as_deref().filter(|cwd| cwd.starts_with('/') || (remote && cwd.starts_with('~')));
    let (text, whole) = if unknown || written.starts_with('~') {
        filled(written, remote, cwd, machine)
    } else {
        (written.to_owned(), true)
    };
    if !whole {
        let mut meant = WordPaths { end: known_end(&text), paths: stand_ins(written), too_many: false };
        meant.paths.extend(above_home(written).unwrap_or_default());
        // The folders of any process: `/proc/$$/root/etc`.
        if text.starts_with("/proc/\u{1}") {
            let path = normal(&text.replace('\u{1}', "0"));
            meant.paths.extend(behind_process(&path));
            meant.paths.push(path);
        }
        for reading in readings(&text, written) {
            let other = text_paths(&reading, false, command, machine);
            meant.paths.extend(other.paths);
            meant.too_many |= other.too_many;
        }
        return meant;
    }
    let is_whole = text.starts_with('/') || (remote && text.starts_with('~')) || above_home(&text).is_some();
    let path = match (is_whole, cwd) {
        (true, _) => text,
        (false, Some(cwd)) => format!("{cwd}/{text}"),
        // A path below an unknown folder.
        (false, None) => {
            let end = Some(normal(&format!("/{text}")));
            return WordPaths { end, paths: stand_ins(written), too_many: false };
        }
    };
    let mut paths = above_home(&path).unwrap_or_else(|| vec![normal(&path)]);
    paths.extend(paths.first().and_then(|path| behind_process(path)));
    if !remote {
        if path.contains(['*', '?', '[']) {
            match machine.expand(&path) {
                Some(found) => paths.extend(found),
                None => return WordPaths { paths, end: None, too_many: true },
            }
        }
        for at in 0..paths.len() {
            let path = paths.get(at).filter(|path| !is_own_descriptor(path));
            let real = path.and_then(|path| machine.canonical(path));
            paths.extend(real);
        }
        // `..` after a link leads to another folder than the text suggests.
        paths.extend(path.contains("..").then(|| machine.canonical(&path)).flatten());
        paths.dedup();
    }
    let end = paths.first().and_then(|path| end_behind_link(path));
    WordPaths { paths, end, too_many: false }
}

/// Resolves a relative path in each folder in which the command may run.
fn everywhere(text: &str, unknown: bool, command: &Command, machine: &dyn LocalMachine) -> WordPaths {
    let within = |cwd: &Option<String>| Command { cwd: cwd.clone(), ..command.settled() };
    let mut found = text_paths(text, unknown, &within(&command.cwd), machine);
    for folder in command.missed.iter() {
        let other = text_paths(text, unknown, &within(folder), machine);
        found.paths.extend(other.paths);
        found.end = found.end.or(other.end);
        found.too_many |= other.too_many;
    }
    found
}

/// The path that `/proc/PID/root` leads to, from the root of that process.
fn behind_process(path: &str) -> Option<String> {
    let (process, rest) = path.strip_prefix("/proc/")?.split_once("/root/")?;
    let is_process = process.split('/').all(|part| {
        part == "task" || part == "self" || part == "thread-self" || part.chars().all(|c| c.is_ascii_digit())
    });
    is_process.then(|| normal(&format!("/{rest}")))
}

/// What follows in a path behind a folder that a process has chosen: `/proc/1/cwd`, `/dev/fd/3`, `/proc/1/fd/3`.
fn end_behind_link(path: &str) -> Option<String> {
    let mut names = path.strip_prefix('/')?.split('/').peekable();
    let is_process = match names.next()? {
        "dev" => names.next()? == "fd",
        "proc" => {
            names.next()?;
            if names.peek() == Some(&"task") {
                names.nth(1)?;
            }
            match names.next()? {
                "cwd" => return rest_of(names),
                link => link == "fd",
            }
        }
        _ => false,
    };
    is_process.then(|| names.next()).flatten()?;
    rest_of(names)
}

/// The other names as the end of a path.
fn rest_of<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let rest: Vec<&str> = names.collect();
    (!rest.is_empty()).then(|| format!("/{}", rest.join("/")))
}

/// The text with `~` and known variables expanded, and whether all of them were known.
fn filled(text: &str, remote: bool, cwd: Option<&str>, machine: &dyn LocalMachine) -> (String, bool) {
    let home = || if remote { Some("~".to_owned()) } else { machine.variable("HOME") };
    let value = |name: &str| match name {
        "HOME" => home(),
        "PWD" => cwd.map(str::to_owned),
        _ if remote => None,
        _ => machine.variable(name),
    };
    let mut out = String::new();
    let mut whole = true;
    let mut rest = text;
    // The home of another user.
    if let Some((user, after)) =
        text.strip_prefix('~').map(|named| named.split_once('/').unwrap_or((named, "")))
        && user.starts_with(|c: char| c.is_ascii_alphabetic())
        && user.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    {
        out.push_str(&if user == "root" { "/root".to_owned() } else { format!("/home/{user}") });
        if text.contains('/') {
            out.push('/');
        }
        rest = after;
    }
    if let Some(after) = text.strip_prefix('~')
        && (after.is_empty() || after.starts_with('/'))
        && let Some(home) = home()
    {
        out.push_str(&home);
        rest = after;
    }
    let last_bracket = text.rfind([')', '`']);
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // The name, what follows it in braces, and the text behind.
        let (name, operation, tail) = if let Some(inside) = after.strip_prefix('{') {
            let (body, tail) = inside.split_once('}').unwrap_or((inside, ""));
            let (name, operation) = body.split_at(body.find(|c| !is_name(c)).unwrap_or(body.len()));
            (name, operation, tail)
        } else {
            // `$1x` is the first parameter and `x`.
            let is_special = after.starts_with(|c: char| c.is_ascii_digit() || "@*#?!-$".contains(c));
            let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
            let (name, tail) = after.split_at(if is_special { 1 } else { end });
            (name, "", tail)
        };
        if let Some(other) = operation.strip_prefix(":+").or_else(|| operation.strip_prefix('+')) {
            // `${HOME:+x}` is `x` if HOME is set.
            out.push_str(other);
            rest = tail;
            continue;
        }
        // `${HOME:?}` and `${HOME:-x}` are HOME if it is set; all other operations change the value.
        if !operation.trim_start_matches(':').starts_with(['-', '=', '?']) && !operation.is_empty() {
            whole = false;
            out.push('\u{1}');
            // `${HOME/*/x}` ends with the replacement.
            let replacement =
                operation.strip_prefix('/').and_then(|rest| rest.trim_start_matches('/').split_once('/'));
            out.push_str(replacement.map_or("", |(_, replacement)| replacement));
            rest = tail;
            continue;
        }
        if let Some(value) =
            value(name).filter(|_| !name.is_empty() && rest.as_bytes().get(at) == Some(&b'$'))
        {
            out.push_str(&value);
            rest = tail;
        } else {
            whole = false;
            out.push('\u{1}');
            // `$(…)` is unknown up to its closing bracket.
            let begin = text.len() - after.len();
            let end =
                last_bracket.filter(|end| *end >= begin).map(|end| text.get(end + 1..).unwrap_or_default());
            rest = end.unwrap_or(tail);
        }
    }
    out.push_str(rest);
    (out, whole)
}

/// The text with nothing in place of its unknown parts.
pub fn without_variables(text: &str) -> String {
    filled(text, true, None, &UnknownMachine).0.replace('\u{1}', "")
}

/// What else a text with unknown parts is read as: a variable may be empty, and what a command prints may be any name.
fn readings(text: &str, written: &str) -> Vec<String> {
    let without = text.replace('\u{1}', "");
    if without.is_empty() || text.starts_with('\u{1}') && without.starts_with('/') {
        return vec![];
    }
    let is_printed = written.contains(['(', '`', '<']) && !text.starts_with('\u{1}');
    let any = is_printed.then(|| text.replace('\u{1}', "*"));
    std::iter::once(without).chain(any).collect()
}

/// The text after the last unknown part, from a `/` on.
fn known_end(text: &str) -> Option<String> {
    let end = text.rsplit('\u{1}').next().unwrap_or_default();
    let slash = end.find('/')?;
    end.get(slash..).filter(|end| end.len() > 1).map(normal)
}

/// The path without `.`, `..`, doubled and trailing slashes.
pub fn normal(path: &str) -> String {
    let names = fold("", path).join("/");
    if path.starts_with('~') && names.starts_with('~') { names } else { format!("/{names}") }
}

/// Whether the path names a descriptor of the process that opens it. What it leads to is decided by the redirections of the
/// command, and differs from what it leads to in this process.
fn is_own_descriptor(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
        || ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"]
            .iter()
            .any(|folder| path.starts_with(folder))
}
