//! Programs that send mail or chat messages from a command line.

use super::super::line::{Arguments, Line};
use super::{IN_FILE, IN_MESSAGE, UNNAMED, recipient, sent};
use crate::model::action::Action;
use crate::model::message::Recipient;
use crate::shell::Word;

/// How a program is told what to send to whom.
struct Mailer {
    names: &'static [&'static str],
    /// Options that take a value.
    valued: &'static [&'static str],
    /// Options with which nothing is sent.
    quiet: &'static [&'static str],
    /// Options that name recipients.
    to: &'static [&'static str],
    /// Options that hold a line of the message's head.
    heads: &'static [&'static str],
    /// Options with which recipients stand elsewhere, and where.
    elsewhere: &'static [(&'static str, &'static str)],
    /// Whether words that are no options are recipients; without one, nothing is sent.
    words: bool,
}

const MAILERS: &[Mailer] = &[
    Mailer {
        names: &["mail", "Mail", "mailx", "s-nail", "bsd-mailx", "heirloom-mailx", "mail.mailutils"],
        valued: &[
            "-s",
            "--subject",
            "-c",
            "--cc",
            "-b",
            "--bcc",
            "-r",
            "-S",
            "-a",
            "-A",
            "-C",
            "-q",
            "-X",
            "-Y",
            "-R",
            "-O",
            "-M",
            "-m",
            "-u",
            "-T",
            "-E",
            "--exec",
            "--append",
            "--attach",
            "--user",
        ],
        quiet: &[
            "-H",
            "--headers",
            "-e",
            "--exist",
            "-f",
            "--file",
            "-u",
            "--user",
            "-V",
            "--version",
            "-h",
            "--help",
        ],
        to: &["-c", "--cc", "-b", "--bcc"],
        heads: &["-a", "--append", "-C"],
        elsewhere: &[("-t", IN_MESSAGE), ("--to", IN_MESSAGE)],
        words: true,
    },
    Mailer {
        names: &["mutt", "neomutt"],
        valued: &["-s", "-c", "-b", "-a", "-e", "-f", "-F", "-H", "-i", "-m", "-Q", "-A", "-C", "-d", "-l"],
        quiet: &["-v", "-h", "--help", "-D", "-Q", "-A"],
        to: &["-c", "-b"],
        heads: &[],
        elsewhere: &[("-H", IN_FILE), ("-F", IN_FILE), ("-e", IN_MESSAGE)],
        words: true,
    },
    Mailer {
        names: &["sendmail", "exim", "exim4", "ssmtp", "esmtp"],
        valued: &[
            "-f", "-F", "-r", "-o", "-O", "-B", "-C", "-d", "-h", "-L", "-N", "-p", "-R", "-X", "-b", "-q",
        ],
        quiet: &["--help", "--version"],
        to: &[],
        heads: &[],
        elsewhere: &[("-t", IN_MESSAGE)],
        words: true,
    },
    Mailer {
        names: &["msmtp"],
        valued: &[
            "-a",
            "--account",
            "-C",
            "--file",
            "-f",
            "--from",
            "-F",
            "-X",
            "--logfile",
            "-N",
            "-R",
            "-O",
            "-o",
        ],
        quiet: &["-P", "--pretend", "-S", "--serverinfo", "--rmqs", "--configure", "--version", "--help"],
        to: &[],
        heads: &[],
        elsewhere: &[("-t", IN_MESSAGE), ("--read-recipients", IN_MESSAGE)],
        words: true,
    },
    Mailer {
        names: &["swaks"],
        valued: &[
            "-t",
            "--to",
            "--cc",
            "--bcc",
            "-f",
            "--from",
            "-s",
            "--server",
            "-p",
            "--port",
            "--helo",
            "--header",
            "--h-Subject",
            "--body",
            "--data",
            "-d",
            "--attach",
            "-a",
            "--auth",
            "-au",
            "--auth-user",
            "-ap",
            "--auth-password",
            "--quit-after",
            "-q",
            "--config",
            "--protocol",
            "--add-header",
            "--timeout",
        ],
        quiet: &["--help", "--version", "--support", "--dump"],
        to: &["-t", "--to", "--cc", "--bcc"],
        heads: &[],
        elsewhere: &[("--config", IN_FILE)],
        words: false,
    },
    Mailer {
        names: &["sendEmail", "sendemail", "smtp-cli", "telegram-send", "matrix-commander"],
        valued: &[],
        quiet: &["--help", "--version", "-h"],
        to: &[],
        heads: &[],
        elsewhere: &[],
        words: false,
    },
];

/// Programs of many uses, and the words that send.
const SENDERS: &[(&str, &[&str])] = &[
    ("ntfy", &["publish", "pub", "send", "trigger"]),
    ("gotify", &["push", "p"]),
    ("shoutrrr", &["send"]),
    ("signal-cli", &["send"]),
];

/// What sendmail does instead of sending, after `-b`.
const MODES_WITHOUT_MAIL: &[&str] = &["p", "v", "t", "i", "d", "D", "h", "H", "P", "V"];
/// Where swaks may be told to end before the message.
const BEFORE_THE_MESSAGE: &[&str] = &[
    "connect",
    "banner",
    "first-helo",
    "first-ehlo",
    "xclient",
    "tls",
    "helo",
    "ehlo",
    "auth",
    "mail",
    "from",
    "rcpt",
    "to",
];

pub(in super::super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let program = line.program();
    if let Some((_, words)) = SENDERS.iter().find(|(name, _)| *name == program) {
        let mut arguments = Arguments::default();
        let verb = line.subcommand(1, &["-u", "--url", "-c", "--config", "-a", "--account"], &mut arguments);
        if verb.is_some_and(|at| words.contains(&line.text(at))) && !arguments.has(&["-h", "--help"]) {
            actions.push(sent(line, vec![Recipient::Unread(UNNAMED)], program.to_owned()));
        }
        return;
    }
    let Some(mailer) = MAILERS.iter().find(|mailer| mailer.names.contains(&program)) else { return };
    let mut arguments = Arguments::default();
    line.arguments(1, mailer.valued, &mut arguments);
    if arguments.has(mailer.quiet) || ends_early(&arguments) {
        return;
    }
    let recipients = recipients(line, mailer, &arguments);
    if !recipients.is_empty() {
        actions.push(sent(line, recipients, program.to_owned()));
    }
}

fn ends_early(arguments: &Arguments<'_>) -> bool {
    let is = |option: &str, values: &[&str]| {
        arguments.value(&[option]).and_then(Word::known).is_some_and(|value| {
            values.contains(&value) || values.contains(&value.to_ascii_lowercase().as_str())
        })
    };
    is("-b", MODES_WITHOUT_MAIL) || is("--quit-after", BEFORE_THE_MESSAGE)
}

fn recipients(line: &Line<'_>, mailer: &Mailer, arguments: &Arguments<'_>) -> Vec<Recipient> {
    let mut found = Vec::new();
    if mailer.words {
        for word in positionals(line, arguments).filter_map(|index| line.word(index)) {
            addresses(word, &mut found);
        }
    }
    for (option, why) in mailer.elsewhere {
        if arguments.has(&[option]) {
            found.push(Recipient::Unread(why));
        }
    }
    // A conversation with the server, on standard input.
    if arguments.value(&["-b"]).is_some_and(|mode| matches!(mode.text.as_str(), "s" | "S")) {
        found.push(Recipient::Unread(IN_MESSAGE));
    }
    if mailer.words && found.is_empty() {
        return found;
    }
    for word in arguments.values(mailer.to) {
        addresses(word, &mut found);
    }
    for head in arguments.values(mailer.heads) {
        let (name, rest) = head.text.split_once(':').unwrap_or((&head.text, ""));
        match head.known() {
            Some(_) if !matches!(name.trim().to_ascii_lowercase().as_str(), "to" | "cc" | "bcc") => {}
            Some(_) => addresses(&Word::literal(rest), &mut found),
            None => found.push(Recipient::Unread(IN_MESSAGE)),
        }
    }
    // Lines with a tilde are commands, which may add recipients.
    if line.command.stdin.as_ref().is_some_and(|text| text.text.lines().any(|line| line.starts_with('~'))) {
        found.push(Recipient::Unread(IN_MESSAGE));
    }
    if found.is_empty() {
        found.push(Recipient::Unread(UNNAMED));
    }
    found
}

/// The words that are no options; behind mutt's `-a FILE …` only those after `--`.
fn positionals<'a>(line: &'a Line<'_>, arguments: &'a Arguments<'_>) -> impl Iterator<Item = usize> + 'a {
    let dashes = (1..line.command.words.len()).find(|&index| line.text(index) == "--");
    let attaches = line.program().ends_with("mutt") && arguments.has(&["-a"]);
    let from = dashes.filter(|_| attaches).unwrap_or(0);
    arguments.positionals.iter().copied().filter(move |&index| index >= from)
}

/// Addresses as mail programs take them: `a@b, Anna <c@d>`, `mailto:e@f`.
fn addresses(word: &Word, into: &mut Vec<Recipient>) {
    let Some(text) = word.known() else {
        into.push(recipient(word));
        return;
    };
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let address = part.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(part);
        for address in address.split_whitespace() {
            let address = address.strip_prefix("mailto:").unwrap_or(address);
            into.push(Recipient::Written(address.to_owned()));
        }
    }
}
