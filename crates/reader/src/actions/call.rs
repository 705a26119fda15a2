//! A call of a program in one form (a verb, or the program without a verb): its options, its words, and its actions.

use super::line::{Arguments, Line, Named, named};
use super::platforms::engine;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Name, Scanner};
use crate::catalogue::program::{Does, HostWords, How, Options, Program, Stated, Words};
use crate::shell::{FAILED, Word, glob, host_of};
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};
use crate::terms::reference::{Form, Reference};

/// A call of a program that acts.
pub(super) struct Call<'a> {
    pub line: &'a Line<'a>,
    pub usage: &'a Usage,
    pub does: &'static Does,
    /// Options and words after the verb; where the program mixes them, also the options before it.
    pub own: Arguments<'a>,
    /// Options between the program and its verb.
    pub global: Arguments<'a>,
    /// Options before `compose` in `docker compose`.
    outer: Arguments<'a>,
    /// The given option that the action requires.
    needed: Option<&'static str>,
    verb: Verb,
}

/// Why a command line carries out no action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    /// An option with which it changes nothing: `--help`, `--dry-run`.
    Quiet,
    /// This form of the program carries out no action.
    NoAction,
}

impl<'a> Call<'a> {
    /// Parses the rest of a command line.
    pub fn of(line: &'a Line<'a>, usage: &'a Usage) -> Result<Self, Idle> {
        let program = usage.program;
        let value = |program: &Program| program.value.unwrap_or(Options::EMPTY);
        let outer = usage.before.map(|(outer, end)| line.arguments(1, end, value(outer))).unwrap_or_default();
        let global = line.arguments(usage.start, usage.rest, value(program));
        let mut own = line.arguments(usage.rest, own_end(line, usage), usage.value());
        if usage.is_mixed() {
            own.options.splice(0..0, global.options.iter().cloned());
        }
        let outer_quiet =
            usage.before.is_some_and(|(outer_program, _)| outer.has_surely(&outer_program.form.quiet));
        // A verb with nothing but a class has the options of its program, as far as their names are clear.
        let is_clear = |option: &&&str| {
            let is_help = **option == "-h" && !Name::Short('h').is_any(&usage.value());
            (option.starts_with("--") || is_help)
                && **option != "--version"
                && usage.form.quiet.is_empty()
                && usage.form.effect.is_some_and(
                    |terms| matches!(terms.stated, Stated::Changes(class) if class.is_denied(false)),
                )
        };
        let inherited: Vec<&'static str> = program.form.quiet.iter().filter(is_clear).copied().collect();
        // Between the words of a verb, other options may be meant: `git remote -v update`.
        let first = usage.verb.first().copied().unwrap_or(usage.rest);
        let is_long = |option: &&&str| option.starts_with("--") || **option == "-h";
        let clear: Vec<&'static str> = program.form.quiet.iter().filter(is_long).copied().collect();
        let ends_early = usage.form.quiet_values.iter().any(|(option, quiet)| {
            let value = own.value(&[option]).and_then(Word::known);
            value.is_some_and(|value| {
                quiet.iter().any(|one| *one == value || *one == value.to_ascii_lowercase())
            })
        });
        if outer_quiet
            || ends_early
            || line.arguments(usage.start, first, value(program)).has_surely(&program.form.quiet)
            || global.has_surely(&clear)
            || own.has_surely(&usage.form.quiet)
            || own.has_surely(&inherited)
        {
            return Err(Idle::Quiet);
        }
        let does = usage.form.does.ok_or(Idle::NoAction)?.0;
        let needed = own.first_of(&does.needs);
        let first = own.positionals.first().map_or("", |index| line.text(*index));
        let is_meant = does.first.is_empty() || does.first.iter().any(|wanted| glob(wanted, first));
        let is_some = |index: &usize| does.some.iter().any(|wanted| glob(wanted, line.text(*index)));
        let is_meant = is_meant && (does.some.is_empty() || own.positionals.iter().any(is_some));
        if !is_meant || (needed.is_none() && !does.needs.is_empty()) {
            return Err(Idle::NoAction);
        }
        own.positionals.retain(|index| !usage.verb.contains(index));
        let verb =
            does.with.iter().find(|(_, options)| own.has(options)).map_or(does.verb, |(verb, _)| *verb);
        Ok(Self { line, usage, does, own, global, outer, needed, verb })
    }

    /// The program and verb as they are written, with the required option: `docker rm -f`.
    pub fn words(&self) -> String {
        let mut words = self.usage.written(self.line.texts());
        words.extend(self.needed.iter().flat_map(|option| [" ", option]));
        words
    }

    /// What it does to its targets.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The words that name the targets.
    pub fn targets(&self) -> Vec<Word> {
        words_at(self.does.to.at, self.line, self.usage, &self.own)
    }

    /// The host that the call itself names, by an option or a variable.
    pub fn host(&self) -> Option<String> {
        let host = self.usage.program.host;
        let outer = self.usage.before.map_or(Options::EMPTY, |(program, _)| program.host);
        let option =
            self.outer.value(&outer).or_else(|| self.own.value(&host).filter(|_| self.usage.is_mixed()));
        if let Some(address) = option.or_else(|| self.global.value(&host)) {
            return host_of(&address.text);
        }
        if self.usage.program.host_words == Some(HostWords::First) {
            let first = self.usage.starred.first().or_else(|| self.global.positionals.first());
            let name = first.and_then(|index| self.line.word(*index)?.known());
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            return name.filter(|name| name.chars().all(is_plain)).and_then(host_of);
        }
        engine::host(self.line, self.usage, &[&self.outer, &self.global])
    }

    /// An action on a target, with this evidence.
    pub fn action(&self, family: Family, target: Target, evidence: String) -> Action {
        let kind = ActionKind::of(self.verb);
        let mut action = self.line.action(kind, self.verb, family, target, evidence);
        let host = self.host();
        let context = |given| engine::context(self.line, self.usage, given, host.as_deref());
        let given = [&self.outer, &self.global, &self.own];
        // Behind its verb, an engine has options of the same names.
        let given = given.into_iter().take(if engine::is_engine(self.usage) { 2 } else { 3 });
        action.reference.context = given.into_iter().find_map(context);
        if host.is_some() {
            action.host = host;
        }
        action
    }

    /// An action on everything at once, which is denied unless the inventory states what that is.
    pub fn on_everything(&self, family: Family, what: &str) -> Action {
        let evidence = format!("{} {what}", self.words());
        let mut action = self.action(family, Target::Unknown, evidence);
        action.kind = ActionKind::Forbidden;
        // What is removed does not come back, and most units are no services.
        if self.needed.is_none() && (family != Family::Unit || what.contains(FAILED)) {
            action.reference.form = Form::Everything;
        }
        action
    }

    /// Whether the command may run several times, each time with the words that are known: `xargs docker restart NAME`.
    pub fn is_batched(&self) -> bool {
        let is_run = self.line.command.via.last().is_some_and(|via| matches!(via.as_str(), "xargs" | "find"));
        is_run && self.targets().iter().any(Word::may_be_several)
    }

    /// An action for each target that one word names. `clean` removes the parts of a word that do not belong to the
    /// name.
    pub fn act_on_each(
        &self,
        family: Family,
        target: fn(String) -> Target,
        clean: fn(&str) -> &str,
        actions: &mut Vec<Action>,
    ) {
        let reference = engine::reference(self.line, self.usage, &self.global, self.host().as_deref());
        for word in self.targets() {
            let mut action = match named(&word) {
                Named::Everything(listing) => self.on_everything(family, &format!("$({listing})")),
                Named::One(all @ ("*" | "*.service")) => self.on_everything(family, &format!("'{all}'")),
                Named::One(written) => {
                    // Behind a name stands a number of replicas; `name=web` is no name.
                    let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
                    let is_setting = written.split_once('=').is_some_and(|(_, value)| !is_number(value));
                    let name = if is_setting { "" } else { clean(written) };
                    // A shell turns a pattern into the names of files, which may be those of containers.
                    let is_pattern = matches!(family, Family::Container | Family::Compose)
                        && name.contains(['*', '?', '[']);
                    let is_unknown = name.is_empty() || is_pattern;
                    let target = if is_unknown { Target::Unknown } else { target(name.to_owned()) };
                    let mut action =
                        self.action(family, target, self.evidence(if is_setting { written } else { name }));
                    action.repeats |= self.is_batched();
                    action
                }
                Named::Matching(part) => {
                    self.action(family, target(part.to_owned()), self.evidence(&word.text))
                }
                Named::Unknown => self.action(family, Target::Unknown, self.evidence(&word.text)),
            };
            let form = match named(&word) {
                Named::Matching(_) => Form::PartOfNames,
                Named::One("all") if action.target == Target::Unknown => Form::Everything,
                _ if action.reference.form == Form::Everything => Form::Everything,
                _ => reference.form,
            };
            action.reference = Reference { form, ..reference.clone() };
            actions.push(action);
        }
        if self.targets().is_empty() {
            self.act_on_selected(family, target, actions);
        }
    }

    /// An action for each option that selects targets in place of names: `--latest`, `--filter name=x`.
    fn act_on_selected(&self, family: Family, target: fn(String) -> Target, actions: &mut Vec<Action>) {
        let selecting = self.own.options.iter().filter(|(name, _)| name.is_any(&self.does.selects));
        for (_, value) in selecting {
            let name = value.as_ref().and_then(Word::known).and_then(|value| value.strip_prefix("name="));
            let name = name.map(|name| name.trim_start_matches(['^', '/']).trim_end_matches('$'));
            let is_plain = |name: &&str| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
            };
            let selected = name.filter(is_plain).map_or(Target::Unknown, |name| target(name.to_owned()));
            actions.push(self.action(family, selected, format!("{}, by selection", self.words())));
        }
    }

    /// The words of the program and its verb, with a target in its place.
    pub fn evidence(&self, target: &str) -> String {
        match self.does.to.at {
            Words::OwnName | Words::Constant(_) => {
                format!("{} {}", self.line.text(0), self.verb_as_written())
            }
            Words::Starred => format!("{} {target} {}", self.line.program(), self.verb_as_written()),
            _ => format!("{} {target}", self.words()),
        }
    }

    fn verb_as_written(&self) -> String {
        let words = self.usage.verb.iter().map(|index| self.line.text(*index));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The words of a command line at a position.
pub(super) fn words_at(at: Words, line: &Line<'_>, usage: &Usage, own: &Arguments<'_>) -> Vec<Word> {
    let words = |indexes: &[usize]| indexes.iter().filter_map(|index| line.word(*index).cloned()).collect();
    let positionals = own.positionals.as_slice();
    match at {
        Words::None => vec![],
        Words::From(first) => words(positionals.get(first..).unwrap_or_default()),
        Words::Only(index) => words(positionals.get(index..=index).unwrap_or_default()),
        Words::Last => words(positionals.last().map(std::slice::from_ref).unwrap_or_default()),
        Words::Starred => words(&usage.starred),
        Words::OwnName => vec![Word::literal(line.program())],
        Words::Constant(name) => vec![Word::literal(name)],
        Words::ValueOf(options) => own.values(&options.split('|').collect::<Vec<_>>()).cloned().collect(),
    }
}

/// The end of the program's own words; the command that it runs follows.
pub(super) fn own_end(line: &Line<'_>, usage: &Usage) -> usize {
    let runs = usage.form.runs.filter(|runs| runs.how == How::Command && runs.words_need.is_empty());
    let Some(mut left) = runs.and_then(|runs| runs.after.0) else { return usize::MAX };
    let mut end = usize::MAX;
    for item in Scanner::new(line.texts(), usage.rest, &usage.value()) {
        match item {
            Item::Positional(index) if left == 0 => return end.min(index),
            Item::Dashes(index) if left == 0 => return index,
            Item::Positional(index) => {
                left -= 1;
                // Behind the image, options are those of the command in it.
                if left == 0 && runs.is_some_and(|runs| runs.inside && !runs.drops_dashes) {
                    end = index + 1;
                }
            }
            _ => {}
        }
    }
    end
}
