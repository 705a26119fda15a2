//! Words that an option may take as its value, although the catalogue does not say so.
//!
//! The catalogue describes the options that programs have today, not those that they get tomorrow, nor the beginnings of
//! names that some of them accept. An option that it does not describe may be the last of its word, or take the next one:
//! `systemctl --prop status reboot` reboots.

use super::Catalogue;
use super::lookup::Usage;
use super::options::{At, Item, Name, Scanner};
use super::program::{Form, How, Runs, Stated};
use crate::languages::names::shell as names;

/// The maximum number of such words of one command; a command with as many is not understood.
pub const MOST_WORDS: usize = 5;

/// Options with which most programs do nothing else.
const HARMLESS: [&str; 4] = ["--help", "--version", "--dry-run", "-h"];

/// An option before a verb or a command.
struct Own<'a> {
    name: Name<'a>,
    value: Option<At>,
    /// Index of its word.
    word: usize,
    /// Index of the next word, if no letter follows in its own.
    next: Option<usize>,
    /// Index of the first word before it that is no option.
    behind: Option<usize>,
}

impl Catalogue {
    /// The indexes of the words of a command line without which another verb is meant, another command runs, or no option
    /// keeps the program from acting, if an option before them that is not described takes them as its value.
    pub fn taken(self, texts: &[&str]) -> Vec<usize> {
        let is_option = |text: &&str| text.len() > 1 && text.starts_with('-') && *text != "--";
        let has_more =
            |name: &&str| self.find(name).is_some_and(|p| !p.verbs.is_empty() || p.form.runs.is_some());
        if !texts.iter().skip(1).any(is_option) || !texts.first().is_some_and(has_more) {
            return vec![];
        }
        let Some(usage) = self.usage(texts, &|_| false) else { return vec![] };
        let mut found = doubtful(texts, &usage);
        found.retain(|at| self.means_more(texts, &usage, &[*at]));
        // Without the verb, an option behind it may take the next one.
        let mut gone = Vec::new();
        while gone.len() < MOST_WORDS {
            let kept: Vec<usize> = (0..texts.len()).filter(|at| !gone.contains(at)).collect();
            let left: Vec<&str> = kept.iter().filter_map(|at| texts.get(*at).copied()).collect();
            let Some(now) = self.usage(&left, &|_| false) else { break };
            let is_word = |at: &usize| left.get(*at).is_some_and(|word| !word.starts_with('-'));
            let last = doubtful(&left, &now).into_iter().rfind(is_word);
            let Some(at) = last.and_then(|at| kept.get(at)) else { break };
            gone.push(*at);
            if gone.len() == MOST_WORDS || self.means_more(texts, &usage, &gone) {
                found.extend_from_slice(&gone);
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_WORDS);
        found
    }

    /// The first option before the command that a program without verbs runs which is not described, as written.
    pub fn undescribed<'t>(self, texts: &[&'t str], usage: &Usage) -> Option<&'t str> {
        let runs = usage.form.runs.filter(|_| usage.program.verbs.is_empty())?;
        let own = own_options(texts, usage.form, (usage.rest, texts.len()), Some(own_words(&runs)?));
        let judged = || usage.form.effect.iter().flat_map(|terms| terms.unknown_values.iter());
        let is_open = |own: &Own<'_>| {
            let is_judged = judged().any(|(option, _)| own.name.is(option));
            !is_judged && !describes(usage.form, own.name) && !own.name.is_any(&usage.form.valued)
        };
        own.into_iter().find(is_open).and_then(|own| texts.get(own.word).copied())
    }

    /// Whether a command line means something else without these words.
    pub fn means_more(self, texts: &[&str], usage: &Usage, gone: &[usize]) -> bool {
        let Some(at) = gone.iter().max().copied() else { return false };
        let Some(word) = texts.get(at) else { return false };
        if word.starts_with('-') {
            let forms = [usage.form, &usage.program.form];
            return !forms.iter().any(|form| form.valued.contains(word))
                && (HARMLESS.contains(word) || forms.iter().any(|form| form.quiet.contains(word)));
        }
        let kept = texts.iter().enumerate().filter(|(index, _)| !gone.contains(index));
        let left: Vec<&str> = kept.map(|(_, text)| *text).collect();
        let Some(other) = self.usage(&left, &|_| false) else { return false };
        let verb = |usage: &Usage, texts: &[&str]| -> Vec<String> {
            usage.verb.iter().filter_map(|index| texts.get(*index)).map(|text| (*text).to_owned()).collect()
        };
        if !other.verb.is_empty() && verb(&other, &left) != verb(usage, texts) {
            return true;
        }
        // Without a further word, nothing is done.
        let Some(next) = texts.iter().skip(at + 1).find(|text| !text.starts_with('-')) else { return false };
        let may_be_verb = next.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c));
        let is_change =
            |form: &Form| form.effect.is_some_and(|terms| matches!(terms.stated, Stated::Changes(_)));
        let runs = usage.form.runs.and_then(|runs| own_words(&runs)).is_some();
        runs && at >= usage.rest
            || !usage.verb.is_empty() && other.verb.is_empty() && may_be_verb && is_change(other.form)
    }
}

/// The indexes of the words behind options that are not described, before the verb or the command.
fn doubtful(texts: &[&str], usage: &Usage) -> Vec<usize> {
    let mut found = Vec::new();
    let mut add = |option: &Own<'_>, is_described: bool| {
        found.extend(
            option.next.filter(|next| !is_described && option.value.is_none() && *next < texts.len()),
        );
    };
    if let Some((program, end)) = usage.before {
        for option in own_options(texts, &program.form, (1, end), None) {
            add(&option, describes(&program.form, option.name));
        }
    }
    let has_verb = usage.rest > usage.start;
    if !usage.program.verbs.is_empty() {
        let last = usage.verb.last().map_or(usage.rest, |last| last + 1);
        let (end, words) = if has_verb { (last, None) } else { (texts.len(), Some(0)) };
        for option in own_options(texts, &usage.program.form, (usage.start, end), words) {
            let verb = option.behind.and_then(|index| texts.get(index)).copied();
            let of_verb = verb.iter().flat_map(|verb| usage.program.ways(verb)).map(|(way, _)| &way.form);
            let mut forms = of_verb.chain([&usage.program.form]);
            add(&option, forms.any(|form| describes(form, option.name)));
        }
    }
    if let Some(words) = usage.form.runs.and_then(|runs| own_words(&runs)) {
        for option in own_options(texts, usage.form, (usage.rest, texts.len()), Some(words)) {
            let is_common = has_verb && names::TERMINAL_OPTIONS.iter().any(|one| option.name.is(one));
            add(&option, is_common || describes(usage.form, option.name));
        }
    }
    found.dedup();
    found
}

/// The number of words before the command that a program runs; `None` where an option states the command.
fn own_words(runs: &Runs) -> Option<usize> {
    matches!(runs.how, How::Command | How::Joined | How::Xargs).then_some(runs.after.0)?
}

/// The options from one index to another one; `words` is the number of words that may come before them.
fn own_options<'a>(
    texts: &'a [&'a str],
    form: &'a Form,
    (from, end): (usize, usize),
    words: Option<usize>,
) -> Vec<Own<'a>> {
    let texts = texts.get(..end).unwrap_or(texts);
    let mut scanner = Scanner::new(texts, from, &form.valued).with_flags(&form.flags);
    let (mut found, mut passed, mut behind) = (Vec::new(), 0, None);
    let mut word = scanner.position();
    while let Some(item) = scanner.next() {
        match item {
            // Its words are the command.
            Item::Option(name, Some(_)) if form.runs.is_some_and(|runs| name.is_any(&runs.split)) => break,
            Item::Option(name, value) => {
                let next = (!scanner.is_inside()).then_some(scanner.position());
                found.push(Own { name, value, word, next, behind });
            }
            Item::Positional(index) => {
                let is_assigned = form.runs.is_some_and(|runs| runs.assigns)
                    && texts.get(index).is_some_and(|word| word.contains('='));
                if words.is_some_and(|words| passed >= words) && !is_assigned {
                    break;
                }
                passed += usize::from(!is_assigned);
                behind = behind.or(Some(index));
            }
            Item::Dashes(_) => break,
        }
        if !scanner.is_inside() {
            word = scanner.position();
        }
    }
    found
}

/// Whether a form describes an option without a value.
fn describes(form: &Form, name: Name<'_>) -> bool {
    let runs = form.runs.iter().flat_map(|runs| {
        [runs.words_need, runs.at_once, runs.exact, runs.typed, runs.timers, runs.home_with, runs.stdin_with]
    });
    let does = form.does.iter().flat_map(|does| {
        let with = does.with.iter().map(|(_, options)| *options);
        [does.needs, does.all, does.selects].into_iter().chain(with).collect::<Vec<_>>()
    });
    let mut doubted = form.effect.iter().flat_map(|terms| terms.unknown_values.iter());
    name.is_any(&form.flags)
        || doubted.any(|(option, values)| values.is_empty() && name.is(option))
        || name.is_any(&form.lists_with)
        || name.is_any(&HARMLESS)
        || runs.chain(does).any(|options| name.is_any(&options))
}
