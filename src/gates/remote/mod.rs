//! What clients of ssh ask a host for, as the bash command that does the same.
//!
//! `scp`, `sftp`, `rsync` and `git` start a server on the host, whose words state only a part of what it does: `transfers` reads
//! them. `files` passes requests of sftp on, which `sftp` reads; `push` reads what `git push` sends, `rules` what rsync
//! sends, and `input` what a command reads.

pub mod files;
pub mod input;
pub mod push;
pub mod rules;
pub mod sftp;
pub mod transfers;

use transfers::{Stated, is_named, rsync, scp, unread, words};

/// What a call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// It runs a command.
    Command,
    /// It transfers files with a protocol that its command states.
    Transfer(Stated),
    /// It reads this repository, a word for bash.
    Fetch(String),
    /// It sends its commands to Git, for this repository, a word for bash.
    Push(String),
    /// It opens files with the protocol of sftp.
    Sftp,
    /// It speaks to the container engine of the host.
    Engine,
}

/// What a command of a client does. The error is a line for the client.
pub fn work(text: &str) -> Result<Work, String> {
    let words = words(text).unwrap_or_default();
    let work = match words.as_slice() {
        [server] if *server == "internal-sftp" || is_named(server, "sftp-server") => Work::Sftp,
        [program, rest @ ..] if is_named(program, "scp") => match scp(text, rest) {
            Some(found) => Work::Transfer(found),
            None => command(text)?,
        },
        [program, "--server", rest @ ..] if is_named(program, "rsync") => {
            Work::Transfer(rsync(program, rest)?)
        }
        ["docker" | "podman", "system", "dial-stdio"] => Work::Engine,
        ["git-upload-pack", path] | ["git", "upload-pack", path] => Work::Fetch((*path).to_owned()),
        ["git-upload-archive", ..] | ["git", "upload-archive", ..] => {
            let why = "`git archive` of another host is refused: the configuration of the repository states programs that it runs; clone the repository";
            return Err(why.to_owned());
        }
        ["git-receive-pack", path] | ["git", "receive-pack", path] => Work::Push((*path).to_owned()),
        _ => command(text)?,
    };
    Ok(work)
}

/// The command that reads what a fetch of a repository does: everything below it. Its files can name other repositories, of which
/// a fetch sends what it is asked for, so that it is none of a folder where a session may write.
pub fn fetched(repository: &str) -> String {
    format!("git -C {repository} archive HEAD; tar c -- {repository}")
}

/// A command that is no transfer.
fn command(text: &str) -> Result<Work, String> {
    if input::changes_locale(text) {
        return Err(input::LOCALE.to_owned());
    }
    unread(text).map_or(Ok(Work::Command), |program| {
        Err(format!("the transfer `{program}` is refused: its path cannot be determined; write it in full"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Work {
        work(text).unwrap()
    }

    #[test]
    fn transfers_are_stated_as_the_command_that_does_the_same() {
        for (text, copy) in [
            ("scp -t /p", "cp /tmp/opsctl-stream /p; opsctl-transfer"),
            ("scp -r -p -t /p", "cp -r /tmp/opsctl-stream /p; opsctl-receive -r /p; opsctl-transfer"),
            ("scp -r -f /p", "cp -r /p /tmp/opsctl-stream; tar c -- /p"),
            ("scp -f /d/*", "cp /d/* /tmp/opsctl-stream"),
            ("scp -t ~/x", "cp /tmp/opsctl-stream ~/x; opsctl-transfer"),
            ("scp -v -f -- '/a b'", "cp '/a b' /tmp/opsctl-stream"),
            ("rsync --server -e.LsfxCIvu . /p", "rsync  /tmp/opsctl-stream/ /p; opsctl-transfer"),
            ("rsync --server --sender -e.LsfxCIvu . /p", "rsync  /p /tmp/opsctl-stream/"),
            ("rsync --server --sender -vre.LsfxCIvu . /p", "rsync -vr /p /tmp/opsctl-stream/; tar c -- /p"),
            (
                "rsync --server -logDtpre.iLsfxCIvu --delete . /p",
                "rsync -logDtpr --delete /tmp/opsctl-stream/ /p; opsctl-transfer",
            ),
        ] {
            let Work::Transfer(found) = stated(text) else { panic!("{text}") };
            let runs = found.runs.clone().unwrap_or_default();
            assert_eq!(
                runs.contains("--safe-links"),
                text.starts_with("rsync") && !text.contains("--sender"),
                "{text}"
            );
            assert_eq!(runs.contains("if test -d "), text == "scp -t /p" || text == "scp -t ~/x", "{text}");
            assert_eq!(found.command, copy, "{text}");
        }
        assert_eq!(stated("git-upload-pack '/r.git'"), Work::Fetch("'/r.git'".to_owned()));
        assert_eq!(stated("git-receive-pack '/repo.git'"), Work::Push("'/repo.git'".to_owned()));
        for text in ["/usr/lib/openssh/sftp-server", "internal-sftp"] {
            assert_eq!(stated(text), Work::Sftp);
        }
        assert_eq!(stated("docker system dial-stdio"), Work::Engine);
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
            "rsync -vl --server . /p",
            "true; rsync --server . /p",
            "sudo rsync --server . /p",
            "./rsync --server . /p",
            "/tmp/rsync --server . /p",
            "/tmp/scp -t /p",
            "/tmp/sftp-server",
        ] {
            assert_eq!(stated(text), Work::Command, "{text}");
        }
    }

    #[test]
    fn a_text_beyond_ascii_does_not_change_its_locale() {
        for text in [
            "unset LC_ALL; : ${LC_ALL:=zh_CN.gbk}\necho \"你\\\"; id; echo \"你\\\"",
            "LC_ALL[0]=zh_CN.gbk\necho \"你\\\"",
            "select LC_ALL in zh_CN.gbk; do break; done <<< 1\necho 你",
            "env LC_ALL=zh_CN.gbk bash -c 'echo 你'",
            "export LANG=zh_CN.gbk; echo 你",
            "env L\"C\"_ALL=zh_CN.gbk bash -c 'echo 你'",
            "x=L; env ${x}C_ALL=zh_CN.gbk bash -c 'echo \"你\\\"; id; echo \"你\\\"'",
            "sudo L{C_ALL,_}=zh_CN.gbk bash -c 'echo 你\\'",
            "x=L; y=${x}C_ALL; : ${!y:=zh_CN.gbk}\necho \"你\\\"",
            "env LC_ALL=zh_CN.gbk bash -c $'echo \"\\xa0\\\\\"'",
        ] {
            assert_eq!(work(text), Err(input::LOCALE.to_owned()), "{text}");
        }
        for text in [
            "LC_ALL=C sort /f",
            "echo 你",
            "grep 'ü\\|ä' /f",
            "env x=ü id",
            "echo \"ü ${x}\"",
            "echo $'a\\tb'",
        ] {
            assert_eq!(work(text), Ok(Work::Command), "{text}");
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
            assert!(work(text).is_err(), "{text}");
        }
    }
}
