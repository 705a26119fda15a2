//! What is sent to a host. The login shell of the account reads it, and which shell that is, is not known: so it is written in what
//! bash, dash, ash, zsh, csh and fish read alike, and the shell that the text was judged for gets the text as one word.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;

use opsctl_policy::model::installation::inventory::Shell;

/// What is known of shells.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shells {
    words: String,
}

/// First words that a shell does not take for programs.
static WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let shells: Shells = serde_saphyr::from_str(include_str!("shells.yaml")).unwrap_or_default();
    shells.words.split_whitespace().map(str::to_owned).collect()
});

/// The locale in which texts are judged.
const LOCALE: &str = "env LC_ALL=C.UTF-8 ";

/// The words between which commands stand.
const BETWEEN: [&str; 4] = ["&&", "||", "|", ";"];

/// What is sent so that this shell runs a text. A text that every shell reads alike is sent as it is, except for `sh`.
pub fn sent(text: &[u8], shell: Shell) -> Vec<u8> {
    // The last newlines would be lost below.
    let text = text
        .get(..text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1))
        .unwrap_or_default();
    let name = match shell {
        Shell::Bash if std::str::from_utf8(text).is_ok_and(is_plain) => return text.to_owned(),
        Shell::Bash => "bash",
        Shell::Sh => "sh",
    };
    // Other locales read bytes such as those of `你\\` as one character, and an escape can state any byte.
    let locale = if text.iter().any(|byte| !byte.is_ascii() || *byte == b'\\') { LOCALE } else { "" };
    let start = |word: Vec<u8>| [format!("exec {locale}{name} -c ").as_bytes(), &word].concat();
    if !text.contains(&b'\n') {
        return start(one_word(text));
    }
    // In csh, a line ends within quotes, too.
    let mut escaped = vec![b'\''];
    for byte in text {
        match byte {
            b'\n' => escaped.extend(br"\n"),
            b'\\' => escaped.extend(br"\\"),
            b'\'' => escaped.extend(br"'\''"),
            byte => escaped.push(*byte),
        }
    }
    start(one_word(&[format!("exec {name} -c \"$(printf %b ").as_bytes(), &escaped, b"')\""].concat()))
}

/// A line as one word. Within single quotes, `!` is special in csh, and a backslash in fish.
fn one_word(line: &[u8]) -> Vec<u8> {
    let mut word = Vec::new();
    for part in line.chunk_by(|one, two| is_literal(*one) && is_literal(*two)) {
        match part {
            [byte] if !is_literal(*byte) => word.extend([b'\\', *byte]),
            part => word.extend([b"'", part, b"'"].concat()),
        }
    }
    word
}

const fn is_literal(byte: u8) -> bool {
    !matches!(byte, b'\'' | b'\\' | b'!')
}

/// Whether every shell reads a text alike: programs with plain words, in a row.
fn is_plain(text: &str) -> bool {
    let mut rest = text.trim_start_matches(' ');
    let mut is_first = true;
    // The one that csh binds closer differs.
    let mut between = BTreeSet::new();
    while !rest.is_empty() {
        rest = if let Some(word) = BETWEEN.iter().find(|word| rest.starts_with(**word)) {
            if std::mem::replace(&mut is_first, true) {
                return false;
            }
            between.insert(*word);
            rest.get(word.len()..).unwrap_or_default()
        } else {
            let Some(after) = after_word(rest) else { return false };
            let word = rest.strip_suffix(after).unwrap_or_default();
            if std::mem::take(&mut is_first) && !is_program(word) {
                return false;
            }
            after
        }
        .trim_start_matches(' ');
    }
    let is_mixed = between.contains("&&") && between.contains("||");
    !(is_first || is_mixed)
}

/// Whether a word names a program.
fn is_program(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c))
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+".contains(c))
        && !WORDS.contains(word)
}

/// What follows a plain word.
fn after_word(text: &str) -> Option<&str> {
    let mut rest = Some(text).filter(|text| !text.starts_with(['=', '%']))?;
    while let Some(first) = rest.chars().next() {
        let special = match first {
            ' ' | '|' | ';' | '&' => break,
            '\'' => r"\!",
            '"' => r"\!$`",
            c if c.is_ascii_alphanumeric() || "-_./:,+=@%".contains(c) => {
                rest = rest.get(1..)?;
                continue;
            }
            _ => return None,
        };
        let (inner, after) = rest.get(1..)?.split_once(first)?;
        rest = Some(after).filter(|_| {
            inner.bytes().all(|byte| (b' '..=b'~').contains(&byte))
                && !inner.contains(|c| special.contains(c))
        })?;
    }
    Some(rest).filter(|rest| rest.len() < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output, Stdio};

    /// Shells that may be the login shell of an account. One that is not installed is left out.
    const SHELLS: [&str; 5] = ["bash", "dash", "zsh", "fish", "tcsh"];

    fn in_each_shell(text: &[u8]) -> Vec<(&'static str, Output)> {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let run = |shell: &'static str| {
            let mut command = Command::new(shell);
            command.arg("-c").arg(OsStr::from_bytes(text)).env("HOME", "/nonexistent").stdin(Stdio::null());
            Some((shell, command.output().ok()?))
        };
        SHELLS.into_iter().filter_map(run).collect()
    }

    #[test]
    fn the_file_of_shells_is_valid() {
        assert!(serde_saphyr::from_str::<Shells>(include_str!("shells.yaml")).is_ok());
        assert!(WORDS.contains("eval") && WORDS.contains("repeat") && !WORDS.contains("docker"));
    }

    #[test]
    fn texts_that_all_shells_read_alike_are_sent_as_they_are() {
        for text in [
            "docker ps",
            "docker ps --format '{{.Names}} $x' | sort -u",
            "cat /etc/hostname; /usr/bin/id -u && echo \"a  b\"",
            "date +%F -d @0",
            "rsync --server --sender -vre.LsfxCIvu . /p",
            "git-upload-pack '/r.git'",
        ] {
            assert_eq!(sent(text.as_bytes(), Shell::Bash), text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_one_word_for_the_shell_that_they_were_judged_for() {
        for text in [
            "id &>/dev/null x",
            "echo $'a'",
            r#"echo "\"; x; #""#,
            r"echo 'a\' ",
            "eval 'a'",
            "'eval' 'a'",
            "repeat 3 x",
            "test 'a[$(x)]' -eq 1",
            "x=1 y",
            "=x y",
            "a =x",
            "%1",
            "a *",
            "a ~",
            "a {b,c}",
            "a b#c",
            "a #c",
            "a 2>b",
            "a >b",
            "a <b",
            "a & b",
            "a |& b",
            "a;",
            "a ;; b",
            "a && b || c",
            "a !b",
            "a '!b'",
            "a 'b",
            "a é",
        ] {
            let sent = String::from_utf8(sent(text.as_bytes(), Shell::Bash)).unwrap();
            assert!(
                sent.starts_with("exec bash -c ") || sent.starts_with("exec env LC_ALL=C.UTF-8 bash -c "),
                "{text}: {sent}"
            );
        }
        assert_eq!(sent(b"docker ps", Shell::Sh), b"exec sh -c 'docker ps'");
        assert_eq!(
            sent(b"echo $'\\' !", Shell::Bash),
            br"exec env LC_ALL=C.UTF-8 bash -c 'echo $'\'\\\'' '\!"
        );
    }

    #[test]
    fn every_shell_passes_a_text_on_unchanged() {
        for text in [
            r#"printf '[%s]' "a'b" 'c\' "\$x" '!d' "#,
            "printf '[%s]' 'é' '#' \"$(echo x)\" {a,b} *.none ~none",
            "printf '[%s]' a\nprintf '[%s]' 'b\\n' \"c'\n!d\" $'\\x41'\n",
            "cat <<'END'\na\\tb\nEND\n",
        ] {
            let plain = Command::new("bash").args(["-c", text]).output().unwrap();
            assert!(plain.status.success(), "{text}");
            for (shell, output) in in_each_shell(&sent(text.as_bytes(), Shell::Bash)) {
                assert_eq!(
                    (output.status, output.stdout),
                    (plain.status, plain.stdout.clone()),
                    "{shell}: {text}"
                );
            }
        }
    }
}
