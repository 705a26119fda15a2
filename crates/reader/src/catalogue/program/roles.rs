//! All options of a form, with and without a value.

use super::form::Form;
use super::list::{List, Options};
use super::{Program, VerbForm};

impl Program {
    /// The program with all options of each of its forms.
    #[must_use]
    pub(super) fn with_options(mut self) -> Self {
        let outer = self.form;
        let verbs = self.verbs.iter().map(|verb| {
            let listed = verb.form.value.or(self.value).unwrap_or_default();
            VerbForm { form: verb.form.with_options(listed, &outer), ..*verb }
        });
        self.verbs = List::keep(verbs.collect());
        self.form = outer.with_options(self.value.unwrap_or_default(), &outer);
        self.value = (self.value.is_some() || !self.form.valued.is_empty()).then_some(self.form.valued);
        self
    }
}

impl Form {
    /// The form with its options: those that it lists, those whose value is a file, and those of a role. `outer` is the form
    /// of the program, whose files and roles count if it states none.
    fn with_options(mut self, listed: Options, outer: &Self) -> Self {
        let files = self.files.or(outer.files);
        let files = files.iter().flat_map(|files| [files.outputs, files.inputs, files.keys]);
        let files = files.flat_map(|options| options.0.iter()).filter(|option| !option.ends_with('='));
        let roles = if self.options.is_empty() { outer.options } else { self.options };
        let of_roles = |valued: bool| {
            let chosen = roles.0.iter().filter(move |(role, _)| role.has_value() == valued);
            chosen.flat_map(|(_, options)| options.0.iter()).filter(|option| !option.contains('='))
        };
        // A verb that lists its own options does not take those of the program.
        let inherits = !self.options.is_empty() || self.value.is_none() || self == *outer;
        let valued = of_roles(true).filter(|_| inherits);
        let scripts = self.runs.iter().flat_map(|runs| runs.script.0.iter());
        self.valued = unique(listed.0.iter().chain(files).chain(valued).chain(scripts));
        let terms = self.effect.iter().flat_map(|terms| {
            [terms.flags.unwrap_or_default(), terms.changes_with, terms.reads_with, terms.any_words_with]
        });
        let files = self.files.iter().flat_map(|files| [files.writes_with, files.keeps, files.deep]);
        let flags = terms.chain(files).chain([self.quiet]).flat_map(|options| options.0.iter());
        let flags = flags.chain(of_roles(false)).filter(|option| !self.valued.contains(option));
        self.flags = unique(flags);
        self.with_beginnings()
    }

    /// The form with the beginnings of the options whose value is a script, which many programs take for these.
    fn with_beginnings(mut self) -> Self {
        let scripts = self.runs.map_or(Options::EMPTY, |runs| runs.script);
        let described = || self.valued.iter().chain(self.flags.iter());
        let is_other =
            |begun: &str| described().any(|option| !scripts.contains(option) && option.starts_with(begun));
        let long = scripts.iter().filter(|option| option.starts_with("--"));
        let begun = long.flat_map(|option| (3..option.len()).filter_map(|end| option.get(..end)));
        let begun: Vec<&'static str> = begun.filter(|begun| !is_other(begun)).collect();
        self.valued = unique(self.valued.0.iter().chain(&begun));
        self
    }
}

fn unique<'a>(options: impl Iterator<Item = &'a &'static str>) -> Options {
    let mut all = Vec::new();
    for option in options {
        if !all.contains(option) {
            all.push(*option);
        }
    }
    Options::keep(all)
}
