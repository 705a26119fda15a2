//! Programs whose use is not described, and which may run the words that follow: `zz docker restart jellyfin`.
//!
//! What such a program does is unknown, so this adds actions only. Each word, and each later part of the words, that
//! starts with the name of a program is read as a command.

use super::generous::acts;
use super::line::Line;
use super::targets;
use crate::catalogue::Catalogue;
use crate::catalogue::program::{How, Stated};
use crate::shell::{self, Command, Node, Unread, Word};
use crate::terms::action::{Action, ActionKind};

/// The maximum number of words that are searched.
const MOST_WORDS: usize = 32;
/// The maximum number of parts that are read as commands.
const MOST_READINGS: usize = 8;
/// The maximum length in bytes of a part that is read as a command; a longer one is searched as text.
const LONGEST: usize = 4096;

/// Whether nothing is known of what a command line does: its program is not described, or this use of it is not.
pub(super) fn is_open(line: &Line<'_>) -> bool {
    let Some(usage) = line.usage() else { return true };
    let form = usage.form;
    form.runs.is_none()
        && form.does.is_none()
        && form.effect.is_none_or(|terms| terms.stated == Stated::Unknown)
}

/// The actions of the words of a command line, read as commands of their own.
pub(super) fn find_actions(command: &Command, catalogue: Catalogue) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut left = MOST_READINGS;
    for (at, word) in command.words.iter().enumerate().skip(1).take(MOST_WORDS) {
        let later = command.words.get(at..).unwrap_or_default();
        let text = word.text.trim_start_matches(['!', '@', ':', '=']);
        let is_script = text.contains(|c: char| c.is_whitespace() || ";|&$`(\"".contains(c));
        let text = if is_script && mentions(text, catalogue) {
            text.to_owned()
        } else if !is_script && later.len() > 1 && may_run(text, catalogue) {
            quoted(later)
        } else {
            continue;
        };
        read(&text, command, catalogue, &mut actions);
        // `mail` and `http` are words, too, and name programs only with an address.
        if !text.contains('@') && !text.contains("://") {
            actions.retain(|action| action.kind != ActionKind::Notification);
        }
        left -= 1;
        if !actions.is_empty() || left == 0 {
            break;
        }
    }
    let is_long = command.words.len() > MOST_WORDS || left == 0;
    if actions.is_empty()
        && is_long
        && command.words.iter().skip(1).any(|word| mentions(&word.text, catalogue))
    {
        let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        suspect(&words.join(" "), command, catalogue, &mut actions);
    }
    actions
}

/// Whether a word of the text is the name of a program that acts.
fn mentions(text: &str, catalogue: Catalogue) -> bool {
    let between = |c: char| c.is_whitespace() || r#""',[]{}<>\;|&()`"#.contains(c);
    text.split(between).any(|word| acts(catalogue, word))
}

/// Whether this is the name of a program that acts or runs another one.
fn may_run(word: &str, catalogue: Catalogue) -> bool {
    let runs = |how: How| !matches!(how, How::Find | How::Fd | How::Crontab);
    acts(catalogue, word)
        || catalogue
            .find(word)
            .is_some_and(|program| program.forms().any(|form| form.runs.is_some_and(|part| runs(part.how))))
}

/// The words as a shell would read them back; an unknown one remains a variable.
fn quoted(words: &[Word]) -> String {
    let quote = |word: &Word| match word.known() {
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => "\"$WORD\"".to_owned(),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn read(text: &str, command: &Command, catalogue: Catalogue, actions: &mut Vec<Action>) {
    if text.len() <= LONGEST {
        let script = shell::read_with(text, command.cwd.as_deref(), catalogue);
        script.visit(|node| match node {
            Node::Command(inner) => {
                let inner = inner.within(command);
                targets::find_actions(&Line::new(&inner, catalogue), actions);
            }
            Node::Unread(unread) => suspect(&unread.text, command, catalogue, actions),
            Node::Group(..) => {}
        });
        if !actions.is_empty() {
            return;
        }
    }
    // Text in another language: `(system "docker restart jellyfin")`.
    suspect(text, command, catalogue, actions);
}

/// Adds the actions that the words of a text suggest.
fn suspect(text: &str, command: &Command, catalogue: Catalogue, actions: &mut Vec<Action>) {
    let unread = Unread { text: text.to_owned(), ..command.into() };
    super::generous::find_actions(&unread, catalogue, actions);
}
