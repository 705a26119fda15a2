//! What a call of ssh does, as the bash command that does the same.

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
    /// Its long options, without values.
    rsync: Vec<String>,
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
    /// The path on the host, as programs write it with the host.
    pub shown: String,
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
            let found = scp(rest).map(|found| Work::Transfer(Ok(transfer(host, asked, found))));
            found.unwrap_or_else(|| unread(&text))
        }
        [program, "--server", rest @ ..] if is_named(program, "rsync") => {
            Work::Transfer(rsync(rest).map(|found| transfer(host, asked, found)))
        }
        ["git-upload-pack" | "git-upload-archive", path]
        | ["git", "upload-pack" | "upload-archive", path] => {
            let shown = format!("{}:{path}", asked.destination);
            Work::Transfer(Ok(Stated { command: format!("git ls-remote {host}:{path}"), shown }))
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

/// A copy within the host, which does the same to its files as a transfer, and the path.
fn transfer(host: &str, asked: &Asked, (copy, path): (String, &str)) -> Stated {
    let command = command(host, &copy, Stdin::Plain);
    Stated { command, shown: format!("{}:{path}", asked.destination) }
}

/// A word for bash.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_named(word: &str, program: &str) -> bool {
    word == program || word.starts_with('/') && word.rsplit('/').next() == Some(program)
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
        ('t', [path]) => Some((format!("cp {recursive}{HERE} {path}"), path)),
        ('f', [path, ..]) => Some((format!("cp {recursive}{} {HERE}", paths.join(" ")), path)),
        _ => None,
    }
}

/// The copy within the host that does the same to its files as `rsync --server`, and the path. The error is a line for the caller.
fn rsync<'a>(words: &[&'a str]) -> Result<(String, &'a str), String> {
    let mut words = words.iter().copied().peekable();
    let (mut sends, mut options) = (false, Vec::new());
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        if word == "--sender" {
            sends = true;
        } else if word.starts_with("--") {
            let name = word.split('=').next().unwrap_or(word);
            if !TRANSFERS.rsync.iter().any(|known| known == name) {
                return Err(format!(
                    "`rsync --server {name}` is refused: the broker does not take this option; leave it out"
                ));
            }
            options.push(word.to_owned());
        } else {
            // What follows `e` states what the other side can do.
            let letters = word.split('e').next().unwrap_or_default();
            if let Some(letter) =
                letters.chars().skip(1).find(|letter| !TRANSFERS.rsync_letters.contains(*letter))
            {
                return Err(format!(
                    "`rsync --server -{letter}` is refused: the broker does not take this option; leave it out"
                ));
            }
            options.extend((letters.len() > 1).then(|| letters.to_owned()));
        }
    }
    let folder = words.next();
    let paths: Vec<&str> = words.collect();
    let options = options.join(" ");
    match (folder, sends, paths.as_slice()) {
        (Some("."), true, [path, ..]) => Ok((format!("rsync {options} {} {HERE}/", paths.join(" ")), path)),
        (Some("."), false, [path]) => Ok((format!("rsync {options} {HERE}/ {path}"), path)),
        _ => Err("`rsync --server` is refused: its paths cannot be determined".to_owned()),
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
            ("scp -r -p -t /p", "cp -r /tmp/opsctl-stream /p", "/p"),
            ("scp -f /d/*", "cp /d/* /tmp/opsctl-stream", "/d/*"),
            ("scp -t ~/x", "cp /tmp/opsctl-stream ~/x", "~/x"),
            ("scp -v -f -- '/a b'", "cp '/a b' /tmp/opsctl-stream", "'/a b'"),
            ("rsync --server -e.LsfxCIvu . /p", "rsync  /tmp/opsctl-stream/ /p", "/p"),
            ("rsync --server --sender -e.LsfxCIvu . /p", "rsync  /p /tmp/opsctl-stream/", "/p"),
            (
                "rsync --server -logDtpre.iLsfxCIvu --delete . /p",
                "rsync -logDtpr --delete /tmp/opsctl-stream/ /p",
                "/p",
            ),
        ] {
            let command = command("ie01", copy, Stdin::Plain);
            let shown = format!("root@ie01:{path}");
            assert_eq!(stated(text), Work::Transfer(Ok(Stated { command, shown })), "{text}");
        }
        let shown = "root@ie01:'/r.git'".to_owned();
        let command = "git ls-remote ie01:'/r.git'".to_owned();
        assert_eq!(stated("git-upload-pack '/r.git'"), Work::Transfer(Ok(Stated { command, shown })));
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
                    let script = command("ie01", "bash -s", Stdin::Script(text));
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
    fn a_script_cannot_end_its_own_statement() {
        let text = command("ie01", "bash -s", Stdin::Script("echo END\nEND\nEND_\nreboot"));
        assert!(
            text.starts_with("ssh ie01 'bash -s' <<'END__'\n") && text.ends_with("reboot\nEND__\n"),
            "{text}"
        );
        assert_eq!(command("ie01", "echo 'a'", Stdin::Null), r"ssh ie01 'echo '\''a'\''' </dev/null");
    }
}
