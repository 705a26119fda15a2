//! The options and the words of a command line, by the description of its program.

use super::lookup::Usage;
use super::options::{At, Item, Name, Scanner};
use super::program::{Files, Map, Options, Role};

/// The options of a command line, each with the place of its value, and its other words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operands<'a> {
    texts: &'a [&'a str],
    roles: Map<Role, Options>,
    /// The options in the order of the command line.
    pub options: Vec<(Name<'a>, Option<At>)>,
    /// Indexes of the words that are neither options nor values.
    pub words: Vec<usize>,
}

impl Usage {
    /// The options of a role.
    pub fn role(&self, role: Role) -> Options {
        of_role(self.roles(), role)
    }

    /// The options of a role before the verb.
    pub fn role_before(&self, role: Role) -> Options {
        of_role(self.program.form.options, role)
    }

    fn roles(&self) -> Map<Role, Options> {
        if self.form.options.is_empty() { self.program.form.options } else { self.form.options }
    }

    /// The files of the form, otherwise those of the program.
    pub fn files(&self) -> Files {
        self.form.files.or(self.program.form.files).map_or(Files::PLAIN, |files| *files)
    }

    /// The options and words behind the verb.
    pub fn operands<'a>(&self, texts: &'a [&'a str]) -> Operands<'a> {
        self.operands_from(self.rest, texts)
    }

    /// The options and words from a word on.
    pub fn operands_from<'a>(&self, mut from: usize, texts: &'a [&'a str]) -> Operands<'a> {
        let mut found = Operands { texts, roles: self.roles(), options: vec![], words: vec![] };
        let cluster = texts.get(from).filter(|word| self.program.key == "tar" && !word.starts_with('-'));
        if let Some(cluster) = cluster {
            // Without a dash, each letter takes its value from the next words, in order.
            from += 1;
            for letter in cluster.chars() {
                let name = Name::Short(letter);
                let takes = name.is_any(&self.value()) && from < texts.len();
                found.options.push((name, takes.then_some(At { index: from, offset: 0 })));
                from += usize::from(takes);
            }
        }
        found.scan(Scanner::new(texts, from, self.form.valued.0).with_flags(self.form.flags.0));
        found
    }

    /// The options and words between the program and its verb.
    pub fn operands_before<'a>(&self, texts: &'a [&'a str]) -> Operands<'a> {
        let roles = self.program.form.options;
        let texts = texts.get(..self.rest).unwrap_or(texts);
        let mut found = Operands { texts, roles, options: vec![], words: vec![] };
        found.scan(Scanner::new(texts, self.start, self.program.form.valued.0));
        found
    }
}

fn of_role(roles: Map<Role, Options>, role: Role) -> Options {
    roles.iter().find(|(one, _)| *one == role).map_or(Options::EMPTY, |(_, options)| *options)
}

/// Whether an option is this one, as a role lists it: `-o*`, or with a value, `-d=recurse`.
fn is(name: Name<'_>, value: Option<&str>, listed: &str) -> bool {
    match listed.split_once('=') {
        Some((listed, wanted)) => {
            name.is(listed) && value.is_some_and(|value| value.split(',').any(|one| one == wanted))
        }
        None => name.is(listed.trim_end_matches('*')),
    }
}

impl<'a> Operands<'a> {
    fn scan(&mut self, scanner: Scanner<'a>) {
        let two = of_role(self.roles, Role::TakesTwo);
        let mut second = None;
        for item in scanner {
            match item {
                Item::Option(name, at) => {
                    second = at.filter(|_| name.is_any(&two)).map(|at| at.index + 1);
                    self.options.push((name, at));
                }
                Item::Positional(index) => self.words.extend((second != Some(index)).then_some(index)),
                Item::Dashes(_) => {}
            }
        }
    }

    /// Whether an option of this role is given, or the beginning of one that makes the command do more.
    pub fn has(&self, role: Role) -> bool {
        let listed = of_role(self.roles, role);
        self.options.iter().any(|(name, at)| {
            let value = at.and_then(|at| at.of(self.texts));
            listed.iter().any(|one| is(*name, value, one)) || (!role.limits() && name.begins(&listed))
        })
    }

    /// Whether one of these options is given.
    pub fn states(&self, options: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| name.is_any(options))
    }

    /// The places of the values of the options of a role.
    pub fn places(&self, role: Role) -> impl Iterator<Item = At> {
        let listed = of_role(self.roles, role);
        let given =
            self.options.iter().filter(move |(name, _)| listed.iter().any(|one| is(*name, None, one)));
        given.filter_map(|(_, at)| *at)
    }

    /// The values of the options of a role.
    pub fn values(&self, role: Role) -> impl Iterator<Item = &'a str> {
        self.places(role).filter_map(|at| at.of(self.texts))
    }

    /// The words as texts.
    pub fn words(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().filter_map(|index| self.texts.get(*index).copied())
    }
}
