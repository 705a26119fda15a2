//! The class of what a command changes, for the rules that always deny.

use super::options::{ANY_OPTION, asks_for_help, fits, listed_options, own_words, takes_back};
use super::{ansible, http, key_value, lines, scripts};
use crate::paths::archive::{self, Operation};
use opsctl_reader::actions::{CommandActions, command_actions, is_undescribed_request, request_class};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Name, Scanner};
use opsctl_reader::catalogue::program::{Check, EffectTerms, FileHow, Stated, TargetKind};
use opsctl_reader::manifest::kubernetes;
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::class::Class;
use opsctl_reader::terms::effect::Effect;

/// The class of what a command changes, and the command up to what decides it; `None` for a command that changes nothing, or
/// nothing that has a class which is denied; `elsewhere` if it runs on a host or in a container.
pub fn of_command(command: &Command, elsewhere: bool, catalogue: Catalogue) -> Option<(Class, String)> {
    let texts = command.texts();
    if let Some(class) = lines::router_class(command) {
        return Some((class, texts.iter().take(2).copied().collect::<Vec<_>>().join(" ")));
    }
    let program = catalogue.find(&command.words.first()?.text)?;
    if !program.classed && !program.acts || lines::router_os(command).is_some() {
        return None;
    }
    if let Some(class) = request_class(command, catalogue).filter(|class| class.is_denied(elsewhere)) {
        return Some((class, texts.first().map_or_else(String::new, |name| (*name).to_owned())));
    }
    let usage = catalogue.usage(&texts, &|_| false).filter(|usage| usage.program.classed)?;
    let terms = usage.form.effect?;
    let stated = match terms.stated {
        Stated::Changes(class) if class.is_denied(elsewhere) => Some((class, usage.written(&texts))),
        Stated::Reads => {
            let own = usage.form.runs.is_none().then_some(Class::Other);
            let reads_with: Vec<&str> = terms.reads_with.iter().copied().collect();
            let lacks = !reads_with.is_empty() && !usage.has(&texts, &reads_with);
            let allowed = terms.classes.iter().filter(|(class, _)| !class.is_denied(elsewhere));
            let by_allowed = allowed.flat_map(|(_, options)| options.iter().copied()).collect::<Vec<_>>();
            let is_stated = !by_allowed.is_empty() && usage.has(&texts, &by_allowed);
            let changes = lacks || has_unlisted_word(command, &usage, &terms);
            let class = terms.otherwise.or(own).filter(|_| changes && !is_stated);
            class.filter(|class| class.is_denied(elsewhere)).map(|class| (class, usage.written(&texts)))
        }
        // What it writes is not seen.
        Stated::Writes => terms
            .otherwise
            .filter(|class| class.is_denied(elsewhere))
            .map(|class| (class, usage.written(&texts))),
        _ => None,
    };
    let found = by_option(&usage, &terms, &texts, elsewhere).or_else(|| by_manifest(command, &usage, &texts));
    match command_actions(command, catalogue) {
        _ if is_quiet(command, &usage, catalogue) => None,
        // What it does is counted as an action.
        CommandActions::Acts(_) => found,
        _ => found.or(stated).or_else(|| ordered(command, &usage, &terms, &texts, catalogue)).or_else(|| {
            let is_repair = checked_repair(command, elsewhere, &usage, &terms, &texts, catalogue);
            (!is_repair).then(|| (Class::Other, usage.written(&texts)))
        }),
    }
}

/// The class of what the manifests of a command put in place: the rights of a host, or who may do what.
fn by_manifest(command: &Command, usage: &Usage, texts: &[&str]) -> Option<(Class, String)> {
    let files = command
        .stated
        .as_deref()
        .filter(|_| usage.form.does.is_some_and(|does| does.to.kind == TargetKind::Workload))?;
    let (class, object) = kubernetes::class(&files.texts)?;
    Some((class, format!("{} ({object})", usage.written(texts))))
}

/// The class of what a request asks for that no interface describes, by the words of its address and its data.
fn ordered(
    command: &Command,
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    catalogue: Catalogue,
) -> Option<(Class, String)> {
    let is_request = terms.check == Some(Check::HttpRequest) && request_class(command, catalogue).is_none();
    let changes = is_request && http::effect(command, usage, texts).0 == Effect::Changes;
    let class = http::ordered(command, usage, texts).filter(|_| changes)?;
    Some((class, usage.written(texts)))
}

/// Whether the statements, keys or requests of a command only read, or change what a repair changes.
fn checked_repair(
    command: &Command,
    elsewhere: bool,
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    catalogue: Catalogue,
) -> bool {
    if elsewhere && usage.files().how == Some(FileHow::Clone) {
        return false;
    }
    let Some(check) = terms.check.filter(|_| terms.stated == Stated::Reads) else { return true };
    match check {
        Check::Sql | Check::SqlWords | Check::Mongo => {
            let sees = scripts::Sees { is_scratch: &|_| true, calls: &[] };
            scripts::effect(check, command, usage, terms, texts, sees).0 != Effect::Changes
                || scripts::repairs(check, command, usage, terms, texts)
        }
        Check::KeyValue => {
            key_value::effect(command, usage, texts).0 != Effect::Changes || key_value::repairs(usage, texts)
        }
        Check::HttpRequest => {
            http::effect(command, usage, texts).0 != Effect::Changes
                || request_class(command, catalogue).is_some()
                || !(elsewhere || is_undescribed_request(command, catalogue))
        }
        Check::ForgeApi => {
            http::forge(command, usage, texts).0 != Effect::Changes
                || request_class(command, catalogue).is_some()
        }
        Check::AnsibleModule => {
            ansible::effect(usage, texts).0 != Effect::Changes || ansible::repairs(usage, texts)
        }
        // What an archive holds is not seen, links that lead to other folders among it.
        Check::ArchiveMode => {
            !elsewhere || archive::operation(usage, &usage.operands(texts)) != Operation::Unpacks
        }
        _ => true,
    }
}

/// Whether a command that reads has a word with which it is not known to read, or one too many.
fn has_unlisted_word(command: &Command, usage: &Usage, terms: &EffectTerms) -> bool {
    let texts = &command.texts();
    let value = usage.value();
    let listed = listed_options(usage, terms, &value);
    let (mut words, mut any_words, mut fits_all) = (0, false, true);
    for item in Scanner::new(texts, usage.rest, &value).with_flags(&listed) {
        match item {
            Item::Option(name, _) => any_words |= name.is_any(&terms.any_words_with),
            Item::Positional(index) => {
                words += 1;
                let known = command.words.get(index).and_then(Word::known);
                fits_all &= known.is_none_or(|text| fits(text, &terms.words));
            }
            Item::Dashes(_) => {}
        }
    }
    !fits_all || !any_words && terms.most_words.is_some_and(|most| words > most)
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
fn by_option(usage: &Usage, terms: &EffectTerms, texts: &[&str], elsewhere: bool) -> Option<(Class, String)> {
    let mut classes = terms.classes.iter().filter(|(class, _)| class.is_denied(elsewhere));
    let value = usage.value();
    let listed = listed_options(usage, terms, &value);
    let given = |options: &[&str]| {
        let any_unlisted = options.contains(&ANY_OPTION);
        let mut words = 0;
        let mut items = Scanner::new(texts, usage.rest, &value).with_flags(options).take_while(|item| {
            words += usize::from(matches!(item, Item::Positional(_)));
            // What follows is the command that a program runs.
            own_words(usage, texts).is_none_or(|own| words <= own)
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
    // Many programs take the options of a verb before it, too.
    let before = texts.get(..usage.rest).unwrap_or_default();
    let own = usage.program.value.unwrap_or_default();
    let is_own = |name: &Name<'_>| usage.form.value.is_some() && name.is_any(&own) && !name.is_any(&value);
    let given_before = |options: &[&str]| {
        let listed: Vec<&str> = options.iter().copied().filter(|option| *option != ANY_OPTION).collect();
        let mut items = Scanner::new(before, usage.start, &own).with_flags(&listed);
        items.any(|item| matches!(item, Item::Option(name, _) if !is_own(&name) && name.is_any(&listed)))
    };
    let (class, options) = classes.find(|(_, options)| given(options) || given_before(options))?;
    let options: Vec<&str> = options.iter().copied().collect();
    let written = texts.iter().find(|text| options.contains(text));
    let written = written.map(|option| format!(" {option}")).unwrap_or_default();
    Some((*class, usage.written(texts) + &written))
}
