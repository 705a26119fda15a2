//! What a command on a host reads from stdin, where that decides what it does.

use super::transfers::{Connects, HERE, TRANSFERS, is_option, words};
use crate::guard::explain::explain;
use crate::machine::request::Request;
use opsctl_policy::model::installation::inventory::Shell;
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_probe::health::quoted;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::Place;
use opsctl_reader::terms::effect::Effect;

/// The longest input that is read before a command runs, in bytes: a script becomes an argument.
pub const LONGEST: usize = 100_000;

/// Why commands do not run.
pub const NO_COMMAND: &str =
    "it has no command, and no script on stdin: no interactive shell is opened; state the command";
const TOO_LONG: &str =
    "what is on stdin has more than 100 KB, with quotes; copy it to the host, and run it there";
const DEPENDS: &str = "what the command does depends on its input: a shell with a script on stdin runs alone, as `ssh HOST bash -s`; otherwise write the input into the command, or give it none (`ssh -n`)";

/// Why a command gets no input where that is not read: the line of all gates that pass it on while it arrives.
pub const UNREAD: &str = "what the command does depends on its input, which is not read here; write the input into the command, or give it none";

/// Why a text that may change its locale does not run.
pub const LOCALE: &str = "the text has characters beyond ASCII and may set a variable of the locale, so the shell may read other words than were judged; leave out one of them";

/// Programs that set variables which their words name.
const SETTERS: [&str; 3] = ["env", "sudo", "doas"];

/// Whether a text may change the locale in which a shell reads it, and has bytes that other locales read differently: there, a sign
/// after such a byte is a part of a character. `$'…'` may state any byte.
pub fn changes_locale(text: &str) -> bool {
    let is_byte = |c: char| c.is_ascii_digit() || "xuU".contains(c);
    let has_escapes = text.contains("$'") && text.split('\\').skip(1).any(|after| after.starts_with(is_byte));
    if text.is_ascii() && !has_escapes {
        return false;
    }
    let plain = text.replace(['\'', '"', '\\'], "");
    let is_sign = |byte: u8| (b'0'..=b'~').contains(&byte) && byte.is_ascii_punctuation();
    let mut pairs = text.bytes().zip(text.bytes().skip(1));
    let is_read_apart = has_escapes || pairs.any(|(one, next)| !one.is_ascii() && is_sign(next));
    let mut words = plain.split(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
    let sets = words.any(|word| SETTERS.contains(&word)) && text.contains(['$', '`', '{', '*', '?', '[']);
    ["LC_", "LANG"].iter().any(|name| plain.contains(name)) || is_read_apart && (sets || text.contains("${!"))
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

/// What a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A script, which it runs.
    Script,
    /// Data that decides what it does.
    Arguments,
    /// Data that decides nothing, or no data.
    Data,
}

/// A command whose input has been read.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The bash text that does the same.
    pub stated: String,
    /// What runs.
    pub runs: String,
    /// Its input; `None`: that of the client, or none if it is in what runs.
    pub input: Option<Vec<u8>>,
}

/// What a command takes. The error is a line for the client.
pub fn takes(text: &str, depends: bool) -> Result<Takes, String> {
    if is_script(text) {
        Ok(Takes::Script)
    } else if !depends {
        Ok(Takes::Data)
    } else if words(text)
        .is_some_and(|words| is_plain_xargs(&words) || takes_commands_itself(text) && !takes_names(text))
    {
        // Nothing else reads what is on stdin.
        Ok(Takes::Arguments)
    } else {
        Err(DEPENDS.to_owned())
    }
}

/// A text of this shell as bash reads it.
pub fn in_bash(shell: Shell, text: &str) -> String {
    match shell {
        Shell::Bash => text.to_owned(),
        Shell::Sh => format!("sh -c {}", quoted(text)),
    }
}

/// A command of a shell on a host with the input that it takes. The error is a line for the client.
pub fn known(
    (host, shell): (Option<&str>, Shell),
    text: &str,
    input: Option<Vec<u8>>,
) -> Result<Known, String> {
    let input = String::from_utf8(input.ok_or(TOO_LONG)?).ok().filter(|input| !input.contains('\0'));
    let input = input.ok_or("the script on stdin is not text, so what it does cannot be determined")?;
    if changes_locale(&format!("{text}\n{input}")) {
        return Err(LOCALE.to_owned());
    }
    let Some(runs) = with_script(text, &input) else {
        let stated = command(host, &in_bash(shell, text), Stdin::Script(&input));
        return Ok(Known { stated, runs: text.to_owned(), input: Some(input.into_bytes()) });
    };
    if runs.trim().is_empty() || runs.starts_with('-') {
        return Err(NO_COMMAND.to_owned());
    }
    if runs.len() > LONGEST {
        return Err(TOO_LONG.to_owned());
    }
    Ok(Known { stated: command(host, &in_bash(shell, &runs), Stdin::Plain), runs, input: None })
}

/// Whether what a command does depends on its input: what the reader finds differs between none, what is not known, and names of a
/// secret file; or a program of it is known to read commands or names of files.
pub fn depends(host: Option<&str>, text: &str, request: &Request) -> bool {
    let names = "/etc/shadow /etc/shadow /etc/shadow /etc/shadow\n".repeat(8);
    let inputs = [Stdin::Null, Stdin::Unknown, Stdin::Script(&names)];
    let [one, two, three] = inputs.map(|stdin| found(host, &command(host, text, stdin), request));
    one != two
        || two != three
        || one
            .0
            .iter()
            .any(|(part, _)| takes_names(part) || takes_commands(part) || takes_keys(part) || connects(part))
}

/// What the reader finds of a command on a host: its parts there, with their effects, and the numbers of actions, objections and
/// complaints.
fn found(
    host: Option<&str>,
    command: &str,
    request: &Request,
) -> (Vec<(String, Effect)>, usize, usize, Vec<String>) {
    let tool = ToolCall { command: Some(command.to_owned()), ..ToolCall::default() };
    let call = HookCall::default();
    let explanation = explain(&call, &tool, request, true);
    let complaints = explanation.complaints.iter().map(ToString::to_string).collect();
    let objections = explanation.acting.as_ref().map_or(0, |acting| acting.objections.len());
    let actions = explanation.actions().len();
    let is_there = |text: &str, is_elsewhere: bool| match host {
        Some(_) => is_elsewhere,
        // Not what states the input.
        None => !text.contains(HERE) && !text.trim_start().starts_with('<'),
    };
    let parts = explanation.effects.into_iter();
    let parts = parts.filter(|part| is_there(&part.text, !part.whereabouts.is_empty()));
    (parts.map(|part| (part.text, part.effect)).collect(), actions, objections, complaints)
}

/// The command on a host, as an agent would write it; without a host, on this one.
pub fn command(host: Option<&str>, text: &str, stdin: Stdin<'_>) -> String {
    let words = match host {
        Some(host) if text.is_empty() => format!("ssh {host}"),
        Some(host) => format!("ssh {host} {}", quoted(text)),
        None if matches!(stdin, Stdin::Plain) => text.to_owned(),
        None => format!("{{ {text}\n}}"),
    };
    match stdin {
        Stdin::Plain => words,
        Stdin::Null => format!("{words} </dev/null"),
        Stdin::Unknown => format!("cat {HERE} | {words}"),
        Stdin::Script(script) => {
            let mut end = "END".to_owned();
            while script.contains(&end) {
                end.push('_');
            }
            let last = if script.ends_with('\n') { "" } else { "\n" };
            format!("{words} <<'{end}'\n{script}{last}{end}\n")
        }
    }
}

/// Whether a command is a shell that runs what is on stdin.
pub fn is_script(text: &str) -> bool {
    with_script(text, "").is_some()
}

/// The command that runs a script as an argument, if a command is a shell that reads it from stdin. A script on stdin could read
/// a part of itself.
fn with_script(text: &str, script: &str) -> Option<String> {
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

/// Whether a command, as people read it, is one of a program that runs commands which lines of stdin state.
fn takes_commands(part: &str) -> bool {
    let program = part.split_whitespace().next().and_then(|word| Catalogue::default().find(word));
    program.is_some_and(|program| program.commands.iter().any(|(place, _)| *place == Place::InputLine))
}

/// Whether it runs commands that lines of stdin state, and no other program, which would get the input: `mail`, and not `ssh`.
fn takes_commands_itself(part: &str) -> bool {
    let program = part.split_whitespace().next().and_then(|word| Catalogue::default().find(word));
    takes_commands(part) && program.is_some_and(|program| program.form.runs.is_none())
}

/// Whether a command is `xargs` that reads its input itself: with a file or a terminal, what it runs gets the input.
fn is_plain_xargs(words: &[&str]) -> bool {
    let Some((&"xargs", rest)) = words.split_first() else { return false };
    let is_valued = |word: &str| word.len() == 2 && word.ends_with(['d', 'E', 'I', 'L', 'n', 'P', 's']);
    let mut own = Vec::new();
    let mut left = rest.iter();
    while let Some(option) = left.next().filter(|word| word.starts_with('-')) {
        own.push(*option);
        if is_valued(option) {
            left.next();
        }
    }
    let is_long = |word: &str| word.starts_with("--a") || word.starts_with("--o");
    own.iter().all(|word| !is_long(word) && (word.starts_with("--") || !word.contains(['a', 'o'])))
}

/// Whether a command, as people read it, passes its input on to a program that runs already.
fn connects(part: &str) -> bool {
    let (program, rest) = program(part);
    let Connects { programs, verbs } = &TRANSFERS.connects;
    let does = |(verb, options): (&String, &Vec<String>)| {
        rest.contains(&verb.as_str())
            && (options.is_empty() || rest.iter().any(|word| is_option(word, options)))
    };
    programs.iter().any(|own| own == program) && verbs.iter().any(does)
}

/// Whether a command, as people read it, acts on keys that it takes from stdin.
fn takes_keys(part: &str) -> bool {
    let (program, rest) = program(part);
    let off = TRANSFERS.keys.get(program);
    off.is_some_and(|off| !rest.iter().any(|word| is_option(word, off)))
}

/// The name of the program of a command, as people read it, and the words behind it.
fn program(part: &str) -> (&str, Vec<&str>) {
    let mut words = part.split_whitespace();
    let program = words.next().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    (program, words.collect())
}

/// Whether a command, as people read it, may read files whose names are on stdin.
fn takes_names(part: &str) -> bool {
    let (program, words) = program(part);
    let listed = TRANSFERS.names.get(program);
    listed.is_some_and(|marks| {
        marks.is_empty() || words.iter().any(|word| marks.iter().any(|mark| word.contains(mark.as_str())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_the_corpus_act_on_a_host_as_here() {
        use opsctl_reader::actions::read_command_on;

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
                    let script = command(Some("ie01"), &script, Stdin::Plain);
                    let stated =
                        [command(Some("ie01"), text, Stdin::Plain), script].map(|command| acts(&command));
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
    fn programs_that_run_commands_of_their_input_are_known() {
        for (text, takes) in [
            ("mail -I root", true),
            ("/usr/bin/s-nail -~ x", true),
            ("vim f", true),
            ("cat f", false),
            ("", false),
        ] {
            assert_eq!(takes_commands(text), takes, "{text}");
        }
        for text in ["mail -I root", "xargs ls -la", "xargs -0 -n 1 cat", "xargs -n 1 docker inspect"] {
            assert_eq!(takes(text, true), Ok(Takes::Arguments), "{text}");
        }
        for text in [
            "ssh tv zip - -@",
            "ssh tv docker attach web",
            "ssh localhost htop",
            "xargs -a /tmp/x docker attach",
            "xargs -0a /tmp/x zip - -@",
            "xargs --arg-file=/tmp/x zip - -@",
            "xargs -o docker attach web",
        ] {
            assert!(takes(text, true).is_err(), "{text}");
        }
        assert!(takes("vim f", true).is_err() && takes("true; mail -I root", true).is_err());
    }

    #[test]
    fn programs_that_pass_their_input_on_or_act_on_keys_are_known() {
        for (text, passes) in [
            ("docker attach web", true),
            ("/usr/bin/podman container attach web", true),
            ("docker-compose attach web", true),
            ("docker start -ai web", true),
            ("docker start --interactive web", true),
            ("docker start -a web", false),
            ("docker restart web", false),
            ("htop", true),
            ("iotop", true),
            ("iotop -bn1", false),
            ("iotop --batch", false),
            ("top -bn1", false),
        ] {
            assert_eq!(connects(text) || takes_keys(text), passes, "{text}");
        }
    }

    #[test]
    fn a_script_cannot_end_its_own_statement() {
        let text = command(Some("ie01"), "bash -s", Stdin::Script("echo END\nEND\nEND_\nreboot"));
        assert!(
            text.starts_with("ssh ie01 'bash -s' <<'END__'\n") && text.ends_with("reboot\nEND__\n"),
            "{text}"
        );
        assert_eq!(command(Some("ie01"), "echo 'a'", Stdin::Null), r"ssh ie01 'echo '\''a'\''' </dev/null");
    }
}
