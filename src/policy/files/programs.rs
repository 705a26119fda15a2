//! Which files a program touches, from its words.

use super::transfer::{engine, transfer};
use super::{Access, Touch, code, remove, sqlite};
use crate::policy::place::View;
use crate::shell::options::{Item, Scanner};
use crate::shell::{Command, Word, is_interpreter};

/// Which of its words a program writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// All that are no options, from this one on.
    From(usize),
    /// The last one.
    Last,
    /// None of them: only what options name.
    None,
}

/// A program that writes files.
struct Writer {
    names: &'static [&'static str],
    written: Written,
    /// Options that take a value.
    valued: &'static [&'static str],
    /// Options whose value is written.
    outputs: &'static [&'static str],
    /// Options without which it writes none of its words.
    needs: &'static [&'static str],
    /// Options with which all below is written, too.
    deep: &'static [&'static str],
}

const PLAIN: Writer =
    Writer { names: &[], written: Written::From(0), valued: &[], outputs: &[], needs: &[], deep: &[] };

static WRITERS: &[Writer] = &[
    Writer {
        names: &[
            "tee", "unlink", "sponge", "dos2unix", "unix2dos", "gzip", "gunzip", "bzip2", "bunzip2", "xz",
            "unxz", "zstd", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "micro", "pico", "patch",
            "umount", "mknod", "mkfifo",
        ],
        ..PLAIN
    },
    Writer { names: &["truncate"], valued: &["-s", "--size", "-r", "--reference"], ..PLAIN },
    Writer { names: &["touch"], valued: &["-d", "--date", "-t", "-r", "--reference"], ..PLAIN },
    Writer { names: &["shred"], valued: &["-n", "--iterations", "-s", "--size"], ..PLAIN },
    Writer { names: &["rm"], deep: &["-r", "-R", "--recursive"], ..PLAIN },
    Writer {
        names: &["chmod", "chown", "chgrp", "chattr"],
        written: Written::From(1),
        deep: &["-R", "--recursive"],
        ..PLAIN
    },
    Writer { names: &["setfacl"], valued: &["-m", "-x", "-M", "-X"], deep: &["-R"], ..PLAIN },
    Writer {
        names: &["sed", "gsed"],
        written: Written::From(1),
        valued: &["-e", "--expression", "-f", "--file", "-l"],
        needs: &["-i", "--in-place"],
        ..PLAIN
    },
    Writer { names: &["perl", "ruby"], valued: &["-e", "-E"], needs: &["-i"], ..PLAIN },
    Writer { names: &["yq"], written: Written::From(1), needs: &["-i", "--inplace"], ..PLAIN },
    Writer {
        names: &["gawk", "awk"],
        written: Written::From(1),
        valued: &["-i", "-v", "-F", "-f"],
        needs: &["-i"],
        ..PLAIN
    },
    Writer { names: &["crudini"], written: Written::From(0), needs: &["--set", "--del", "--merge"], ..PLAIN },
    Writer {
        names: &["mount"],
        written: Written::Last,
        valued: &["-t", "-o", "--types", "--options"],
        ..PLAIN
    },
    Writer {
        names: &["curl"],
        written: Written::None,
        outputs: &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
        ],
        valued: CURL,
        ..PLAIN
    },
    Writer {
        names: &["wget"],
        written: Written::None,
        outputs: &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output"],
        ..PLAIN
    },
    Writer { names: &["sort", "shuf"], written: Written::None, outputs: &["-o", "--output"], ..PLAIN },
    Writer { names: &["openssl"], written: Written::None, outputs: &["-out", "-keyout"], ..PLAIN },
    Writer {
        names: &["gpg", "age", "sops", "jsonnet"],
        written: Written::None,
        outputs: &["-o", "--output"],
        ..PLAIN
    },
    Writer { names: &["opsctl"], written: Written::None, outputs: &["--html"], ..PLAIN },
    Writer { names: &["ssh-keygen"], written: Written::None, outputs: &["-f"], ..PLAIN },
    Writer { names: &["tcpdump", "strace"], written: Written::None, outputs: &["-w", "-o"], ..PLAIN },
];

const CURL: &[&str] = &[
    "-X",
    "--request",
    "-H",
    "--header",
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "-F",
    "--form",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-e",
    "--referer",
    "-b",
    "--cookie",
    "-m",
    "--max-time",
    "-w",
    "--write-out",
    "-T",
    "--upload-file",
    "-x",
    "--proxy",
    "--connect-timeout",
    "--retry",
    "--resolve",
    "-K",
    "--config",
    "--key",
    "--cert",
    "-E",
    "--cacert",
    "--url",
    "--unix-socket",
];

/// Programs whose words name files without their contents being read, or that read them for themselves alone.
const MENTIONING: &[&str] = &[
    "echo",
    "printf",
    "ls",
    "ll",
    "stat",
    "test",
    "[",
    ":",
    "true",
    "false",
    "mkdir",
    "rmdir",
    "touch",
    "dirname",
    "basename",
    "realpath",
    "readlink",
    "which",
    "type",
    "cd",
    "pushd",
    "popd",
    "export",
    "declare",
    "local",
    "typeset",
    "readonly",
    "unset",
    "read",
    "ssh",
    "autossh",
    "mosh",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "ssh-keyscan",
    "docker-compose",
    "podman-compose",
    "kubectl",
    "helm",
    "gh",
    "glab",
    "tea",
    "ansible",
    "ansible-playbook",
    "systemctl",
    "service",
    "apprise",
    "opsctl",
    "rm",
    "unlink",
    "chmod",
    "chown",
    "chgrp",
    "kill",
    "sleep",
    "date",
    "exit",
    "return",
    "alias",
    "set",
    "shift",
    "trap",
    "wait",
    "df",
    "du",
    "mount",
    "umount",
    "sudo",
    "find",
    "fd",
    "fdfind",
    "shopt",
    "exec",
    "let",
    "hash",
    "ping",
    "id",
    "test",
    "truncate",
    "shred",
];

/// Programs whose first word is a text to look for or to run, not a file.
const TEXT_FIRST: &[&str] =
    &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "gsed", "awk", "gawk", "mawk", "jq", "yq"];

/// Options whose value is a key that the program uses and does not show.
fn keys(program: &str) -> &'static [&'static str] {
    match program {
        "scp" | "sftp" | "sshfs" => &["-i", "-F", "-o"],
        "rsync" => &["-e", "--rsh"],
        "curl" => &["--key", "--cert", "-E", "--cacert", "--netrc-file", "-K"],
        "wget" => &["--private-key", "--certificate", "--ca-certificate"],
        _ => &[],
    }
}

/// Adds what a command touches. `inner` is false for the words of a wrapper, which only its own are read of.
pub fn accesses(command: &Command, inner: bool, view: &dyn View, into: &mut Vec<Access>) {
    let Some(name) = command.words.first() else { return };
    let program = name.text.rsplit('/').next().unwrap_or(&name.text);
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    match program {
        "find" | "fd" | "fdfind" => return remove::find(command, &texts, into),
        "docker" | "podman" | "nerdctl" => return engine(command, &texts, into),
        _ if is_interpreter(program) => code::accesses(command, into),
        _ => {}
    }
    if !inner {
        return;
    }
    match program {
        "sqlite3" | "sqlite" => return sqlite::accesses(command, into),
        "cp" | "mv" | "ln" | "install" | "rsync" | "scp" => transfer(command, program, &texts, view, into),
        "dd" => {
            for word in &command.words {
                let of = |prefix: &str, touch| {
                    word.text.starts_with(prefix).then(|| Access::new(touch, &word.tail(prefix.len())))
                };
                into.extend(of("of=", Touch::Write));
                into.extend(of("if=", Touch::Read));
            }
            return;
        }
        "tar" | "bsdtar" | "unzip" | "7z" | "7za" | "cpio" => remove::unpack(command, program, &texts, into),
        "git" => return git(command, &texts, into),
        _ => {
            if let Some(writer) = WRITERS.iter().find(|writer| writer.names.contains(&program)) {
                write(command, writer, &texts, into);
            }
        }
    }
    if !MENTIONING.contains(&program) {
        reads(command, program, &texts, into);
    }
}

pub(super) fn positionals<'a>(
    command: &'a Command,
    texts: &[&str],
    valued: &[&str],
    from: usize,
) -> Vec<&'a Word> {
    Scanner::new(texts, from, valued)
        .filter_map(|item| if let Item::Positional(index) = item { command.words.get(index) } else { None })
        .collect()
}

fn write(command: &Command, writer: &Writer, texts: &[&str], into: &mut Vec<Access>) {
    let valued: Vec<&str> = writer.valued.iter().chain(writer.outputs).copied().collect();
    let (mut needed, mut deep, mut script) = (writer.needs.is_empty(), false, false);
    let mut words = Vec::new();
    for item in Scanner::new(texts, 1, &valued) {
        match item {
            Item::Option(name, at) => {
                needed |= name.is_any(writer.needs);
                deep |= name.is_any(writer.deep);
                script |= name.is_any(&["-e", "-f", "--expression", "--file", "--reference"]);
                if let Some(at) = at.filter(|_| name.is_any(writer.outputs))
                    && let Some(word) = command.words.get(at.index)
                {
                    into.push(Access::new(Touch::Write, &word.tail(at.offset)));
                }
            }
            Item::Positional(index) => words.extend(command.words.get(index)),
            Item::Dashes(_) => {}
        }
    }
    // `openssl -out FILE`: options of one dash that are words.
    for pair in command.words.windows(2) {
        if let [option, value] = pair
            && option.text.len() > 2
            && !option.text.starts_with("--")
            && writer.outputs.contains(&option.text.as_str())
        {
            into.push(Access::new(Touch::Write, value));
        }
    }
    if texts.first().is_some_and(|name| name.ends_with("curl"))
        && texts
            .iter()
            .any(|text| matches!(*text, "-O" | "--remote-name" | "-OJ" | "-LO" | "-sO" | "-sLO" | "-fsSLO"))
    {
        // The file has the address's last name, here or in `--output-dir`.
        for word in &words {
            let last = word.text.rsplit('/').next().unwrap_or_default();
            into.push(Access { touch: Touch::Write, path: last.to_owned(), unknown: word.unknown.is_some() });
        }
    }
    if !needed {
        return;
    }
    let touch = if deep { Touch::WriteAll } else { Touch::Write };
    let skip = match writer.written {
        Written::From(skip) if skip > 0 && script => 0,
        Written::From(skip) => skip,
        Written::Last => words.len().saturating_sub(1),
        Written::None => return,
    };
    into.extend(words.into_iter().skip(skip).map(|word| Access::new(touch, word)));
}

/// Files that git itself changes in the working tree by name.
fn git(command: &Command, texts: &[&str], into: &mut Vec<Access>) {
    let words = positionals(
        command,
        texts,
        &["-C", "-c", "--git-dir", "--work-tree", "-m", "--message", "-F", "-s", "--source"],
        1,
    );
    let Some((verb, rest)) = words.split_first() else { return };
    match verb.text.as_str() {
        "checkout" | "restore" | "rm" | "mv" | "apply" => {
            into.extend(rest.iter().map(|word| Access::new(Touch::Write, word)));
        }
        "clean" => into.push(Access { touch: Touch::WriteAll, path: ".".to_owned(), unknown: false }),
        "add" | "diff" | "show" | "blame" | "grep" | "hash-object" => {
            into.extend(rest.iter().map(|word| Access::new(Touch::Read, word)));
        }
        _ => {}
    }
}

/// Every word that may be a file which is read.
fn reads(command: &Command, program: &str, texts: &[&str], into: &mut Vec<Access>) {
    let keys = keys(program);
    let mut skip_next = false;
    let mut text_first = TEXT_FIRST.contains(&program)
        && !texts
            .iter()
            .any(|text| text.starts_with("-e") || text.starts_with("-f") || text.starts_with("--regexp"));
    for word in command.words.iter().skip(1) {
        let text = word.text.as_str();
        if std::mem::take(&mut skip_next) {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 {
            skip_next = keys.contains(&text);
            let is_key = text.split_once('=').is_some_and(|(name, _)| keys.contains(&name));
            if let Some(equals) = text.find('=').filter(|_| !is_key) {
                into.push(read_of(&word.tail(equals + 1)));
            }
            continue;
        }
        if std::mem::take(&mut text_first) {
            continue;
        }
        into.push(read_of(word));
    }
}

/// The file in `x`, `@x`, `name=@x`.
fn read_of(word: &Word) -> Access {
    let at = word
        .text
        .find('@')
        .filter(|at| *at == 0 || word.text.get(..*at).is_some_and(|head| head.ends_with('=')));
    match at {
        Some(at) => Access::new(Touch::Read, &word.tail(at + 1)),
        None => Access::new(Touch::Read, word),
    }
}
