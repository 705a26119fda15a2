//! What a call of ssh does, as the bash command that does the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::options::Asked;

/// Where statements have files of the agent's side, of which nothing is known.
const HERE: &str = "/tmp/opsctl-stream";

/// The list of options of `rsync --server`.
static TRANSFERS: LazyLock<Transfers> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("transfers.yaml")).unwrap_or_default());

/// The options of programs that transfer files.
#[derive(Debug, Default, Deserialize)]
struct Transfers {
    /// The letters of `scp`, beside `-t` and `-f`.
    scp: String,
    /// The letters of `rsync --server`.
    rsync_letters: String,
    /// Its long options; those with `=` at the end have a value.
    rsync: Vec<String>,
    /// Where systems have these programs.
    paths: Vec<String>,
    /// Programs that take names of files from stdin, and parts of the words that ask for it.
    names: BTreeMap<String, Vec<String>>,
}

/// What stdin of the command is.
#[derive(Debug, Clone, Copy)]
pub enum Stdin<'a> {
    /// As of a command without redirection.
    Plain,
    /// Empty.
    Null,
    /// Data that is not known.
    Unknown,
    /// A script, which has been read.
    Script(&'a str),
}

/// A transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The command that does the same.
    pub command: String,
    /// What runs on the host, if it is not the command of the call.
    pub runs: Option<String>,
}

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// It runs a command.
    Command,
    /// It transfers files with a protocol that its command states. The error is a line for the caller.
    Transfer(Result<Stated, String>),
    /// It sends its commands to Git: the repository as in a command on this host.
    Push(String),
    /// It opens files with the protocol of sftp.
    Sftp,
}

/// What a call for a host does. The error is a line for the caller.
pub fn work(host: &str, asked: &Asked) -> Result<Work, String> {
    let text = asked.text();
    let text = String::from_utf8_lossy(&text);
    if asked.is_subsystem {
        return if text == "sftp" {
            Ok(Work::Sftp)
        } else {
            Err(format!("the subsystem `{text}` is refused: the broker passes `sftp` only"))
        };
    }
    let words = words(&text).unwrap_or_default();
    let work = match words.as_slice() {
        [server] if *server == "internal-sftp" || is_named(server, "sftp-server") => Work::Sftp,
        [program, rest @ ..] if is_named(program, "scp") => {
            let found = scp(rest).map(|found| {
                let (copy, path) = &found;
                // In a folder, the client would state the name of the file after the judgement.
                let runs = (*copy == upload(path)).then(|| {
                    let refusal = "echo 'the target is a folder: state the name of the file, too, or leave out -O' >&2; exit 1";
                    format!("if test -d {path}; then {refusal}; fi; exec {text}")
                });
                Work::Transfer(Ok(Stated { runs, ..transfer(host, &found.0) }))
            });
            found.unwrap_or_else(|| unread(&text))
        }
        [program, "--server", rest @ ..] if is_named(program, "rsync") => {
            Work::Transfer(rsync(rest).map(|found| {
                // With it, the receiver makes no link to what is outside of the folder that is copied.
                let runs = (!rest.contains(&"--sender"))
                    .then(|| format!("{program} --server --safe-links {}", rest.join(" ")));
                Stated { runs, ..transfer(host, &found.0) }
            }))
        }
        ["git-upload-pack", path] | ["git", "upload-pack", path] => {
            let command = format!("git ls-remote {host}:{path}");
            Work::Transfer(Ok(Stated { command, runs: None }))
        }
        ["git-upload-archive", ..] | ["git", "upload-archive", ..] => {
            let why = "`git archive` of another host is refused: the configuration of the repository states programs that it runs; clone the repository";
            return Err(why.to_owned());
        }
        ["git-receive-pack", path] | ["git", "receive-pack", path] => Work::Push(format!("{host}:{path}")),
        _ => unread(&text),
    };
    Ok(work)
}

/// A command that is no transfer, or a transfer whose path is not known before it runs.
fn unread(text: &str) -> Work {
    let mut words = text.split(' ');
    let program = words.next().unwrap_or_default();
    let mut options = words.take_while(|word| word.starts_with('-'));
    let is_transfer = if is_named(program, "scp") {
        options.any(|option| option.contains(['t', 'f']))
    } else {
        is_named(program, "rsync") && options.next() == Some("--server")
    };
    if !is_transfer {
        return Work::Command;
    }
    Work::Transfer(Err(format!(
        "the transfer `{program}` is refused: its path cannot be determined; write it in full"
    )))
}

/// The command on a host, as an agent would write it.
pub fn command(host: &str, text: &str, stdin: Stdin<'_>) -> String {
    let words = if text.is_empty() { host.to_owned() } else { format!("{host} {}", quoted(text)) };
    match stdin {
        Stdin::Plain => format!("ssh {words}"),
        Stdin::Null => format!("ssh {words} </dev/null"),
        Stdin::Unknown => format!("cat {HERE} | ssh {words}"),
        Stdin::Script(script) => {
            let mut end = "END".to_owned();
            while script.contains(&end) {
                end.push('_');
            }
            let last = if script.ends_with('\n') { "" } else { "\n" };
            format!("ssh {words} <<'{end}'\n{script}{last}{end}\n")
        }
    }
}

/// The command on the host that writes unknown data to a path.
pub fn upload(path: &str) -> String {
    format!("cp {HERE} {path}")
}

/// A copy within the host, which does the same to its files as a transfer.
fn transfer(host: &str, copy: &str) -> Stated {
    let command = command(host, copy, Stdin::Plain);
    Stated { command, runs: None }
}

/// A word for bash.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a word names a program, where systems have it: a file elsewhere may be any program.
fn is_named(word: &str, program: &str) -> bool {
    let name = word.rsplit('/').next() == Some(program);
    name && (!word.contains('/') || TRANSFERS.paths.iter().any(|path| path == word))
}

/// The command that runs a script as an argument, if a command is a shell that reads it from stdin. A script on stdin could read
/// a part of itself.
pub fn with_script(text: &str, script: &str) -> Option<String> {
    let words = words(text)?;
    let (sudo, rest) = words.split_at_checked(words.iter().take_while(|word| **word == "sudo").count())?;
    let Some((shell, rest)) = rest.split_first() else {
        return sudo.is_empty().then(|| script.to_owned());
    };
    if !["bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"].contains(shell)
        || sudo.len() > 1
    {
        return None;
    }
    let count = rest.iter().take_while(|word| word.starts_with('-') && **word != "--").count();
    let (options, arguments) = rest.split_at_checked(count)?;
    let mut letters: String = options.iter().flat_map(|word| word.chars().skip(1)).collect();
    let takes_arguments = letters.contains('s');
    letters.retain(|letter| letter != 's');
    let arguments = arguments.strip_prefix(&["--"]).unwrap_or(arguments);
    if !letters.chars().all(|letter| "eux".contains(letter)) || !(takes_arguments || arguments.is_empty()) {
        return None;
    }
    let sudo = if sudo.is_empty() { "" } else { "sudo " };
    let arguments: String = arguments.iter().map(|word| format!(" {word}")).collect();
    Some(format!("{sudo}{shell} -{letters}c {} {shell}{arguments}", quoted(script)))
}

/// Whether a command is one `xargs`: nothing else reads what is on stdin.
pub fn is_xargs(text: &str) -> bool {
    words(text).is_some_and(|words| words.first() == Some(&"xargs"))
}

/// Whether a command, as people read it, may read files whose names are on stdin.
pub fn takes_names(part: &str) -> bool {
    let mut words = part.split_whitespace();
    let program = words.next().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let listed = TRANSFERS.names.get(program);
    listed.is_some_and(|marks| {
        marks.is_empty() || words.any(|word| marks.iter().any(|mark| word.contains(mark.as_str())))
    })
}

/// The copy within the host that does the same to its files as `scp -t` or `scp -f`, and the path.
fn scp<'a>(words: &[&'a str]) -> Option<(String, &'a str)> {
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
    match (direction?, paths) {
        ('t', [path]) if recursive.is_empty() => Some((upload(path), path)),
        // The client states the names below the folder.
        ('t', [path]) => Some((format!("cp -r {HERE} {path}; tar x -C {path}"), path)),
        ('f', [path, ..]) => {
            let paths = paths.join(" ");
            let below = if recursive.is_empty() { String::new() } else { format!("; tar c -- {paths}") };
            Some((format!("cp {recursive}{paths} {HERE}{below}"), path))
        }
        _ => None,
    }
}

/// The copy within the host that does the same to its files as `rsync --server`, and the path. The error is a line for the caller.
fn rsync<'a>(words: &[&'a str]) -> Result<(String, &'a str), String> {
    let refused = |option: &str| {
        format!("`rsync --server {option}` is refused: the broker does not take this option; leave it out")
    };
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
    let options = options.join(" ");
    match words.as_slice() {
        [".", path] if path.starts_with('-') => Err(refused(path)),
        // `tar` reads everything below a folder.
        [".", path] if sends && recurses => {
            Ok((format!("rsync {options} {path} {HERE}/; tar c -- {path}"), path))
        }
        [".", path] if sends => Ok((format!("rsync {options} {path} {HERE}/"), path)),
        [".", path] => Ok((format!("rsync {options} {HERE}/ {path}"), path)),
        _ => Err("`rsync --server` is refused: its path cannot be determined; copy one path".to_owned()),
    }
}

/// The words of a simple command, as written; `None` if bash does anything else with the text.
fn words(text: &str) -> Option<Vec<&str>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Work {
        let destination = "root@ie01".to_owned();
        let asked = Asked { destination, command: vec![text.as_bytes().to_vec()], ..Asked::default() };
        work("ie01", &asked).unwrap()
    }

    #[test]
    fn transfers_are_stated_as_the_command_that_does_the_same() {
        for (text, copy, path) in [
            ("scp -t /p", "cp /tmp/opsctl-stream /p", "/p"),
            ("scp -r -p -t /p", "cp -r /tmp/opsctl-stream /p; tar x -C /p", "/p"),
            ("scp -r -f /p", "cp -r /p /tmp/opsctl-stream; tar c -- /p", "/p"),
            ("scp -f /d/*", "cp /d/* /tmp/opsctl-stream", "/d/*"),
            ("scp -t ~/x", "cp /tmp/opsctl-stream ~/x", "~/x"),
            ("scp -v -f -- '/a b'", "cp '/a b' /tmp/opsctl-stream", "'/a b'"),
            ("rsync --server -e.LsfxCIvu . /p", "rsync  /tmp/opsctl-stream/ /p", "/p"),
            ("rsync --server --sender -e.LsfxCIvu . /p", "rsync  /p /tmp/opsctl-stream/", "/p"),
            (
                "rsync --server --sender -vre.LsfxCIvu . /p",
                "rsync -vr /p /tmp/opsctl-stream/; tar c -- /p",
                "/p",
            ),
            (
                "rsync --server -logDtpre.iLsfxCIvu --delete . /p",
                "rsync -logDtpr --delete /tmp/opsctl-stream/ /p",
                "/p",
            ),
        ] {
            let command = command("ie01", copy, Stdin::Plain);
            let Work::Transfer(Ok(found)) = stated(text) else { panic!("{text}") };
            let runs = found.runs.clone().unwrap_or_default();
            assert_eq!(
                runs.contains("--safe-links"),
                text.starts_with("rsync") && !text.contains("--sender"),
                "{text}"
            );
            assert_eq!(runs.contains("if test -d "), copy == upload(path), "{text}");
            assert_eq!(found, Stated { command, runs: found.runs.clone() }, "{text}");
        }
        let command = "git ls-remote ie01:'/r.git'".to_owned();
        assert_eq!(stated("git-upload-pack '/r.git'"), Work::Transfer(Ok(Stated { command, runs: None })));
        assert_eq!(stated("git-receive-pack '/repo.git'"), Work::Push("ie01:'/repo.git'".to_owned()));
        for text in ["/usr/lib/openssh/sftp-server", "internal-sftp"] {
            assert_eq!(stated(text), Work::Sftp);
        }
    }

    #[test]
    fn a_command_around_a_transfer_is_a_command() {
        for text in [
            "sh -c 'touch pwned'; rsync --server . /p",
            "scp -S reboot -t /p",
            "scp -r /a /b && reboot",
            "sudo scp -t /p",
            "git-upload-pack '/a' | sh",
            "sftp-server -R; id",
            "./rsync --server . /p",
            "/tmp/rsync --server . /p",
            "/tmp/scp -t /p",
            "/tmp/sftp-server",
        ] {
            assert_eq!(stated(text), Work::Command, "{text}");
        }
    }

    #[test]
    fn transfers_with_unknown_options_or_paths_are_refused() {
        for text in [
            "rsync --server --log-file=/x . /p",
            "rsync --server -s . /p",
            "rsync --server . /p /q",
            "rsync --server",
            "rsync --server . $(reboot)",
            "rsync --server --sender -e . /etc shadow",
            "rsync --server --sender -re . /p",
            "rsync --server --sender . /p /q",
            "rsync --server --sender . -p",
            "rsync --server --timeout 5 . /p",
            "rsync --server --delete=x . /p",
            "rsync --server -K . /p",
            "scp -t /p; reboot",
            "scp -r -p -t $(reboot)",
            "scp -f `reboot`",
            "scp -t /p\nreboot",
            "scp -t",
        ] {
            assert!(matches!(stated(text), Work::Transfer(Err(_))), "{text}");
        }
    }

    #[test]
    fn the_commands_of_the_corpus_act_on_a_host_as_here() {
        use opsctl_reader::actions::read_command_on;
        use opsctl_reader::catalogue::Catalogue;

        let acts = |command: &str| read_command_on(command, None, Catalogue::default(), None).actions.len();
        let (mut rows, mut wrong) = (0, Vec::new());
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus")).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            for line in text.lines() {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                let text = row["command"].as_str().unwrap();
                // A command on a host has no files of this machine and no arguments.
                if row.get("files").is_none() && !["$1", "$@", "$#"].iter().any(|words| text.contains(words))
                {
                    rows += 1;
                    let script = with_script("bash -s", text).unwrap();
                    let script = command("ie01", &script, Stdin::Plain);
                    let stated = [command("ie01", text, Stdin::Plain), script].map(|command| acts(&command));
                    if stated.iter().any(|found| *found < acts(text)) {
                        wrong.push(format!("{text}: {} here, {stated:?} there", acts(text)));
                    }
                }
            }
        }
        assert!(rows > 500 && wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn a_script_runs_as_an_argument_of_the_shell_that_would_read_it() {
        for (text, runs) in [
            ("", Some("x y")),
            ("bash", Some("bash -c 'x y' bash")),
            ("bash -s", Some("bash -c 'x y' bash")),
            ("bash -eu -s -- a 'b c'", Some("bash -euc 'x y' bash a 'b c'")),
            ("sudo sh -s a", Some("sudo sh -c 'x y' sh a")),
            ("bash; bash", None),
            ("bash file", None),
            ("bash -i", None),
            ("cat | bash", None),
            ("head -c 9; bash", None),
            ("/tmp/bash", None),
            ("sudo", None),
            ("docker exec -i x sh", None),
        ] {
            assert_eq!(with_script(text, "x y").as_deref(), runs, "{text}");
        }
    }

    #[test]
    fn a_script_cannot_end_its_own_statement() {
        let text = command("ie01", "bash -s", Stdin::Script("echo END\nEND\nEND_\nreboot"));
        assert!(
            text.starts_with("ssh ie01 'bash -s' <<'END__'\n") && text.ends_with("reboot\nEND__\n"),
            "{text}"
        );
        assert_eq!(command("ie01", "echo 'a'", Stdin::Null), r"ssh ie01 'echo '\''a'\''' </dev/null");
    }
}
