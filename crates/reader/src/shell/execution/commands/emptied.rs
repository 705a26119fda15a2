//! Words that may be none, or become options: where a variable is not set (`$NONE-exec`), where a pattern matches no file, and
//! where an option may take them.

use super::invocation::Invocation;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Name, Scanner};
use crate::catalogue::program::{Check, FileHow, How, Place};
use crate::catalogue::taken::MOST_WORDS;
use crate::languages::names::{redis, shell as names};
use crate::languages::redis::changes;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::text::{Field, Origin, Stretch, is_known, stretches};

/// Maximum number of patterns of one command that may match no file.
const MOST_PATTERNS: usize = 4;

/// Whether a text is a pattern of names of files.
pub(super) fn is_pattern(text: &str) -> bool {
    is_known(text) && text.contains(['*', '?', '['])
}

/// Whether a word begins with what `which` prints, with more behind it.
pub(super) fn is_located(field: &Field) -> bool {
    field.origin != Origin::Literal && names::INSTALLED.begin(&field.text) && field.text.contains('-')
}

impl Evaluator {
    /// The command with each such word as one of two: as it is written, and without the variable, or without the word. `taken` are
    /// the indexes of those that options may take.
    pub fn emptied(
        &mut self,
        invocation: &Invocation,
        taken: &[usize],
        drops_patterns: bool,
    ) -> Option<Invocation> {
        let rest_of = |text: &str| {
            let is_open = |index: usize| {
                // What a program prints may be nothing, too.
                self.unknowns
                    .get(index)
                    .is_some_and(|unknown| unknown.source.starts_with('$') && !unknown.is_number)
            };
            let mut kept = String::new();
            for stretch in stretches(text) {
                match stretch {
                    Stretch::Known(known) => kept.push_str(known),
                    Stretch::Mark(index) if is_open(index) => {}
                    Stretch::Mark(_) => return None,
                }
            }
            let begins = ["-", "of=", "if="].iter().any(|sign| kept.starts_with(sign));
            Some(kept).filter(|kept| kept.len() > 1 && begins && !is_known(text) && kept != text)
        };
        // What `which` has not found is no word, either.
        let rest_of = |field: &Field| {
            let located = || field.text.find('-').and_then(|at| field.text.get(at..)).map(str::to_owned);
            if is_located(field) { located() } else { rest_of(&field.text) }
        };
        let rests: Vec<Option<String>> = invocation.fields.iter().map(rest_of).collect();
        let texts = invocation.texts();
        let mut found = self.without_values(invocation, &texts);
        if taken.len() >= MOST_WORDS {
            self.complain(Complaint::ManyValues);
        }
        for at in taken {
            let doubted = found.get_or_insert_with(|| invocation.clone());
            if let Some(field) = doubted.fields.get_mut(*at) {
                let source = self.unknowns.show(&field.text);
                field.text = self.one_of(vec![field.text.clone(), String::new()], &source);
            }
        }
        let patterns =
            invocation.fields.iter().enumerate().skip(1).filter(|(_, field)| is_pattern(&field.text));
        for (index, pattern) in patterns.filter(|_| drops_patterns).take(MOST_PATTERNS) {
            let doubted = found.get_or_insert_with(|| invocation.clone());
            if let Some(field) = doubted.fields.get_mut(index) {
                field.text = self.one_of(vec![pattern.text.clone(), String::new()], &pattern.text);
            }
        }
        if rests.iter().all(Option::is_none) {
            return found;
        }
        let Some(usage) = self.catalogue.usage(&texts, &|_| false) else { return found };
        for (index, rest) in rests.into_iter().enumerate().skip(1) {
            let Some(rest) = rest.filter(|rest| steers(&usage, rest)) else { continue };
            let doubted = found.get_or_insert_with(|| invocation.clone());
            if let Some(field) = doubted.fields.get_mut(index) {
                let source = self.unknowns.show(&field.text);
                field.text = self.one_of(vec![field.text.clone(), rest], &source);
            }
        }
        found
    }

    /// The command with each value of an option that may be no word as one of two, if the option then takes the verb, or the name
    /// of a program, as its value: `docker -H $NONE ps restart web`.
    fn without_values(&mut self, invocation: &Invocation, texts: &[&str]) -> Option<Invocation> {
        let may_vanish = |text: &str| {
            self.unknowns
                .only_mark(text)
                .is_some_and(|unknown| unknown.many && unknown.candidates.is_empty() && !unknown.is_number)
        };
        if !texts.iter().any(|text| may_vanish(text)) {
            return None;
        }
        let usage = self.catalogue.usage(texts, &|_| false)?;
        let takes = |option: &str| {
            let programs = usage.before.iter().map(|(program, _)| *program).chain([usage.program]);
            let mut own = programs.map(|program| program.value.as_deref().unwrap_or_default());
            own.any(|own| own.contains(&option)) || usage.value().contains(&option)
        };
        let is_value = |at: &usize| {
            texts.get(at.wrapping_sub(1)).is_some_and(|before| takes(before))
                && texts.get(*at).is_some_and(|text| may_vanish(text))
        };
        let places: Vec<usize> = (2..texts.len().saturating_sub(1)).filter(is_value).collect();
        let mut found = None;
        for at in places {
            let left: Vec<&str> =
                texts.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, text)| *text).collect();
            // `ssh -p $NONE nas uptime` only reaches no host.
            let takes = |other: Usage| {
                !other.verb.is_empty()
                    || other.form.runs.is_some_and(|runs| !matches!(runs.how, How::Ssh))
                    || is_statement(&other, &left)
                    || self.catalogue.means_more(texts, &usage, &[at])
            };
            if !self.catalogue.usage(&left, &|_| false).is_some_and(takes) {
                continue;
            }
            let doubted = found.get_or_insert_with(|| invocation.clone());
            if let Some(field) = doubted.fields.get_mut(at) {
                let source = self.unknowns.show(&field.text);
                field.text = self.one_of(vec![field.text.clone(), String::new()], &source);
            }
        }
        found
    }
}

/// Whether the words of a command line are a statement that changes something: `redis-cli -n get flushall`.
fn is_statement(usage: &Usage, texts: &[&str]) -> bool {
    let check = usage.form.effect.and_then(|terms| terms.check);
    let words: Vec<&str> = usage.operands(texts).words().collect();
    let empties = || words.first().is_some_and(|word| redis::EMPTYING.has(&word.to_ascii_lowercase()));
    check == Some(Check::KeyValue) && (changes(&words) || empties())
}

/// Whether an option makes a program do more than it does without.
fn steers(usage: &Usage, option: &str) -> bool {
    let runs_found = usage.form.runs.is_some_and(|runs| matches!(runs.how, How::Find | How::Fd));
    if runs_found || usage.files().how == Some(FileHow::Dd) {
        return true;
    }
    let (program, files) = (usage.program, usage.files());
    let changes = usage.form.effect.map(|terms| terms.changes_with).unwrap_or_default();
    let values = usage.form.effect.map(|terms| terms.unknown_values).unwrap_or_default();
    let listed = [changes, files.outputs, files.writes_with, files.inputs];
    let has_commands = |name: Name<'_>| {
        let mut places = program.commands.iter().map(|(place, _)| *place);
        places.any(|place| matches!(place, Place::OptionValue(own) if name.is(own)))
    };
    let long = option.split('=').next().unwrap_or(option);
    let is_word = |pattern: &&str| pattern.split(['|', ' ', '=']).any(|word| word == long);
    let is_in_rule = program.never.iter().any(|(_, patterns)| patterns.iter().any(is_word));
    let texts = [option];
    let value = usage.value();
    let mut items = Scanner::new(&texts, 0, &value);
    is_in_rule
        || items.any(|item| {
            let Item::Option(name, _) = item else { return false };
            listed.iter().any(|options| name.is_any(options) || name.begins(options))
                || values.iter().any(|(own, _)| name.is(own))
                || has_commands(name)
        })
}
