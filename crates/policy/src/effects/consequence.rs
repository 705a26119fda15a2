//! The class of what a command changes, for the rules that always deny.

use super::lines;
use super::options::{ANY_OPTION, asks_for_help, listed_options, own_words, takes_back};
use opsctl_reader::actions::{CommandActions, command_actions, request_class};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::catalogue::program::{EffectTerms, Stated};
use opsctl_reader::shell::Command;
use opsctl_reader::terms::class::Class;

/// The class of what a command changes, and the command up to what decides it; `None` for a command that changes nothing, or
/// nothing that has a class of its own.
pub fn of_command(command: &Command, catalogue: Catalogue) -> Option<(Class, String)> {
    let texts = command.texts();
    if let Some(class) = lines::router_class(command) {
        return Some((class, texts.iter().take(2).copied().collect::<Vec<_>>().join(" ")));
    }
    let program = catalogue.find(&command.words.first()?.text)?;
    if !program.classed && !program.acts || lines::router_os(command).is_some() {
        return None;
    }
    if let Some(class) = request_class(command, catalogue).filter(|class| *class != Class::Plain) {
        return Some((class, texts.first().map_or_else(String::new, |name| (*name).to_owned())));
    }
    let usage = catalogue.usage(&texts, &|_| false).filter(|usage| usage.program.classed)?;
    let terms = usage.form.effect?;
    let stated = match terms.stated {
        Stated::Changes(class) if class != Class::Plain => Some((class, usage.written(&texts))),
        Stated::Reads if !usage.has(&texts, &terms.reads_with.iter().copied().collect::<Vec<_>>()) => {
            terms.otherwise.map(|class| (class, usage.written(&texts)))
        }
        _ => None,
    };
    let found = by_option(&usage, &terms, &texts);
    match command_actions(command, catalogue) {
        _ if is_quiet(command, &usage, catalogue) => None,
        // What it does is counted as an action.
        CommandActions::Acts(_) => found,
        _ => found.or(stated),
    }
}

/// The options of a dry run that stand in a command that is none: a later option takes them back, or they are the value of
/// another one.
pub fn vain(command: &Command, usage: &Usage) -> Vec<&'static str> {
    let quiet = [usage.form.quiet, usage.program.form.quiet];
    let listed = quiet.iter().flat_map(|list| list.iter().copied());
    let texts = command.texts();
    let begins = |option: &&str| texts.iter().any(|text| text.starts_with(*option));
    listed.filter(begins).collect()
}

/// Whether an option with which a command changes nothing is given, and not taken back.
pub fn is_quiet(command: &Command, usage: &Usage, catalogue: Catalogue) -> bool {
    let texts = command.texts();
    asks_for_help(usage, &texts)
        || command_actions(command, catalogue) == CommandActions::Quiet && takes_back(usage, &texts).is_none()
}

/// The class of the first option with which the form changes something that has a class of its own.
fn by_option(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<(Class, String)> {
    let mut classes = terms.classes.iter().filter(|(class, _)| *class != Class::Plain);
    let value = usage.value();
    let listed = listed_options(usage, terms, &value);
    let given = |options: &[&str]| {
        let any_unlisted = options.contains(&ANY_OPTION);
        let mut words = 0;
        let mut items = Scanner::new(texts, usage.rest, &value).with_flags(options).take_while(|item| {
            words += usize::from(matches!(item, Item::Positional(_)));
            // What follows is the command that a program runs.
            own_words(usage).is_none_or(|own| words <= own)
        });
        items.any(|item| match item {
            Item::Option(name, at) => {
                let is_off = at.and_then(|at| at.of(texts)) == Some("false");
                !is_off
                    && (name.is_any(options)
                        || !name.is_any(&listed) && (any_unlisted || name.begins(options)))
            }
            _ => false,
        })
    };
    let (class, options) = classes.find(|(_, options)| given(options))?;
    let options: Vec<&str> = options.iter().copied().collect();
    let written = texts.iter().find(|text| options.contains(text));
    let written = written.map(|option| format!(" {option}")).unwrap_or_default();
    Some((*class, usage.written(texts) + &written))
}
