//! The conditions under which a form reads: its options, its words, and what they state.

use super::Prover;
use crate::effects::options::{
    ANY_OPTION, acts, before_verb, beside, doubt, fits, is_option, is_unknown_word, listed_options,
    may_be_doubtful, only_reads_file, own_words, proves, written,
};
use crate::effects::proof::{Proof, READS};
use crate::effects::reason::Why;
use crate::effects::scripts::Sees;
use crate::effects::{ansible, find, http, key_value, lines, scripts, socket};
use crate::lists::FOLDER_OUTPUTS;
use crate::paths::archive;
use crate::paths::archive::Operation;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{ABBREVIATES, Item, Name, Scanner};
use opsctl_reader::catalogue::program::{Check, EffectTerms, FileHow, How, Role};
use opsctl_reader::shell::{Command, Word, glob};
use opsctl_reader::terms::effect::Effect;

impl Prover<'_> {
    /// Reads where every condition of its form holds.
    pub(super) fn conditions(
        &self,
        command: &Command,
        usage: &Usage,
        terms: &EffectTerms,
        texts: &[&str],
    ) -> Proof {
        if terms.check == Some(Check::FindExpression) {
            return self.searches(command, usage, terms, texts);
        }
        let changes = |why| (Effect::Changes, why);
        let unknown = |why| (Effect::Unknown, why);
        let mut reads = terms.reads_with.is_empty();
        let (mut words, mut any_words, mut changing) = (0, false, None);
        let value = usage.value();
        let special = of_bundle(usage, terms, texts).or_else(|| before_verb(usage, texts));
        if let Some(proof) = special.or_else(|| beside(usage, terms, texts)) {
            return proof;
        }
        let outputs = usage.files().outputs;
        if let Some(option) = changing_option_before_verb(usage, terms, texts) {
            return unknown(Why::Option(option));
        }
        let listed = listed_options(usage, terms, &value);
        // Behind the first word stand the options of the command that a program runs.
        let is_wrapper = usage
            .form
            .runs
            .is_some_and(|runs| !matches!(runs.how, How::Find | How::Fd | How::Code(_) | How::Crontab));
        let mut options_matter = !is_wrapper
            && (terms.flags.is_some()
                || usage.form.files.is_some_and(|files| files.how == Some(FileHow::Environment))
                || terms.check.is_some()
                || !(terms.changes_with.is_empty() && outputs.is_empty() && terms.unknown_values.is_empty()));
        for item in Scanner::new(texts, usage.rest, &value).with_flags(&listed) {
            match item {
                Item::Option(..) if own_words(usage, texts).is_some_and(|own| words > own) => {}
                Item::Option(name, at) => {
                    let form = if usage.form.files.is_some() { usage.form } else { &usage.program.form };
                    // A described option without a value is no abbreviation.
                    let is_whole = matches!(name, Name::Long(long) if value.iter().any(|one| one.strip_prefix(ABBREVIATES) == Some(long)));
                    let is_listed = name.is_any(&listed)
                        && (name.is_any(&usage.form.value.unwrap_or_default())
                            || !only_reads_file(form, name));
                    let text = at.and_then(|at| at.of(texts));
                    // `--check=false` is as if it were not there.
                    let is_off = !name.is_any(&value) && matches!(text, Some("false" | "0" | "no" | "off"));
                    // Without a value it writes the default file.
                    let is_cut = at.is_none() && name.is_any(&outputs) && name.is_any(&value);
                    let is_stated = name.is_any(&terms.changes_with) && !(is_off && text == Some("false"));
                    let begins = || name.begins(&terms.changes_with) || name.begins(&outputs);
                    if is_cut
                        || is_stated
                        || at.is_some_and(|at| is_option(at, texts, &[terms.changes_with, outputs]))
                    {
                        return changes(Why::Option(written(name)));
                    }
                    let is_own = !(is_wrapper && words > 0);
                    let value = at.and_then(|at| command.words.get(at.index)).filter(|_| options_matter);
                    if let Some(word) = value.filter(|word| self.may_hide_option(word, command)) {
                        return unknown(Why::MaybeOption(word.text.clone()));
                    }
                    // Which file it writes is seen only where the name is complete.
                    let is_doubtful = || begins() || may_be_doubtful(name, terms);
                    let may_act = || is_own && !is_off && acts(name, usage, terms);
                    let is_open = !is_listed && !is_whole && (is_doubtful() || may_act());
                    match doubt(name, text, terms).or_else(|| is_open.then_some(Effect::Unknown)) {
                        Some(Effect::Changes) => changing = changing.or_else(|| Some(written(name))),
                        Some(_) => return unknown(Why::Option(written(name))),
                        None => {}
                    }
                    if !is_own {
                        continue;
                    }
                    reads = proves(name, is_off, terms, reads);
                    any_words |= name.is_any(&terms.any_words_with);
                    if terms.flags.is_some() && !is_listed {
                        let is_change = terms.changes_with.contains(&ANY_OPTION);
                        let effect = if is_change { Effect::Changes } else { Effect::Unknown };
                        return (effect, Why::UnknownOption(written(name)));
                    }
                }
                Item::Positional(index) => {
                    words += 1;
                    if is_wrapper && own_words(usage, texts).is_some_and(|own| words > own) {
                        // It is one of the command that it runs.
                        continue;
                    }
                    let text = texts.get(index).copied().unwrap_or_default();
                    if let Some(proof) = of_word(text, terms) {
                        return proof;
                    }
                    let word = command.words.get(index);
                    if word.is_none_or(|word| self.may_not_fit(word, terms, command)) {
                        return unknown(Why::Word);
                    }
                    if options_matter && word.is_some_and(|word| self.may_be_option(word, command)) {
                        return unknown(Why::MaybeOperand(text.to_owned()));
                    }
                }
                Item::Dashes(_) => options_matter = false,
            }
        }
        if let Some(option) = changing {
            return changes(Why::Option(option));
        }
        if !reads {
            return lacks_option(is_wrapper, terms, texts);
        }
        if !any_words && terms.most_words.is_some_and(|most| words > most) {
            return changes(Why::Stated);
        }
        terms.check.map_or(READS, |check| self.check(check, command, usage, terms, texts))
    }

    /// Whether the value of an option may be several words, of which one is an option: it has no quotes.
    fn may_hide_option(&self, value: &Word, command: &Command) -> bool {
        (value.may_be_several() || value.is_pattern()) && self.may_be_option(value, command)
    }

    /// A search whose words are conditions, of which none may be another one.
    fn searches(&self, command: &Command, usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Proof {
        // No condition ends as `*.log` does.
        let is_name = |word: &Word| {
            word.is_pattern() && word.text.rsplit('*').next().is_some_and(|end| end.contains('.'))
        };
        // One word that begins with the path of a folder.
        let is_in_folder = |word: &Word| {
            let mut beginnings = word.beginnings().map(|unknown| unknown.source.as_str());
            !word.may_be_several()
                && !self.calls.iter().any(|function| function == "git")
                && beginnings.next().is_some_and(|source| FOLDER_OUTPUTS.contains(&source))
        };
        let may_hide = |word: &&Word| !is_name(word) && self.may_be_option(word, command);
        let proof = find::effect(usage, terms, texts, &|path| self.is_scratch(path, command));
        let mut words = command.words.iter().skip(1);
        let hides = words.find(|word| may_hide(word) && !(is_in_folder(word) && proof.0 == Effect::Reads));
        hides.map_or(proof, |word| (Effect::Unknown, Why::MaybeOption(word.text.clone())))
    }

    /// Whether a word may be one with which a command does not read. What only the run knows is none of the listed words, and
    /// what the session may have chosen may be one that must not be there.
    fn may_not_fit(&self, word: &Word, terms: &EffectTerms, command: &Command) -> bool {
        !terms.words.is_empty()
            && word.known().is_none()
            && (!is_described(&word.text, terms) || self.may_be_option(word, command))
    }

    fn check(
        &self,
        check: Check,
        command: &Command,
        usage: &Usage,
        terms: &EffectTerms,
        texts: &[&str],
    ) -> Proof {
        let is_scratch = |path: &str| self.is_scratch(path, command);
        match check {
            Check::SedScript
            | Check::AwkProgram
            | Check::Sql
            | Check::SqlWords
            | Check::SqlCondition
            | Check::Flux
            | Check::Mongo => {
                let sees = Sees { is_scratch: &is_scratch, calls: &self.calls };
                scripts::effect(check, command, usage, terms, texts, sees)
            }
            Check::SftpBatch => lines::sftp(command, usage, texts),
            Check::ExCommands => lines::view(command, usage, texts),
            Check::EditorScript => lines::edited(command),
            Check::FindExpression => find::effect(usage, terms, texts, &is_scratch),
            Check::HttpRequest => http::effect(command, usage, texts),
            Check::ForgeApi => http::forge(command, usage, texts),
            Check::KeyValue => key_value::effect(command, usage, texts),
            Check::Socket => {
                let operands: Vec<&str> = usage.operands(texts).words().collect();
                socket::effect(command, &operands)
            }
            // The files that it writes are looked at elsewhere.
            Check::ArchiveMode => match archive::operation(usage, &usage.operands(texts)) {
                Operation::Unclear => (Effect::Unknown, Why::Statement),
                Operation::Unpacks if usage.operands(texts).has(Role::Absolute) => {
                    (Effect::Changes, Why::Statement)
                }
                _ => READS,
            },
            Check::AnsibleModule => ansible::effect(usage, texts),
        }
    }
}

/// The effect of the options in a first word without a dash, `tar tIf PROGRAM FILE`, where they do more than read.
fn of_bundle(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<Proof> {
    if terms.check != Some(Check::ArchiveMode)
        || texts.get(usage.rest).is_none_or(|text| text.starts_with('-'))
    {
        return None;
    }
    let given = usage.operands(texts);
    given.options.iter().find_map(|(name, at)| {
        let text = at.and_then(|at| at.of(texts));
        let changes = name.is_any(&terms.changes_with).then_some(Effect::Changes);
        Some((doubt(*name, text, terms).or(changes)?, Why::Option(written(*name))))
    })
}

/// The effect of a word with which a command does not read.
fn of_word(text: &str, terms: &EffectTerms) -> Option<Proof> {
    if is_unknown_word(text, terms) {
        return Some((Effect::Unknown, Why::Word));
    }
    (!fits(text, &terms.words)).then_some((Effect::Changes, Why::Word))
}

/// Whether a word that only the run knows is one of the words with which a command reads: each word is, or a glob states how it
/// may be written, such as `$*`.
fn is_described(text: &str, terms: &EffectTerms) -> bool {
    let mut listed = terms.words.iter().filter(|one| !one.starts_with('!')).peekable();
    // All files that `/dev/sd?` names are below `/dev/`.
    let wildcards = ['*', '?', '['];
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-*?[]!".contains(c);
    let head = text.split(wildcards).next().filter(|head| *head != text && text.chars().all(is_path));
    let is_below = |one: &str| {
        let folder = one.strip_suffix('*').filter(|folder| folder.len() > 1 && folder.ends_with('/'));
        folder.zip(head).is_some_and(|(folder, head)| !folder.contains(wildcards) && head.starts_with(folder))
    };
    let excludes = terms.words.iter().any(|one| one.starts_with('!'));
    // A path below the home directory is an absolute one.
    let below_home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| text.strip_prefix(home));
    let fits_below =
        |rest: &str| ["/root", "/home/x"].iter().all(|home| fits(&format!("{home}/{rest}"), &terms.words));
    if below_home.is_some_and(|rest| !rest.contains(['$', '`']) && fits_below(rest)) {
        return true;
    }
    listed.peek().is_none()
        || listed.any(|one| one.starts_with('$') && glob(one, text) || !excludes && is_below(one))
}

/// Why a command without any of the options with which it reads does not only read.
fn lacks_option(is_wrapper: bool, terms: &EffectTerms, texts: &[&str]) -> Proof {
    if is_wrapper {
        let name = texts.first().copied().unwrap_or_default();
        return (Effect::Unknown, Why::RunsUnknown(base_name(name).to_owned()));
    }
    (Effect::Changes, Why::LacksOption(terms.reads_with.first().copied().unwrap_or_default()))
}

/// An option before the verb with which the verb changes something: many programs take the options of a verb there, too.
fn changing_option_before_verb(usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Option<String> {
    let before = texts.get(..usage.rest).unwrap_or_default();
    let (own, value) = (usage.program.value.unwrap_or_default(), usage.value());
    // `git -C DIR branch` is not `git branch -C`.
    let is_own = |name: &Name<'_>| usage.form.value.is_some() && name.is_any(&own) && !name.is_any(&value);
    let outputs = usage.files().outputs;
    let flags = usage.program.form.flags;
    Scanner::new(before, usage.start, &own).with_flags(&flags).find_map(|item| match item {
        Item::Option(name, _) if !is_own(&name) => {
            let is_listed = name.is_any(&own) || name.is_any(&flags);
            let begins = || !is_listed && (name.begins(&terms.changes_with) || name.begins(&outputs));
            let changes = name.is_any(&terms.changes_with) || name.is_any(&outputs) || begins();
            (changes || acts(name, usage, terms)).then(|| written(name))
        }
        _ => None,
    })
}
