//! The expression of `find`, and the words of `fd`, by their descriptions.

use std::ops::Range;

use super::lookup::Usage;
use super::program::{Options, Role};
use crate::shell::glob;

/// What `find` or `fd` looks for, and what it does with the files that it finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expression<'a> {
    /// Indexes of the starting points; for `fd`, of all words.
    pub places: Vec<usize>,
    /// Names and paths that the found files must have, or must not have.
    pub names: Vec<Name<'a>>,
    /// The commands that it runs.
    pub runs: Vec<Run>,
    /// Indexes of the files that it writes.
    pub outputs: Vec<usize>,
    /// Options with one value, and this value.
    pub tests: Vec<(&'a str, &'a str)>,
    /// The other options.
    pub flags: Vec<&'a str>,
    /// Whether it removes what it finds.
    pub changes: bool,
    /// Whether it has alternatives: `-o`, `,`.
    pub has_alternatives: bool,
}

impl Expression<'_> {
    /// Whether files that match no name of the expression may be found.
    pub fn finds_more_than_named(&self) -> bool {
        self.has_alternatives
            || self.names.iter().any(|name| name.negated || name.ignores_case)
            || self.tests.iter().any(|(option, _)| option.contains("regex"))
    }
}

/// A test for the name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// The glob.
    pub glob: &'a str,
    /// Whether it is a glob of whole paths.
    pub is_path: bool,
    /// Whether it matches upper and lower case letters alike.
    pub ignores_case: bool,
    /// Whether found files do not match it.
    pub negated: bool,
}

/// A command that runs for found files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The option before it.
    pub option: usize,
    /// Indexes of its words.
    pub words: Range<usize>,
    /// Whether it runs once for each file.
    pub each: bool,
}

impl Usage {
    /// The option that runs a command, at the end of a cluster of short ones: `-x` in `-Hx`.
    fn run_option(&self, cluster: &str) -> Option<&'static str> {
        let letters = cluster.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        let last = letters.chars().last()?;
        let before = letters.get(..letters.len() - last.len_utf8())?;
        let is =
            |letter: char, option: &str| option.strip_prefix('-').is_some_and(|one| one.chars().eq([letter]));
        let takes_value = |letter: char| self.value().iter().any(|option| is(letter, option));
        let [each, once] = [self.role(Role::RunsEach), self.role(Role::RunsOnce)];
        let runs = |letter: char| each.iter().chain(once.iter()).copied().find(|option| is(letter, option));
        let ends_before = |letter: char| takes_value(letter) || runs(letter).is_some();
        runs(last).filter(|_| !before.chars().any(ends_before))
    }

    /// Parses the words behind the program.
    pub fn expression<'a>(&self, texts: &[&'a str]) -> Expression<'a> {
        let mut found = Expression::default();
        let lists = |options: &Options, text: &str| options.iter().any(|one| *one == text || glob(one, text));
        let outputs = self.files().outputs;
        let changes = self.form.effect.map(|terms| terms.changes_with).unwrap_or_default();
        let mut at = self.rest;
        let mut negated = false;
        while let Some(text) = texts.get(at).copied() {
            let option = at;
            at += 1;
            let value = texts.get(at).copied();
            let batches = self.program.key == "find";
            let text = if batches { text } else { self.run_option(text).unwrap_or(text) };
            if lists(&self.role(Role::RunsEach), text) || lists(&self.role(Role::RunsOnce), text) {
                let rest = texts.get(at..).unwrap_or_default();
                let end = rest.iter().position(|word| *word == ";" || (*word == "+" && batches));
                let end = at + end.unwrap_or(rest.len());
                let each =
                    lists(&self.role(Role::RunsEach), text) && !(batches && texts.get(end) == Some(&"+"));
                found.runs.push(Run { option, words: at..end, each });
                at = end + 1;
            } else if lists(&self.value(), text) {
                found.outputs.extend(lists(&outputs, text).then_some(at));
                let is_path = lists(&self.role(Role::Paths), text);
                match value {
                    Some(glob) if is_path || lists(&self.role(Role::Names), text) => {
                        let ignores_case = text.starts_with("-i");
                        found.names.push(Name { glob, is_path, ignores_case, negated });
                    }
                    value => found.tests.push((text, value.unwrap_or_default())),
                }
                at += 1 + usize::from(lists(&self.role(Role::TakesTwo), text));
            } else if lists(&changes, text) {
                found.changes = true;
            } else if text.starts_with('-') && text.len() > 1 {
                found.flags.push(text);
            } else if !text.starts_with(['(', ')', '!', ',', '\\']) {
                found.places.push(option);
            }
            negated = matches!(text, "!" | "-not" | "\\!");
            found.has_alternatives |= matches!(text, "," | "-o" | "-or");
        }
        found
    }
}

/// How many columns of numbers a form of `-printf` prints before each path: `%T@ %p\n`. `None` where it prints other text.
pub fn path_column(form: &str) -> Option<usize> {
    let is_time = |field: &str| "@ Y m d H M S s F T".split(' ').any(|one| one == field);
    let is_number = |part: &str| {
        let part = part.trim_end_matches(['-', ':', '.', '+']);
        "s k b m n i d U G".split(' ').any(|one| one == part)
            || part.strip_prefix(['A', 'C', 'T']).is_some_and(is_time)
    };
    let columns = form.strip_suffix("%p\\n")?.split_terminator(' ');
    let are_numbers = columns
        .clone()
        .all(|column| column.strip_prefix('%').is_some_and(|parts| parts.split('%').all(is_number)));
    are_numbers.then(|| columns.count())
}
