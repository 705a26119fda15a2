//! Which file a word of a command means.

use crate::path::fold;
use crate::shell::{Command, Word};

/// What is known of the machine where the agent runs. The rules ask; they open nothing themselves.
pub trait LocalMachine {
    /// A variable of the agent's shell.
    fn variable(&self, name: &str) -> Option<String>;
    /// The path with links and `..` resolved as far as it exists; `None` when nothing of it can be looked at.
    fn canonical(&self, path: &str) -> Option<String>;
    /// The files that a glob means now; `None` when there are more than can be looked at.
    fn expand(&self, glob: &str) -> Option<Vec<String>>;
    /// The files below a folder, as far as they can be looked at; `None` when nothing of it can.
    fn below(&self, folder: &str, deep: bool) -> Option<Vec<String>>;
    /// Whether there is a folder.
    fn is_folder(&self, path: &str) -> bool;
}

/// A machine of which nothing is known, such as a remote one.
#[derive(Debug, Clone, Copy)]
pub struct UnknownMachine;

impl LocalMachine for UnknownMachine {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn canonical(&self, _: &str) -> Option<String> {
        None
    }

    fn expand(&self, _: &str) -> Option<Vec<String>> {
        Some(vec![])
    }

    fn below(&self, _: &str, _: bool) -> Option<Vec<String>> {
        None
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }
}

/// The files that a word may mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordPaths {
    /// Absolute paths: as it is written, and with links resolved.
    pub paths: Vec<String>,
    /// The end of a path of which the beginning is not known, from a `/` on.
    pub end: Option<String>,
    /// It is a glob that means more files than can be looked at.
    pub too_many: bool,
}

/// The files that a word of a command may mean.
pub fn word_paths(word: &Word, command: &Command, machine: &dyn LocalMachine) -> WordPaths {
    text_paths(&word.text, word.unknown.is_some(), command, machine)
}

/// The same for a text, some of which may not be known.
pub fn text_paths(text: &str, unknown: bool, command: &Command, machine: &dyn LocalMachine) -> WordPaths {
    let remote = command.host().is_some();
    let text = text.strip_prefix("file://").unwrap_or(text);
    let cwd = command.cwd.as_deref().filter(|cwd| cwd.starts_with('/') || (remote && cwd.starts_with('~')));
    let (text, whole) = if unknown || text.starts_with('~') {
        filled(text, remote, cwd, machine)
    } else {
        (text.to_owned(), true)
    };
    if !whole {
        return WordPaths { end: known_end(&text), ..WordPaths::default() };
    }
    let path = match (text.starts_with('/') || (remote && text.starts_with('~')), cwd) {
        (true, _) => text,
        (false, Some(cwd)) => format!("{cwd}/{text}"),
        // Somewhere below a folder that is not known.
        (false, None) => return WordPaths { end: Some(normal(&format!("/{text}"))), ..WordPaths::default() },
    };
    let mut paths = vec![normal(&path)];
    if !remote {
        if path.contains(['*', '?', '[']) {
            match machine.expand(&path) {
                Some(found) => paths.extend(found),
                None => return WordPaths { paths, end: None, too_many: true },
            }
        }
        for at in 0..paths.len() {
            let real = paths.get(at).and_then(|path| machine.canonical(path));
            paths.extend(real);
        }
        // `..` after a link leads elsewhere than its text says.
        paths.extend(path.contains("..").then(|| machine.canonical(&path)).flatten());
        paths.dedup();
    }
    WordPaths { paths, end: None, too_many: false }
}

/// The text with `~` and variables that are known filled in, and whether all of them were.
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
    if let Some(after) = text.strip_prefix('~')
        && (after.is_empty() || after.starts_with('/'))
        && let Some(home) = home()
    {
        out.push_str(&home);
        rest = after;
    }
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, tail) = match after.strip_prefix('{') {
            Some(inside) => {
                let (body, tail) = inside.split_once('}').unwrap_or((inside, ""));
                // `${HOME:?}` and `${HOME:-x}` are HOME wherever it is set.
                (body.split(|c| !is_name(c)).next().unwrap_or_default(), tail)
            }
            None => after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len())),
        };
        if let Some(value) =
            value(name).filter(|_| !name.is_empty() && rest.as_bytes().get(at) == Some(&b'$'))
        {
            out.push_str(&value);
            rest = tail;
        } else {
            whole = false;
            out.push('\u{1}');
            // Of `$(…)` nothing is known up to its last bracket.
            rest = after.rfind([')', '`']).map_or(tail, |end| after.get(end + 1..).unwrap_or_default());
        }
    }
    out.push_str(rest);
    (out, whole)
}

/// What follows the last stretch that is not known, from a `/` on.
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Home;

    impl LocalMachine for Home {
        fn variable(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/home/agent".to_owned())
        }

        fn canonical(&self, path: &str) -> Option<String> {
            path.strip_prefix("/link").map(|rest| normal(&format!("/real/deep{rest}")))
        }

        fn expand(&self, glob: &str) -> Option<Vec<String>> {
            Some(if glob == "/app/*.env" { vec!["/app/x.env".to_owned()] } else { vec![] })
        }

        fn below(&self, _: &str, _: bool) -> Option<Vec<String>> {
            None
        }

        fn is_folder(&self, _: &str) -> bool {
            false
        }
    }

    fn paths(text: &str) -> (Vec<String>, Option<String>) {
        let command = Command { cwd: Some("/app".into()), ..Command::default() };
        let WordPaths { paths, end, .. } = text_paths(text, text.contains(['$', '~']), &command, &Home);
        (paths, end)
    }

    #[test]
    fn a_word_means_a_path_however_it_is_written() {
        for (text, expected) in [
            ("x", vec!["/app/x"]),
            ("./a/../x", vec!["/app/x"]),
            ("~/x", vec!["/home/agent/x"]),
            ("$HOME/x", vec!["/home/agent/x"]),
            ("${HOME:?}//x/", vec!["/home/agent/x"]),
            ("$PWD/x", vec!["/app/x"]),
            ("/link/x", vec!["/link/x", "/real/deep/x"]),
            ("/link/../x", vec!["/x", "/real/x"]),
            ("*.env", vec!["/app/*.env", "/app/x.env"]),
            ("file:///etc/x", vec!["/etc/x"]),
        ] {
            assert_eq!(paths(text), (expected.into_iter().map(str::to_owned).collect(), None), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_path_may_be_all_that_is_known() {
        assert_eq!(paths("$DIR/.claude/x"), (vec![], Some("/.claude/x".into())));
        assert_eq!(paths("$(pwd)/.claude/x"), (vec![], Some("/.claude/x".into())));
        assert_eq!(paths("$DIR"), (vec![], None));
    }
}
