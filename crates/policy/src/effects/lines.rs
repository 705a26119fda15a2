//! Small languages with a command a line: batches of `sftp`, commands of `view`, menus of routers.

use super::proof::{Proof, READS};
use super::reason::Why;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::languages::names::lines;
use opsctl_reader::languages::sources::Sources;
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::class::Class;
use opsctl_reader::terms::effect::Effect;

fn proved(reads: bool) -> Proof {
    if reads { READS } else { (Effect::Unknown, Why::Statement) }
}

/// The effect of `sftp`, whose commands come on standard input.
pub fn sftp(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let batch = command.stdin.as_ref().and_then(Word::known);
    let looks = |line: &str| {
        let name = line.trim_start_matches(['-', '@', ' ']).split_whitespace().next();
        name.is_none_or(|name| name.starts_with('#') || lines::SFTP.has(name))
    };
    // A batch in a file is not looked at.
    let batches = Sources::of(usage, texts, &[], &["-b"], false).files;
    let from_stdin = batches.iter().all(|at| at.of(texts) == Some("-"));
    proved(from_stdin && batch.is_some_and(|batch| batch.lines().all(looks)))
}

/// The effect of `view`, whose commands stand in `-c`.
pub fn view(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let sources = Sources::of(usage, texts, &["-c"], &[], false);
    let value = usage.value();
    let mut in_ex_mode = false;
    let doubtful = Scanner::new(texts, usage.rest, &value).any(|item| match item {
        // In any other mode, `-s` reads keys from a file.
        Item::Option(name, _) => {
            in_ex_mode |= name.is_any(&["-e", "-E"]);
            name.is("-s") && !in_ex_mode
        }
        Item::Positional(index) => texts.get(index).is_some_and(|text| text.starts_with('+')),
        Item::Dashes(_) => false,
    });
    let mut commands = command.words_at(&sources.scripts).peekable();
    proved(!doubtful && commands.peek().is_some() && commands.all(|word| word.known().is_some_and(prints)))
}

/// A command that prints lines or ends the editor: `1,20p`, `q!`.
fn prints(command: &str) -> bool {
    let name = command.trim_start_matches(|c: char| c.is_ascii_digit() || " ,$.%+-:".contains(c));
    lines::EDITOR.has(name)
}

/// The effect of an editor, by the commands on its standard input: unknown, unless each line only edits the text that it opened.
pub fn edited(command: &Command) -> Proof {
    const EDITS: Proof = (Effect::Changes, Why::Stated);
    let Some(input) = &command.stdin else { return EDITS };
    let by_line = command.words.first().is_some_and(|name| lines::LINE_EDITORS.has(base_name(&name.text)));
    let mut inserts = false;
    let mut edits = |line: &str| {
        if inserts {
            inserts = line != ".";
            return true;
        }
        let Some(own) = behind_address(line) else { return false };
        inserts = lines::INSERTING.has(own);
        inserts || own.is_empty() || lines::EDITING.has(own) || replaces(own)
    };
    match input.known() {
        Some("") => EDITS,
        Some(script) if by_line && script.lines().all(&mut edits) => EDITS,
        _ => (Effect::Unknown, Why::Statement),
    }
}

/// The command behind the lines that it is for: `1,$`, `%`, `/pattern/,.+3`; `None` for an address that is not closed.
fn behind_address(line: &str) -> Option<&str> {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t,$.%+-;:^".contains(c));
        let Some(sign) = rest.chars().next().filter(|c| matches!(c, '/' | '?' | '\'')) else {
            return Some(rest.trim_end());
        };
        let inside = rest.get(1..)?;
        rest = if sign == '\'' { inside.get(1..)? } else { inside.split_once(sign)?.1 };
        if inside.contains('\\') {
            return None;
        }
    }
}

/// A replacement: `s/a/b/g`. A backslash may continue it in the next line.
fn replaces(command: &str) -> bool {
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(sign) = rest.chars().next().filter(char::is_ascii_punctuation) else { return false };
    let end = rest.rsplit(sign).next().unwrap_or_default();
    !command.ends_with('\\')
        && rest.split(sign).count() == 4
        && end.chars().all(|c| c.is_ascii_digit() || "gilnpI".contains(c))
}

/// Whether a `kill` ends nothing but what the text itself started: `kill %1`, `kill $!`.
pub fn ends_own_jobs(command: &Command) -> bool {
    let is_job = |word: &Word| match word.known() {
        Some(text) => {
            text.strip_prefix('%').is_some_and(|job| job.chars().all(|c| c.is_ascii_digit() || c == '+'))
        }
        None => matches!(word.text.as_str(), "$!" | "${!}" | "$(jobs -p)"),
    };
    let mut words = command.words.iter();
    let is_kill = words.next().and_then(Word::known) == Some("kill");
    let mut jobs = words.filter(|word| !word.text.starts_with('-')).peekable();
    is_kill && command.via.is_empty() && jobs.peek().is_some() && jobs.all(is_job)
}

/// The class of what a line for a `MikroTik` router changes; `None` for a line that reads.
pub fn router_class(command: &Command) -> Option<Class> {
    router_os(command).filter(|(effect, _)| *effect != Effect::Reads)?;
    let words = || command.words.iter().flat_map(|word| word.text.split(['/', '=']));
    let named = lines::ROUTER_CLASSES.0.iter().find(|(_, names)| words().any(|word| names.has(word)));
    named.map_or(Some(Class::Network), |(class, _)| Class::named(class))
}

/// The effect of a line for a `MikroTik` router: `/ip address print`; `None` for anything else.
pub fn router_os(command: &Command) -> Option<Proof> {
    command.host()?;
    let line: Vec<&str> = command.words.iter().map(|word| word.known().unwrap_or("[")).collect();
    let (menu, _) = line.first()?.strip_prefix('/')?.split_once('/').unwrap_or((line.first()?.get(1..)?, ""));
    if !lines::ROUTER_MENUS.has(menu) {
        return None;
    }
    let path: Vec<&str> =
        line.iter().flat_map(|word| word.split('/')).filter(|part| !part.is_empty()).collect();
    let plain =
        |part: &&&str| part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let verb = path.iter().take_while(plain).position(|part| matches!(*part, "print" | "export"));
    let harmless = |part: &&str| !part.contains(['[', ']', '{', '}', ';', '$']) && !part.starts_with("file");
    Some(proved(verb.is_some_and(|at| path.get(at + 1..).unwrap_or_default().iter().all(harmless))))
}
