//! The servers of `scp` and `rsync`: each as the copy within the host that does the same to its files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Where statements have files of the client's side, of which nothing is known.
pub const HERE: &str = "/tmp/opsctl-stream";

/// A transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The command that does the same.
    pub command: String,
    /// What runs on the host, if it is not the command of the call.
    pub runs: Option<String>,
    /// Whether the client sends filter rules first.
    pub has_rules: bool,
}

/// The list of options of `rsync --server`.
pub static TRANSFERS: LazyLock<Transfers> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("transfers.yaml")).unwrap_or_default());

/// The options of programs that transfer files.
#[derive(Debug, Default, Deserialize)]
pub struct Transfers {
    /// The letters of `scp`, beside `-t` and `-f`.
    scp: String,
    /// The letters of `rsync --server`.
    rsync_letters: String,
    /// Its long options; those with `=` at the end have a value.
    rsync: Vec<String>,
    /// Where systems have these programs.
    paths: Vec<String>,
    /// Programs that take names of files from stdin, and parts of the words that ask for it.
    pub names: BTreeMap<String, Vec<String>>,
    /// Commands that pass their input on to a program that runs already.
    pub connects: Connects,
    /// Programs that act on keys from stdin, and the options with which they do not.
    pub keys: BTreeMap<String, Vec<String>>,
}

/// Commands that pass their input on to a program that runs already.
#[derive(Debug, Default, Deserialize)]
pub struct Connects {
    /// The programs.
    pub programs: Vec<String>,
    /// Their verbs, each with the options with which it does; without any, it always does.
    pub verbs: BTreeMap<String, Vec<String>>,
}

/// Whether a word is one of these options: letters, also in a cluster, and long ones, also with a value.
pub fn is_option(word: &str, options: &[String]) -> bool {
    options.iter().any(|option| match word.strip_prefix('-') {
        Some(_) if option.starts_with("--") => word.starts_with(option.as_str()),
        Some(letters) => !letters.starts_with('-') && letters.contains(option.as_str()),
        None => false,
    })
}

/// Whether a word names a program, where systems have it: a file elsewhere may be any program.
pub fn is_named(word: &str, program: &str) -> bool {
    let name = word.rsplit('/').next() == Some(program);
    name && (!word.contains('/') || TRANSFERS.paths.iter().any(|path| path == word))
}

/// The program of a transfer whose path is not known before it runs.
pub fn unread(text: &str) -> Option<&str> {
    let mut words = text.split(' ');
    let program = words.next()?;
    let mut options = words.take_while(|word| word.starts_with('-'));
    let is_transfer = if is_named(program, "scp") {
        options.any(|option| option.contains(['t', 'f']))
    } else {
        is_named(program, "rsync") && options.next() == Some("--server")
    };
    is_transfer.then_some(program)
}

/// The command that states a change through a transfer. A tier that only reads may not make one, not even of temporary files.
pub const CHANGES: &str = "opsctl-transfer";

/// The command on a host that writes unknown data to a path.
pub fn upload(path: &str) -> String {
    format!("cp {HERE} {path}")
}

/// The copy within the host that does the same to its files as `scp -t` or `scp -f`.
pub fn scp(text: &str, words: &[&str]) -> Option<Stated> {
    let (options, paths) = words.split_at(words.iter().take_while(|word| word.starts_with('-')).count());
    let mut direction = None;
    let mut recursive = "";
    for letter in options.iter().filter(|word| **word != "--").flat_map(|word| word.chars().skip(1)) {
        match letter {
            't' | 'f' => direction = Some(letter),
            'r' => recursive = "-r ",
            _ if TRANSFERS.scp.contains(letter) => {}
            _ => return None,
        }
    }
    let stated = |command| Some(Stated { command, runs: None, has_rules: false });
    match (direction?, paths) {
        ('t', [path]) if recursive.is_empty() => {
            // In a folder, the client would state the name of the file after the judgement.
            let refusal =
                "echo 'the target is a folder: state the name of the file, too, or leave out -O' >&2; exit 1";
            let runs = format!("if test -d {path}; then {refusal}; fi; exec {text}");
            Some(Stated {
                command: format!("{}; {CHANGES}", upload(path)),
                runs: Some(runs),
                has_rules: false,
            })
        }
        // The client states the names below the folder.
        ('t', [path]) => stated(format!("cp -r {HERE} {path}; opsctl-receive -r {path}; {CHANGES}")),
        ('f', [_, ..]) => {
            let paths = paths.join(" ");
            let below = if recursive.is_empty() { String::new() } else { format!("; tar c -- {paths}") };
            stated(format!("cp {recursive}{paths} {HERE}{below}"))
        }
        _ => None,
    }
}

/// The copy within the host that does the same to its files as `rsync --server`. The error is a line for the client.
pub fn rsync(program: &str, words: &[&str]) -> Result<Stated, String> {
    let refused = |option: &str| {
        format!("`rsync --server {option}` is refused: what this option does is not known; leave it out")
    };
    // With it, the receiver makes no link to what is outside of the folder that is copied.
    let safe = format!("{program} --server --safe-links {}", words.join(" "));
    let mut words = words.iter().copied().peekable();
    let (mut sends, mut options) = (false, Vec::new());
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        if word == "--sender" {
            sends = true;
        } else if word.starts_with("--") {
            let name = word.find('=').and_then(|at| word.get(..=at)).unwrap_or(word);
            if !TRANSFERS.rsync.iter().any(|known| known == name) {
                return Err(refused(name));
            }
            options.push(word.to_owned());
        } else {
            // What follows `e` states what the other side can do. Without it, that would be the next word.
            let letters = word.split('e').next().unwrap_or_default();
            let unknown = letters.chars().skip(1).find(|letter| !TRANSFERS.rsync_letters.contains(*letter));
            if let Some(letter) = unknown.or_else(|| word.ends_with('e').then_some('e')) {
                return Err(refused(&format!("-{letter}")));
            }
            options.extend((letters.len() > 1).then(|| letters.to_owned()));
        }
    }
    let words: Vec<&str> = words.collect();
    let recurses = options
        .iter()
        .any(|word| word == "--dirs" || !word.starts_with("--") && word.contains(['a', 'd', 'r']));
    // A receiver takes them if it removes files that the client does not have.
    let has_rules = sends || options.iter().any(|word| word.starts_with("--del"));
    let options = options.join(" ");
    let [".", path] = words.as_slice() else {
        return Err("`rsync --server` is refused: its path cannot be determined; copy one path".to_owned());
    };
    // A pattern may stand for a name that is an option; quotes do not change what a word is to rsync.
    if path.trim_start_matches(['\'', '\\']).starts_with(['-', '*', '?', '[']) {
        return Err(refused(path));
    }
    if !sends {
        return Ok(Stated {
            command: format!("rsync {options} {HERE}/ {path}; {CHANGES}"),
            runs: Some(safe),
            has_rules,
        });
    }
    // `tar` reads everything below a folder.
    let below = if recurses { format!("; tar c -- {path}") } else { String::new() };
    Ok(Stated { command: format!("rsync {options} {path} {HERE}/{below}"), runs: None, has_rules })
}

/// The words of a simple command, as written; `None` if bash does anything else with the text.
pub fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_matches(' ');
    while !rest.is_empty() {
        let mut chars = rest.char_indices();
        let end = loop {
            let Some((at, c)) = chars.next() else { break rest.len() };
            match c {
                ' ' => break at,
                '\'' => drop(chars.find(|(_, c)| *c == '\'')?),
                '\\' => drop(chars.next().filter(|(_, c)| !c.is_control())?),
                _ if c.is_alphanumeric() || "-_./:@,+=%*?[]~".contains(c) => {}
                _ => return None,
            }
        };
        let (word, after) = rest.split_at_checked(end)?;
        words.push(word);
        rest = after.trim_start_matches(' ');
    }
    Some(words)
}
