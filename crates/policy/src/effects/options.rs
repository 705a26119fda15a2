//! What the options of a command say about its effect.

use super::proof::Proof;
use super::reason::Why;
pub use crate::files::values::ANY_OPTION;
use crate::files::values::separated;
use crate::lists::{ACTING_OPTIONS, ACTING_WORDS, VALUED_OPTIONS};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{At, Item, Name, Scanner};
use opsctl_reader::catalogue::program::{EffectTerms, Form, How, Options, Stated};
use opsctl_reader::shell::glob;
use opsctl_reader::terms::effect::Effect;

/// The fewest letters of a long option that say which word they begin.
const SHORTEST_BEGINNING: usize = 5;

/// The options that a form states, with a value or without.
pub fn listed_options<'a>(usage: &Usage, terms: &EffectTerms, value: &[&'a str]) -> Vec<&'a str> {
    [terms.flags.unwrap_or_default(), terms.changes_with, terms.reads_with, terms.any_words_with]
        .iter()
        .flat_map(|options| options.iter().copied())
        .chain(usage.form.flags.iter().copied())
        .chain(usage.form.quiet.iter().copied())
        .chain(usage.program.host.iter().copied())
        .chain(value.iter().copied())
        .collect()
}

/// The option whose value may run or write something, in any form of the program; one of unknown effect before one that is
/// known to change something.
pub fn doubtful_option(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<(Effect, String)> {
    let value = usage.value();
    let listed = [&value, &usage.form.quiet, &usage.program.form.quiet, &terms.flags.unwrap_or_default()];
    let doubtful = Scanner::new(texts, usage.rest, &value).filter_map(|item| match item {
        Item::Option(name, at) => {
            let text = at.and_then(|at| at.of(texts));
            let may_be = || !listed.iter().any(|list| name.is_any(list)) && may_be_doubtful(name, terms);
            let effect = doubt(name, text, terms).or_else(|| may_be().then_some(Effect::Unknown));
            effect.map(|effect| (effect, written(name)))
        }
        _ => None,
    });
    doubtful.reduce(|one, other| if other.0 > one.0 { other } else { one })
}

/// What the program's own terms say of the options before the verb, where these are not harmless.
pub fn before_verb(usage: &Usage, texts: &[&str]) -> Option<Proof> {
    let terms = usage.program.form.effect.filter(|_| usage.rest > usage.start)?;
    let value = usage.program.value.unwrap_or_default();
    let until = usage.verb.first().copied().unwrap_or(usage.rest);
    let before = texts.get(..until).unwrap_or_default();
    let flags = terms.flags.unwrap_or_default();
    Scanner::new(before, usage.start, &value).with_flags(&flags).find_map(|item| {
        let Item::Option(name, at) = item else { return None };
        let text = at.and_then(|at| at.of(texts));
        let listed = |flags: &Options| {
            [flags, &usage.program.form.quiet, &value, &usage.program.host]
                .iter()
                .any(|list| name.is_any(list))
                && !only_reads_file(&usage.program.form, name)
        };
        if name.is_any(&terms.changes_with) {
            Some((Effect::Changes, Why::Option(written(name))))
        } else if is_doubtful(name, text, &terms) {
            Some((Effect::Unknown, Why::Option(written(name))))
        } else {
            (!terms.flags.is_none_or(|flags| listed(&flags)))
                .then(|| (Effect::Unknown, Why::UnknownOption(written(name))))
        }
    })
}

/// `PROGRAM --version`: a program that the catalogue does not know is asked about itself, and nothing else.
pub fn asks_about_itself(texts: &[&str]) -> bool {
    matches!(texts, [_, "--version" | "--help" | "-V" | "version" | "help"])
}

/// `PROGRAM --help` or `PROGRAM VERB --help`: nothing is there whose value or argument it could be.
pub fn asks_for_help(usage: &Usage, texts: &[&str]) -> bool {
    if matches!(texts, [_, "--version" | "--help"]) {
        return true;
    }
    let form = usage.form;
    if matches!(texts, [_, "help"] | [_, "help", _]) && usage.program.form.runs.is_none() {
        return !usage.program.verbs.is_empty() && form.effect.is_none_or(|terms| terms.check.is_none());
    }
    let words = usage.verb.len().max(1);
    let asks = |last: &&str| *last == "--help" || *last == "-h" && usage.program.form.quiet.contains(last);
    texts.last().is_some_and(asks)
        && texts.len() == words + 2
        && !usage.program.verbs.is_empty()
        && form.runs.is_none()
        && form.effect.is_none_or(|terms| terms.check.is_none())
}

/// Whether all that is stated of an option is that its value is a file that is read.
pub fn only_reads_file(form: &Form, name: Name<'_>) -> bool {
    let is_role = form.options.iter().any(|(_, options)| name.is_any(options));
    !is_role
        && !name.is_any(&form.value.unwrap_or_default())
        && form.files.is_some_and(|files| name.is_any(&files.inputs) || name.is_any(&files.keys))
}

/// Whether an option has a value with which the effect is unknown.
fn is_doubtful(name: Name<'_>, value: Option<&str>, terms: &EffectTerms) -> bool {
    let mut of_option =
        terms.unknown_values.iter().filter(|(option, _)| name.is(option) || *option == ANY_OPTION);
    // `/etc/../tmp/x` begins as a file of `/etc`.
    let is_doubtful = |values, value: &str| value.contains("/../") || fits(value, values);
    // Without a glob, the option itself.
    of_option.any(|(_, values)| values.is_empty() || value.is_some_and(|value| is_doubtful(values, value)))
}

/// Whether the effect is unknown with this word.
pub fn is_unknown_word(word: &str, terms: &EffectTerms) -> bool {
    !terms.unknown_words.is_empty() && fits(word, &terms.unknown_words)
}

/// The option or word with which the effect of a command that changes something is unknown.
pub fn unknown_option(usage: &Usage, texts: &[&str]) -> Option<String> {
    let all = texts;
    let scan = |form: &Form, from: usize, texts: &[&str], value: &[&'static str]| {
        let terms = form
            .effect
            .filter(|terms| !terms.unknown_values.is_empty() || !terms.unknown_words.is_empty())?;
        let listed = listed_options(usage, &terms, value);
        let mut words = 0;
        let items = Scanner::new(texts, from, value).with_flags(&listed).take_while(|item| {
            words += usize::from(matches!(item, Item::Positional(_)));
            // What follows is the command that a program runs.
            own_words(usage, all).is_none_or(|own| words <= own)
        });
        let mut doubtful = items.filter_map(|item| match item {
            Item::Option(name, at) => {
                let text = at.and_then(|at| at.of(texts));
                (doubt(name, text, &terms) == Some(Effect::Unknown)).then(|| written(name))
            }
            Item::Positional(index) => {
                let text = texts.get(index).filter(|text| is_unknown_word(text, &terms))?;
                Some((*text).to_owned())
            }
            Item::Dashes(_) => None,
        });
        doubtful.next()
    };
    let until = usage.verb.first().copied().unwrap_or(usage.rest);
    let before = texts.get(..until).unwrap_or_default();
    let of_verb = scan(usage.form, usage.rest, texts, &usage.value());
    of_verb
        .or_else(|| scan(&usage.program.form, usage.start, before, &usage.program.value.unwrap_or_default()))
}

/// The effect of an option with a value with which it is unknown, or known to be a change.
pub fn doubt(name: Name<'_>, value: Option<&str>, terms: &EffectTerms) -> Option<Effect> {
    is_doubtful(name, value, terms).then(|| {
        let mut known = terms.changing_values.iter().filter(|(option, _)| name.is(option));
        let changes = known.any(|(_, values)| value.is_some_and(|value| fits(value, values)));
        if changes { Effect::Changes } else { Effect::Unknown }
    })
}

/// An option whose value is judged, and which is not listed as one that takes the next word: `--opt value` is judged as
/// `--opt=value`.
pub fn beside(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<Proof> {
    let value = usage.value();
    let own = texts.iter().zip(texts.iter().skip(1)).take_while(|(option, _)| **option != "--");
    let is_open = |(option, next): &(&&str, &&str)| {
        option.starts_with("--") && (!next.starts_with('-') || next.contains(' ')) && !value.contains(option)
    };
    let mut judged = own.filter(is_open).flat_map(|(option, next)| {
        let terms = terms.unknown_values.iter();
        terms.filter(move |(one, _)| one == option).map(move |(_, values)| (option, next, values))
    });
    let (option, ..) = judged.find(|(_, next, values)| !values.is_empty() && fits(next, values))?;
    Some((Effect::Unknown, Why::OptionValue((*option).to_owned())))
}

/// An option that takes back a dry run, or of which the dry run may be the value: `-n --no-dry-run`, `--dry-run=false`,
/// `--comment --dry-run`.
pub fn takes_back(usage: &Usage, texts: &[&str]) -> Option<String> {
    let quiet: Vec<&str> =
        [usage.form.quiet, usage.program.form.quiet].iter().flat_map(|list| list.iter().copied()).collect();
    let value = usage.value();
    let listed: Vec<&str> =
        [usage.form.flags, usage.program.form.flags].iter().flat_map(|list| list.iter().copied()).collect();
    let is_taken_back = |name: Name<'_>, text: Option<&str>| match name {
        Name::Long(long) if !name.is_any(&quiet) => negates(long, &quiet),
        _ => name.is_any(&quiet) && matches!(text, Some("false" | "0" | "no" | "off" | "none" | "n" | "f")),
    };
    // What is doubtful without a value contradicts a dry run wherever it stands.
    let contradicts = |name: Name<'_>| {
        let terms = usage.form.effect;
        terms
            .is_some_and(|terms| terms.unknown_values.iter().any(|(one, all)| all.is_empty() && name.is(one)))
    };
    let mut valued: Option<(Name<'_>, usize)> = None;
    // The last one of contradicting options counts.
    let mut taken_back = None;
    let doubt = Scanner::new(texts, usage.start, &value).with_flags(&listed).find_map(|item| match item {
        Item::Option(name, at) => {
            let position = texts.iter().position(|text| name.is(text)).unwrap_or_default();
            let text = at.and_then(|at| at.of(texts));
            let before = valued.take().filter(|(_, index)| name.is_any(&quiet) && position == index + 1);
            if let Name::Long(long) = name
                && text.is_none()
                && !name.is_any(&value)
                && !name.is_any(&listed)
                && !name.is_any(&quiet)
                && !long.starts_with("no-")
                && VALUED_OPTIONS.iter().any(|one| glob(one, long))
            {
                valued = Some((name, position));
            }
            if is_taken_back(name, text) {
                taken_back = Some(written(name));
            } else if name.is_any(&quiet) {
                taken_back = None;
            }
            before.map(|(name, _)| written(name)).or_else(|| contradicts(name).then(|| written(name)))
        }
        // What it may not be given, a dry run may not either.
        Item::Positional(index) if index >= usage.rest => {
            let terms =
                usage.form.effect.filter(|terms| !terms.reads_with.iter().any(|one| quiet.contains(one)));
            let words = terms.map(|terms| terms.words).unwrap_or_default();
            let text = texts.get(index).copied().unwrap_or_default();
            (!words.is_empty() && !fits(text, &words)).then(|| text.to_owned())
        }
        _ => None,
    });
    doubt.or(taken_back)
}

/// Whether the options up to this one prove that the command reads: the last one counts, `--check --no-check`.
pub fn proves(name: Name<'_>, is_off: bool, terms: &EffectTerms, before: bool) -> bool {
    if name.is_any(&terms.reads_with) {
        return !is_off;
    }
    before && !matches!(name, Name::Long(long) if negates(long, &terms.reads_with))
}

/// Whether `--no-NAME` takes one of these options back.
fn negates(long: &str, options: &[&str]) -> bool {
    let not = long.strip_prefix("no-").unwrap_or_default();
    Name::Long(not).begins(options) || not.len() == 1 && options.contains(&format!("-{not}").as_str())
}

/// A word in the place of an object that names an action: `instances suspend list`.
pub fn acting_word<'t>(usage: &Usage, texts: &[&'t str]) -> Option<&'t str> {
    let first = usage.verb.iter().chain(&usage.starred).min()?;
    let objects = usage.starred.iter().filter(|index| *index > first).filter_map(|index| texts.get(*index));
    objects.copied().find(|word| fits(word, &ACTING_WORDS))
}

/// Whether a value is one of these options, which counts where the option before it takes no value after all:
/// `openssl req -verify -engine FILE`.
pub fn is_option(value: At, texts: &[&str], options: &[Options]) -> bool {
    let text = value.of(texts).filter(|text| value.offset == 0 && text.starts_with('-'));
    text.is_some_and(|text| options.iter().any(|options| options.contains(&text)))
}

/// Whether an option may be the beginning of one with whose values the effect can be unknown.
pub fn may_be_doubtful(name: Name<'_>, terms: &EffectTerms) -> bool {
    terms.unknown_values.iter().any(|(option, _)| !name.is(option) && name.begins(&[*option]))
}

/// Whether an option that the catalogue does not list does more than read by its name: `--daemonize`.
pub fn acts(name: Name<'_>, usage: &Usage, terms: &EffectTerms) -> bool {
    // How a program writes its files is not what it writes: `cp --update`.
    let (Name::Long(long), Stated::Reads) = (name, terms.stated) else { return false };
    let forms = [usage.form, &usage.program.form];
    let is_listed =
        forms.iter().any(|form| [form.flags, form.valued, form.quiet].iter().any(|one| name.is_any(one)));
    let separated = separated(long);
    let first = separated.split(['-', '_']).next().unwrap_or_default();
    let is_excluded = ACTING_OPTIONS.iter().any(|one| one.strip_prefix('!') == Some(long));
    // `--daemo` is `--daemonize` for many programs.
    let begins =
        |word: &str| long.len() >= SHORTEST_BEGINNING && !word.contains('-') && word.starts_with(long);
    !is_listed && !is_excluded && ACTING_OPTIONS.iter().any(|one| [first, long].contains(one) || begins(one))
}

/// The number of words of its own that stand before the command which a program runs, such as a host: what follows is the
/// command. `None` if its options may stand behind them.
pub fn own_words(usage: &Usage, texts: &[&str]) -> Option<usize> {
    usage.form.runs.and_then(|runs| match runs.how {
        How::Ssh => Some(1),
        How::Command if !runs.words_need.is_empty() && !usage.has(texts, &runs.words_need) => None,
        How::Command => runs.after.0,
        _ => None,
    })
}

/// Where the command begins that a program runs, behind its options, their values and its own words. The end where that is not
/// known.
pub fn start_of_command(usage: &Usage, texts: &[&str]) -> usize {
    let how = usage.form.runs.map(|runs| runs.how);
    let own = match how {
        Some(How::Xargs) => Some(0),
        Some(How::Command) => own_words(usage, texts),
        _ => None,
    };
    let Some(own) = own else { return texts.len() };
    let value = usage.value();
    let terms = usage.form.effect.map_or(EffectTerms::PLAIN, |terms| *terms);
    let listed = listed_options(usage, &terms, &value);
    let mut words = 0;
    let end = Scanner::new(texts, usage.rest, &value).with_flags(&listed).find_map(|item| match item {
        Item::Positional(index) => {
            words += 1;
            (words > own).then_some(index)
        }
        _ => None,
    });
    end.unwrap_or(texts.len())
}

pub fn written(name: Name<'_>) -> String {
    match name {
        Name::Short(letter) => format!("-{letter}"),
        Name::Long(name) => format!("--{name}"),
    }
}

/// Whether a word matches one of the globs, and none of those that begin with `!`.
pub fn fits(word: &str, globs: &[&str]) -> bool {
    let (not, of): (Vec<&str>, Vec<&str>) = globs.iter().partition(|one| one.starts_with('!'));
    let excluded = not.iter().filter_map(|one| one.strip_prefix('!')).any(|one| glob(one, word));
    !excluded && (of.is_empty() || of.iter().any(|one| glob(one, word)))
}
