//! What programs of the client ask for: `scp`, `sftp`, `rsync` and `git` start a server on the host, whose words state only a
//! part of what it does. Each is stated as the command that does the same.

use std::path::Path;

/// A command of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Form {
    /// A command that states itself.
    Plain,
    /// A server, as the command that does the same.
    Stated(String),
    /// The server of sftp, whose requests are judged one by one.
    Sftp,
    /// A server that cannot be judged, and what to use instead.
    Refused(&'static str),
}

/// Reads the command of a client.
pub fn read(text: &str) -> Form {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " @%+=:,./_-~*?".contains(c));
    match words.as_slice() {
        [program] if is_sftp(program) => Form::Sftp,
        ["scp", words @ ..] => scp(words).filter(|_| is_plain).map_or(
            Form::Refused(
                "this form of scp cannot be judged: use `scp` with its default protocol, and plain names",
            ),
            Form::Stated,
        ),
        ["rsync", "--server", words @ ..] => rsync(words).filter(|_| is_plain).map_or(
            Form::Refused(
                "this form of rsync cannot be judged: leave out `--secluded-args`, and use plain names",
            ),
            Form::Stated,
        ),
        ["git-upload-pack", repository] if !text.contains(['\n', '\r', '\t']) => {
            let path = repository.strip_prefix('\'').and_then(|path| path.strip_suffix('\''));
            let is_plain =
                |path: &&str| path.chars().all(|c| c.is_ascii_alphanumeric() || "./_-".contains(c));
            match path.filter(is_plain).filter(|path| !path.starts_with('-')) {
                Some(path) => Form::Stated(format!("git -C {path} archive HEAD")),
                None => Form::Plain,
            }
        }
        _ => Form::Plain,
    }
}

/// Whether a word is the server of sftp, as `Subsystem sftp` of sshd names it.
fn is_sftp(program: &str) -> bool {
    program == "internal-sftp"
        || Path::new(program).file_name().is_some_and(|name| name == "sftp-server")
            && program.starts_with("/usr/lib")
}

/// The server of scp: `-t PATH` writes, `-f PATH…` reads.
fn scp(words: &[&str]) -> Option<String> {
    let (options, paths) = split(words);
    let letters: String = options.iter().map(|option| option.trim_start_matches('-')).collect();
    if paths.is_empty() || letters.chars().any(|c| !"rpdqvtf".contains(c)) {
        return None;
    }
    let paths = paths.join(" ");
    match (letters.contains('t'), letters.contains('f'), letters.contains('r')) {
        // The client chooses the names below a folder.
        (true, false, _) => Some(format!("tee -- {paths}; tar x -C {paths}")),
        (false, true, true) => Some(format!("tar c -- {paths}")),
        (false, true, false) => Some(format!("cat -- {paths}")),
        _ => None,
    }
}

/// The server of rsync: `--sender OPTIONS . PATH…` reads, `OPTIONS . PATH` writes.
fn rsync(words: &[&str]) -> Option<String> {
    let (is_sender, words) = match words {
        ["--sender", rest @ ..] => (true, rest),
        words => (false, words),
    };
    let (options, paths) = split(words);
    let (".", paths) = (*paths.first()?, paths.get(1..)?) else { return None };
    if paths.is_empty() || paths.iter().any(|path| path.starts_with('-')) {
        return None;
    }
    let mut stated = vec!["rsync".to_owned()];
    for option in options {
        if option.starts_with("--") {
            stated.push((*option).to_owned());
            continue;
        }
        // Behind `e`, the client states what it supports. With `s`, paths are sent later.
        let letters = option.split('e').next()?;
        if letters.contains('s') {
            return None;
        }
        stated.extend((letters.len() > 1).then(|| letters.to_owned()));
    }
    let paths = paths.join(" ");
    // `tar` states that everything below a folder is read.
    stated.push(if is_sender {
        format!("{paths} /tmp/opsctl-copy/; tar c -- {paths}")
    } else {
        format!("/tmp/opsctl-copy/ {paths}")
    });
    Some(stated.join(" "))
}

/// The options at the beginning, and the other words.
fn split<'a, 'b>(words: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str]) {
    let options = words.iter().take_while(|word| word.starts_with('-') && **word != "--").count();
    let (options, rest) = words.split_at_checked(options).unwrap_or((words, &[]));
    (options, rest.strip_prefix(&["--"]).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_clients_are_stated_as_what_they_do() {
        let stated = |text: &str| match read(text) {
            Form::Stated(stated) => stated,
            other => format!("{other:?}"),
        };
        assert_eq!(stated("scp -t /p"), "tee -- /p; tar x -C /p");
        assert_eq!(stated("scp -r -p -t /p"), "tee -- /p; tar x -C /p");
        assert_eq!(stated("scp -f /d/*"), "cat -- /d/*");
        assert_eq!(stated("scp -r -f /d"), "tar c -- /d");
        assert_eq!(stated("rsync --server -e.LsfxCIvu . /p"), "rsync /tmp/opsctl-copy/ /p");
        assert_eq!(
            stated("rsync --server -logDtpre.iLsfxCIvu --delete . /p"),
            "rsync -logDtpr --delete /tmp/opsctl-copy/ /p"
        );
        assert_eq!(
            stated("rsync --server --sender -vlre.LsfxCIvu . /p"),
            "rsync -vlr /p /tmp/opsctl-copy/; tar c -- /p"
        );
        assert_eq!(stated("git-upload-pack '/repo.git'"), "git -C /repo.git archive HEAD");
        for sftp in ["internal-sftp", "/usr/lib/openssh/sftp-server", "/usr/libexec/sftp-server"] {
            assert_eq!(read(sftp), Form::Sftp, "{sftp}");
        }
    }

    #[test]
    fn servers_whose_words_hide_what_they_do_are_refused_and_other_commands_state_themselves() {
        for text in [
            "scp -t 'a b'",
            "scp -t /p; id",
            "scp -x -t /p",
            "scp -t",
            "scp -t -f /p",
            "scp /a /b",
            "rsync --server -se.LsfxCIvu",
            "rsync --server -vre.iLsfxCIvu . $(id)",
            "rsync --server -vr . -x",
        ] {
            assert!(matches!(read(text), Form::Refused(_)), "{text}");
        }
        for text in [
            "docker ps",
            "sh -c 'touch pwned'; rsync --server -r . /p",
            "/tmp/sftp-server",
            "sftp-server",
            "git-upload-pack '/a b'",
            "git-receive-pack '/r'",
        ] {
            assert_eq!(read(text), Form::Plain, "{text}");
        }
    }
}
