//! The search for the words of a pattern in a command, and its conditions on options.

use super::token::{Kind, Token, kind, one_of};
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::Options;
use opsctl_reader::shell::{Command, Word};

/// A backtracking search through the words of a command.
pub(super) struct Search<'s, 'a> {
    pub words: &'s [Token<'a>],
    pub command: &'s Command,
    pub texts: &'s [&'s str],
    pub valued: Option<&'s [Options]>,
    pub is: &'s dyn Fn(Kind, &Word) -> bool,
    /// The index of `--`; no options follow it.
    pub dashes: Option<usize>,
}

/// A token to be matched at an index, and the path of the search.
#[derive(Clone)]
struct Step {
    token: usize,
    at: usize,
    before: Option<usize>,
    /// The word that was matched last, as it may be shown.
    matched: Option<String>,
}

impl Search<'_, '_> {
    /// The matching words, in order. Each token is tried on each word once, so that the work is bounded.
    pub fn run(&self, start: usize) -> Option<Vec<String>> {
        let width = self.texts.len().max(start) + 3;
        let mut seen = vec![false; (self.words.len() + 1) * width];
        let mut steps = vec![Step { token: 0, at: start, before: None, matched: None }];
        let mut left = vec![0];
        while let Some(index) = left.pop() {
            let Step { token, at, .. } = steps.get(index)?.clone();
            if token == self.words.len() {
                return Some(Self::way(&steps, index));
            }
            match seen.get_mut(token * width + at) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            // The last candidate is tried first.
            for (token, at, matched) in self.steps(token, at).into_iter().rev() {
                left.push(steps.len());
                steps.push(Step { token, at, before: Some(index), matched });
            }
        }
        None
    }

    fn way(steps: &[Step], end: usize) -> Vec<String> {
        let before = |index: &usize| steps.get(*index).and_then(|step| step.before);
        let mut words: Vec<String> = std::iter::successors(Some(end), before)
            .filter_map(|index| steps.get(index).and_then(|step| step.matched.clone()))
            .collect();
        words.reverse();
        words
    }

    /// The next steps of the search, the likeliest first.
    fn steps(&self, token: usize, at: usize) -> Vec<(usize, usize, Option<String>)> {
        let Some(wanted) = self.words.get(token) else { return vec![] };
        let Some(text) = self.texts.get(at).copied() else {
            return if matches!(wanted, Token::Word(_)) { vec![] } else { vec![(token + 1, at, None)] };
        };
        if text.starts_with('-') && text.len() > 1 && self.dashes.is_none_or(|dashes| at <= dashes) {
            let next = (token, at + 1, None);
            return match self.valued {
                _ if text.contains('=') || text == "--" => vec![next],
                Some(valued) if valued.iter().any(|options| options.contains(&text)) => {
                    vec![(token, at + 2, None)]
                }
                Some(_) => vec![next],
                // If it is not known whether an option takes a value, both readings are tried.
                None => vec![next, (token, at + 2, None)],
            };
        }
        match wanted {
            Token::Word(alternatives) => match self.matching(alternatives, at, text) {
                Some(shown) => vec![(token + 1, at + 1, Some(shown))],
                None => vec![],
            },
            Token::Many => vec![(token + 1, at, None), (token, at + 1, None)],
            Token::End => vec![],
        }
    }

    /// The word as it may be shown, if one of the alternatives matches it.
    fn matching(&self, alternatives: &str, at: usize, text: &str) -> Option<String> {
        let word = self.command.words.get(at)?;
        alternatives.split('|').find_map(|one| {
            let found = match kind(one) {
                Some(kind) => (self.is)(kind, word),
                None => one_of(one, text),
            };
            found.then(|| shown(one, text))
        })
    }
}

/// A matched word; for a word that may contain a password, the text of the pattern.
fn shown(pattern: &str, text: &str) -> String {
    let plain =
        !text.contains("://") && !text.contains('@') && text.len() <= 120 && !text.contains(char::is_control);
    if plain { text.to_owned() } else { pattern.to_owned() }
}

/// The option as it was written, if one of the names is among the words and has one of the values.
pub(super) fn has(
    texts: &[&str],
    names: &str,
    fits: Option<&dyn Fn(&str) -> bool>,
    valued: Option<&[Options]>,
) -> Option<String> {
    let flat: Vec<&str> = valued.into_iter().flatten().flat_map(|options| options.iter().copied()).collect();
    // `-10 minutes` behind `-d` is its value.
    let is_value = |index: usize, text: &str| {
        let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == ' ');
        let before = index.checked_sub(1).and_then(|before| texts.get(before));
        text.strip_prefix('-').is_some_and(is_number) && before.is_some_and(|before| flat.contains(before))
    };
    for (index, text) in texts.iter().enumerate().skip(1).take_while(|(_, text)| **text != "--") {
        if !text.starts_with('-') || is_value(index, text) {
            continue;
        }
        let found = names.split('|').find_map(|name| Some((name, given(text, name, &flat)?)));
        let Some((name, own)) = found else { continue };
        let Some(fits) = fits else {
            if !(name.starts_with("--") && matches!(own, "false" | "0" | "no")) {
                return Some(name.to_owned());
            }
            continue;
        };
        let own = if own.is_empty() { texts.get(index + 1).copied() } else { Some(own) };
        if own.is_some_and(fits) {
            return Some(format!("{name} {}", own.unwrap_or_default()));
        }
    }
    None
}

/// The rest of the word after the option (`-rf`, `--force=x`), which may be empty; `None` if the word does not contain
/// the option.
fn given<'t>(text: &'t str, name: &str, valued: &[&str]) -> Option<&'t str> {
    if let Some(long) = name.strip_prefix("--") {
        let (written, value) =
            text.strip_prefix("--").map(|word| word.split_once('=').unwrap_or((word, "")))?;
        // Programs accept abbreviated long options.
        return (written == long || (written.len() >= 3 && long.starts_with(written))).then_some(value);
    }
    if name.len() > 2 {
        let (written, value) = text.split_once('=').unwrap_or((text, ""));
        return (written == name).then_some(value);
    }
    let words = [text];
    let mut scanner = Scanner::new(&words, 0, valued);
    scanner.find_map(|item| match item {
        Item::Option(found @ Name::Short(letter), at) if found.is(name) => {
            let after = text.find(letter).map_or(text.len(), |at| at + letter.len_utf8());
            at.and_then(|at| text.get(at.offset..)).or_else(|| text.get(after..))
        }
        _ => None,
    })
}

/// The values of options, of which none is the value of another option.
pub(super) fn values_of<'t>(texts: &[&'t str], names: &str, valued: Option<&[Options]>) -> Vec<&'t str> {
    let flat: Vec<&str> = valued.into_iter().flatten().flat_map(|options| options.iter().copied()).collect();
    let mut left = texts.iter().copied().enumerate().skip(1).take_while(|(_, text)| *text != "--");
    let mut found = Vec::new();
    while let Some((index, text)) = left.next() {
        let own =
            names.split('|').filter(|_| text.starts_with('-')).find_map(|name| given(text, name, &flat));
        let next = || texts.get(index + 1).copied().unwrap_or_default();
        if let Some(own) = own {
            found.push(if own.is_empty() { next() } else { own });
        }
        if own == Some("") || flat.contains(&text) {
            left.next();
        }
    }
    found
}

/// Whether none of the options is among the words, written in full or, where it is known which options take a value, in a
/// cluster. The value of an option is none.
pub(super) fn lacks(texts: &[&str], names: &str, valued: Option<&[Options]>) -> bool {
    let flat: Vec<&str> = valued.into_iter().flatten().flat_map(|options| options.iter().copied()).collect();
    let mut before = texts.iter().skip(1).take_while(|text| **text != "--");
    while let Some(text) = before.next() {
        let is_name = |name: &str| {
            name == *text || name.len() == 2 && valued.is_some() && given(text, name, &flat).is_some()
        };
        if names.split('|').any(is_name) {
            let is_taken_back =
                |name: &str| texts.iter().any(|text| text.strip_prefix(name) == Some("=false"));
            return names.split('|').any(is_taken_back);
        }
        if flat.contains(text) {
            before.next();
        }
    }
    true
}
