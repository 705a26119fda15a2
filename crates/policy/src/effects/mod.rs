//! What a command does to the world, proved strictly: it reads only where every word of it is understood.
//!
//! The catalogue states what the forms of programs do and on which conditions; this file checks the conditions. Doubt
//! falls towards unknown.

mod ansible;
mod code;
pub mod consequence;
mod find;
mod http;
mod key_value;
mod leaving;
mod lines;
mod options;
mod proof;
mod reason;
mod scratch;
mod scripts;
mod socket;
mod surroundings;

use std::sync::Arc;

use crate::files;
use crate::files::Touch;
use crate::lists::{ENVIRONMENT_FILES, PROGRAM_FOLDERS, USERS_FOLDERS};
use crate::model::rights::rules::PathRule;
use crate::paths::archive;
use crate::paths::archive::Operation;
use crate::paths::glob::matches;
use crate::paths::word_paths::LocalMachine;
use crate::targets::hosts;
use opsctl_reader::actions::{CommandActions, command_actions};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{ABBREVIATES, Item, Name, Scanner};
use opsctl_reader::catalogue::program::{
    Check, EffectTerms, How, Language, Prints, Role, Stated, TargetKind,
};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::shell::{Command, Construct, Node, Script, Word};
use opsctl_reader::terms::effect::Effect;
use options::{
    ANY_OPTION, acting_word, asks_about_itself, asks_for_help, before_verb, doubt, doubtful_option, fits,
    is_option, may_be_doubtful, only_reads_file, proves, takes_back, written,
};
pub use proof::{PartEffect, Scratch};
use proof::{Proof, READS};
pub use reason::Why;
pub use scratch::is_scratch;
use surroundings::{values, variables};

/// The effect of each command of a script, in the order of the text. `secret` are the rules of `policy.secret`.
pub fn parts(
    script: &Script,
    scratch: &Scratch,
    secret: &[PathRule],
    machine: &dyn LocalMachine,
) -> Vec<PartEffect> {
    let prover = Prover { catalogue: script.catalogue, scratch, secret, machine, cwd: script.cwd.as_deref() };
    let mut parts = Vec::new();
    let of = |command: &Command, runs: bool| {
        let (effect, why) = prover.command(command, runs);
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let usage = script.catalogue.usage(&texts, &|_| false);
        PartEffect {
            text: command.to_string(),
            form: form(command, usage.as_ref(), &texts),
            whereabouts: command.whereabouts(),
            hosts: hosts::named(command, usage.as_ref(), &texts),
            sends_to: usage
                .as_ref()
                .map(|usage| leaving::destinations(command, usage, &texts))
                .unwrap_or_default(),
            effect,
            why,
            instead: usage.and_then(|usage| usage.instead(&texts)),
        }
    };
    let unread = |text: String| PartEffect {
        text,
        form: String::new(),
        whereabouts: String::new(),
        hosts: vec![],
        sends_to: vec![],
        effect: Effect::Unknown,
        why: Why::Unread,
        instead: None,
    };
    script.visit(|node| match node {
        Node::Command(command) => parts.push(of(command, false)),
        Node::Group(Construct::Through(command), inner) => parts.push(of(command, !inner.is_empty())),
        Node::Group(..) => {}
        Node::Unread(text) => parts.push(unread(text.text.clone())),
    });
    let in_scratch = |file: &&String| scratch.0.iter().any(|glob| matches(glob, file));
    parts.extend(
        script
            .files
            .iter()
            .filter(in_scratch)
            // Its text was read, but may be another one when it runs.
            .map(|file| PartEffect {
                effect: Effect::Changes,
                why: Why::ScriptInScratch(file.clone()),
                ..unread(file.clone())
            }),
    );
    if script.has_doubtful_file {
        parts.push(PartEffect { why: Why::DoubtfulFolder, ..unread(String::new()) });
    }
    if !script.complaints.is_empty() && !parts.iter().any(|part| part.effect == Effect::Unknown) {
        parts.push(unread(script.complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")));
    }
    parts
}

/// The program and verb of a command; a program that only the run knows is left out.
fn form(command: &Command, usage: Option<&Usage>, texts: &[&str]) -> String {
    let known = command.words.first().is_some_and(|word| word.known().is_some());
    match usage {
        Some(usage) if known => usage.named(texts),
        _ if known => texts.first().map_or("", |name| base_name(name)).to_owned(),
        _ => String::new(),
    }
}

/// The strongest effect of these parts; without any, it reads.
pub fn strongest(parts: &[PartEffect]) -> Effect {
    parts.iter().map(|part| part.effect).max().unwrap_or(Effect::Reads)
}

/// Whether a file that cannot be read here is one in which an operator sets variables.
fn is_environment_file(path: &str) -> bool {
    ENVIRONMENT_FILES.iter().any(|glob| matches(glob, path)) && !path.contains("/..")
}

/// The options that a form states, with a value or without.
fn listed_options<'a>(usage: &Usage, terms: &EffectTerms, value: &[&'a str]) -> Vec<&'a str> {
    [terms.flags.unwrap_or_default(), terms.changes_with, terms.reads_with, terms.any_words_with]
        .iter()
        .flat_map(|options| options.iter().copied())
        .chain(usage.form.flags.iter().copied())
        .chain(usage.form.quiet.iter().copied())
        .chain(usage.program.host.iter().copied())
        .chain(value.iter().copied())
        .collect()
}

/// Proves that a command reads, or finds the reason why that cannot be proved.
struct Prover<'a> {
    catalogue: Catalogue,
    scratch: &'a Scratch,
    machine: &'a dyn LocalMachine,
    /// Where the script starts.
    secret: &'a [PathRule],
    cwd: Option<&'a str>,
}

impl Prover<'_> {
    /// `runs` is true for a command whose own command stands below it in the tree.
    fn command(&self, command: &Command, runs: bool) -> Proof {
        let own = match self.words(command, runs) {
            proof if proof.0 == Effect::Reads => {
                let objection =
                    values::objection(command, runs, self.catalogue, &|path| self.is_scratch(path, command));
                // What it runs is judged with the same variables.
                let open = || if runs { None } else { self.variable(command, variables::is_open) };
                objection.or_else(open).unwrap_or(proof)
            }
            // All commands that it starts are known, or its code stands below it.
            (Effect::Unknown, why)
                if (runs && command.stdin.is_none() || command.is_followed)
                    && code::is_of_code(&why, command) =>
            {
                (Effect::Changes, why)
            }
            proof => proof,
        };
        match self.written(command, runs, &own) {
            Some(path) if own.0 < Effect::Changes => (Effect::Changes, Why::Writes(path)),
            _ if own.0 == Effect::Reads => {
                let searched = files::open_search(command, !runs, self.catalogue, self.secret, self.machine);
                searched.map_or(own, |folder| (Effect::Unknown, Why::Searches(folder)))
            }
            _ => own,
        }
    }

    /// The first file outside scratch that it writes.
    fn written(&self, command: &Command, runs: bool, own: &Proof) -> Option<String> {
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let usage = self.catalogue.usage(&texts, &|_| false);
        let how = usage.and_then(|usage| usage.form.runs).map(|runs| runs.how);
        // A program that acts is judged by its action, code that was understood by the code.
        let is_judged =
            own.0 == Effect::Acts || (own.0 == Effect::Reads && matches!(how, Some(How::Code(_))));
        // In a dry run only the shell writes.
        let is_quiet =
            own.0 == Effect::Reads && command_actions(command, self.catalogue) == CommandActions::Quiet;
        let mut accesses = if is_judged || is_quiet {
            files::redirected(command)
        } else {
            files::accesses(command, !runs, self.catalogue, self.machine)
        };
        // Commands that `find` runs, and `-delete`, are checked elsewhere.
        if matches!(how, Some(How::Find | How::Fd)) {
            accesses.retain(|access| access.touch != Touch::WriteAll);
        }
        accesses
            .into_iter()
            .filter(|access| access.touch.writes())
            .find(|access| !self.is_scratch(&access.path, command))
            .map(|access| access.path)
    }

    fn is_scratch(&self, path: &str, command: &Command) -> bool {
        scratch::is_scratch(path, command, self.scratch, self.machine)
    }

    /// The first variable of a command that may make its program run or load something.
    fn variable(&self, command: &Command, may: variables::Test) -> Option<Proof> {
        // The separators of what it reads.
        let splits = command
            .words
            .first()
            .is_some_and(|name| matches!(name.text.as_str(), "read" | "mapfile" | "readarray"));
        let is_own = |path: &str| self.is_scratch(path, command);
        let mut variables = command.env.iter().map(Arc::as_ref);
        let (name, _) =
            variables.find(|(name, value)| !(splits && name == "IFS") && may(name, value, &is_own))?;
        Some((Effect::Unknown, Why::Variable(name.clone())))
    }

    fn words(&self, command: &Command, runs: bool) -> Proof {
        let Some(first) = command.words.first() else { return READS };
        let Some(name) = first.known() else { return (Effect::Unknown, Why::UnknownProgram) };
        if let Some(proof) = lines::router_os(command) {
            return proof;
        }
        if lines::ends_own_jobs(command) {
            return READS;
        }
        if name.contains('/') && !command.is_script && !self.is_program(name, command) {
            return (Effect::Unknown, Why::ScriptOnDisk(name.to_owned()));
        }
        if let Some(proof) = self.variable(command, variables::steers) {
            return proof;
        }
        if command.is_script {
            return (Effect::Reads, Why::RunsPart);
        }
        // What can be read stands below it in the tree.
        if let ([_, file], false) = (command.words.as_slice(), runs)
            && matches!(name, "." | "source")
            && file.known().is_some_and(is_environment_file)
        {
            return READS;
        }
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let unknown = |index: usize| command.words.get(index).is_some_and(|word| word.known().is_none());
        let Some(usage) = self.catalogue.usage(&texts, &|_| false) else {
            // Programs such as test runners load what lies in the folder before they answer.
            if asks_about_itself(&texts) && !self.has_moved_to_scratch(command) {
                return READS;
            }
            return (Effect::Unknown, Why::NotListed(base_name(name).to_owned()));
        };
        if usage.verb.iter().any(|index| unknown(*index)) {
            return (Effect::Unknown, Why::UnknownVerb(base_name(name).to_owned()));
        }
        if usage.program.loads_folder && self.is_in_scratch(command, &usage) {
            return (Effect::Unknown, Why::OwnFolder);
        }
        match command_actions(command, self.catalogue) {
            CommandActions::Acts(actions) => {
                return (Effect::Acts, Why::Acts(actions.first().map(|action| action.kind)));
            }
            // With a command to run, the option is one of that command.
            CommandActions::Quiet if !runs => {
                // What runs a program runs it in a dry run, too.
                let doubtful = usage.form.effect.and_then(|terms| doubtful_option(&usage, &terms, &texts));
                let doubtful =
                    doubtful.or_else(|| takes_back(&usage, &texts).map(|option| (Effect::Unknown, option)));
                if let Some(proof) = before_verb(&usage, &texts) {
                    return proof;
                }
                let mut words = command.words.iter().skip(1);
                if let Some(word) = words.find(|word| self.may_be_option(word, command)) {
                    return (Effect::Unknown, Why::MaybeOption(word.text.clone()));
                }
                if let Some(file) = self.own_playbook(command, &usage, &texts) {
                    return (Effect::Unknown, Why::ScriptInScratch(file));
                }
                return doubtful.map_or(READS, |(effect, option)| (effect, Why::Option(option)));
            }
            CommandActions::Quiet | CommandActions::NoAction => {}
        }
        if asks_for_help(&usage, &texts) {
            return READS;
        }
        let program = base_name(name).to_owned();
        let code = usage.form.runs.is_some_and(|runs| matches!(runs.how, How::Code(_)));
        // The words of some programs that run others are an expression; of the rest, only those of a form without a
        // command are their own.
        let expression = usage.form.runs.is_some_and(|runs| {
            code || matches!(runs.how, How::Find | How::Fd | How::Ansible | How::Crontab)
        });
        let terms = match usage.form.effect {
            Some(terms) if runs && !expression && terms.stated == Stated::Reads => EffectTerms {
                unknown_values: terms.unknown_values,
                changing_values: terms.changing_values,
                changes_with: terms.changes_with,
                check: terms.check,
                ..EffectTerms::PLAIN
            },
            Some(terms) => *terms,
            None if runs && !code => EffectTerms::PLAIN,
            None if code => return self.code(command, usage.form.runs.map(|runs| runs.how)),
            None if usage.form.runs.is_some() => return (Effect::Unknown, Why::RunsUnknown(program)),
            None => return (Effect::Unknown, Why::NotStated(usage.written(&texts))),
        };
        if !runs && usage.form.runs.is_some() && usage.form.effect.is_some() && terms.stated == Stated::Reads
        {
            // A wrapper without the command that it runs: `ssh host`, `watch` with an unknown one.
            let idle = terms.check.is_some() || !terms.reads_with.is_empty() || terms.most_words.is_some();
            if !idle && !expression {
                return (Effect::Unknown, Why::RunsUnknown(program));
            }
        }
        match terms.stated {
            Stated::Reads if runs => match self.conditions(command, &usage, &terms, &texts) {
                (Effect::Reads, _) => (Effect::Reads, Why::RunsPart),
                proof => proof,
            },
            Stated::Changes(_) => (Effect::Changes, Why::Stated),
            Stated::Unknown => (Effect::Unknown, Why::NotStated(usage.written(&texts))),
            Stated::Reads if acting_word(&usage, &texts).is_some() => {
                (Effect::Unknown, Why::UnknownVerb(program))
            }
            Stated::Reads => self.conditions(command, &usage, &terms, &texts),
            Stated::Writes => match self.conditions(command, &usage, &terms, &texts) {
                // `-` is the standard output.
                (Effect::Reads, _) if !self.names_a_file(command) && texts.last() != Some(&"-") => {
                    (Effect::Changes, Why::Stated)
                }
                proof => proof,
            },
        }
    }

    /// Whether a path is that of the program of this name: in a folder of programs, or one of the catalogue elsewhere.
    fn is_program(&self, path: &str, command: &Command) -> bool {
        let is_below = |folder: &&str| path.starts_with(*folder);
        let is_foreign = || {
            !USERS_FOLDERS.iter().any(is_below)
                && !self.cwd.is_some_and(|cwd| path.starts_with(cwd))
                && self.catalogue.find(path).is_some()
                && !self.is_scratch(path, command)
        };
        path.starts_with('/')
            && !path.contains("/..")
            && (PROGRAM_FOLDERS.iter().any(is_below) || is_foreign())
    }

    /// The first playbook of a command that the session may write. Its tasks may state that they run in a dry run, too.
    fn own_playbook(&self, command: &Command, usage: &Usage, texts: &[&str]) -> Option<String> {
        usage.form.does.filter(|does| does.to.kind == TargetKind::Playbook)?;
        let moved = self.has_moved_to_scratch(command);
        let is_own = |text: &&&str| (moved || text.starts_with('/')) && self.is_scratch(text, command);
        texts.iter().skip(1).find(is_own).map(|text| (*text).to_owned())
    }

    /// Whether it is known which files a command writes.
    fn names_a_file(&self, command: &Command) -> bool {
        let accesses = files::accesses(command, true, self.catalogue, self.machine);
        accesses.iter().any(|access| access.touch.writes())
    }

    /// Code of another language on the command line.
    fn code(&self, command: &Command, how: Option<How>) -> Proof {
        let Some(How::Code(language)) = how else { return (Effect::Unknown, Why::Code) };
        // Perl and Ruby take more code behind the first: `perl -ne print $(cat /tmp/x)`.
        let mut words = command.words.iter().skip(1).filter(|_| language != Language::Python);
        if let Some(word) = words.find(|word| self.may_be_option(word, command)) {
            return (Effect::Unknown, Why::MaybeOption(word.text.clone()));
        }
        code::effect(command, language, &|from| {
            let words = command.words.get(from..).unwrap_or_default().to_vec();
            self.command(&Command { words, ..command.clone() }, false)
        })
    }

    /// Reads where every condition of its form holds.
    fn conditions(&self, command: &Command, usage: &Usage, terms: &EffectTerms, texts: &[&str]) -> Proof {
        if terms.check == Some(Check::FindExpression) {
            let hides = command.words.iter().skip(1).find(|word| self.may_be_option(word, command));
            return hides.map_or_else(
                || find::effect(usage, terms, texts, &|path| self.is_scratch(path, command)),
                |word| (Effect::Unknown, Why::MaybeOption(word.text.clone())),
            );
        }
        let changes = |why| (Effect::Changes, why);
        let unknown = |why| (Effect::Unknown, why);
        let mut reads = terms.reads_with.is_empty();
        let (mut words, mut any_words) = (0, false);
        let mut changing = None;
        let value = usage.value();
        if let Some(proof) = before_verb(usage, texts) {
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
                || terms.check.is_some()
                || !(terms.changes_with.is_empty() && outputs.is_empty() && terms.unknown_values.is_empty()));
        for item in Scanner::new(texts, usage.rest, &value).with_flags(&listed) {
            match item {
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
                    if name.is_any(&terms.changes_with) && !(is_off && text == Some("false"))
                        || (!is_listed
                            && !is_whole
                            && (name.begins(&terms.changes_with) || name.begins(&outputs)))
                        || at.is_some_and(|at| is_option(at, texts, &[terms.changes_with, outputs]))
                    {
                        return changes(Why::Option(written(name)));
                    }
                    let is_open = !is_listed && may_be_doubtful(name, terms);
                    match doubt(name, text, terms).or_else(|| is_open.then_some(Effect::Unknown)) {
                        Some(Effect::Changes) => changing = changing.or_else(|| Some(written(name))),
                        Some(_) => return unknown(Why::Option(written(name))),
                        None => {}
                    }
                    if is_wrapper && words > 0 {
                        continue;
                    }
                    reads = proves(name, is_off, terms, reads);
                    any_words |= name.is_any(&terms.any_words_with);
                    if terms.flags.is_some() && !is_listed {
                        let effect = if terms.changes_with.contains(&ANY_OPTION) {
                            Effect::Changes
                        } else {
                            Effect::Unknown
                        };
                        return (effect, Why::UnknownOption(written(name)));
                    }
                }
                Item::Positional(index) => {
                    words += 1;
                    let text = texts.get(index).copied().unwrap_or_default();
                    if !fits(text, &terms.words) {
                        return changes(Why::Word);
                    }
                    // What only the run knows may be what must not be there.
                    let word = command.words.get(index);
                    if word.is_none_or(|word| word.known().is_none()) && !terms.words.is_empty() {
                        return unknown(Why::Word);
                    }
                    if options_matter && word.is_some_and(|word| self.may_be_option(word, command)) {
                        return unknown(Why::MaybeOption(text.to_owned()));
                    }
                }
                Item::Dashes(_) => options_matter = false,
            }
        }
        if let Some(option) = changing {
            return changes(Why::Option(option));
        }
        if !reads && is_wrapper {
            return unknown(Why::RunsUnknown(
                base_name(texts.first().copied().unwrap_or_default()).to_owned(),
            ));
        }
        if !reads {
            return changes(Why::LacksOption(terms.reads_with.first().copied().unwrap_or_default()));
        }
        if !any_words && terms.most_words.is_some_and(|most| words > most) {
            return changes(Why::Stated);
        }
        terms.check.map_or(READS, |check| self.check(check, command, usage, terms, texts))
    }

    /// Whether a command runs in a folder that the session may write, or is sent to one by an option such as `-C`.
    fn is_in_scratch(&self, command: &Command, usage: &Usage) -> bool {
        let before = command.words.get(1..usage.rest).unwrap_or_default();
        let mut folders = before.iter().map(|word| word.text.rsplit('=').next().unwrap_or_default());
        self.has_moved_to_scratch(command)
            || folders
                .any(|folder| folder.starts_with('/') && self.is_scratch(&format!("{folder}/x"), command))
    }

    /// Whether the script has changed to a folder that the session may write. Where it starts is the session's project.
    fn has_moved_to_scratch(&self, command: &Command) -> bool {
        command.cwd.is_some() && command.cwd.as_deref() != self.cwd && self.is_scratch("./x", command)
    }

    /// Whether a word is the output of a program that may print an option which the session has chosen: contents of a
    /// file that it may write, or of an address.
    fn may_be_option(&self, word: &Word, command: &Command) -> bool {
        let Some(unknown) = word.unknown.as_ref().filter(|_| word.prefix().is_empty()) else { return false };
        let source = unknown.source.strip_prefix("$(").and_then(|source| source.strip_suffix(')'));
        let words: Vec<&str> = source.unwrap_or_default().split_whitespace().collect();
        let prints = self.catalogue.usage(&words, &|_| false).and_then(|usage| usage.program.prints);
        let mut paths = words.iter().skip(1).filter(|word| word.contains('/'));
        prints == Some(Prints::Answers)
            || prints == Some(Prints::Input) && paths.clone().next().is_none()
            || paths.any(|word| word.starts_with('/') && self.is_scratch(word, command))
            || prints.is_some() && self.has_moved_to_scratch(command)
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
            | Check::Flux
            | Check::Mongo => scripts::effect(check, command, usage, terms, texts, &is_scratch),
            Check::SftpBatch => lines::sftp(command, usage, texts),
            Check::ExCommands => lines::view(command, usage, texts),
            Check::FindExpression => find::effect(usage, terms, texts, &is_scratch),
            Check::HttpRequest => http::effect(command, usage, texts),
            Check::ForgeApi => http::forge(command, usage, texts),
            Check::KeyValue => key_value::effect(command, usage, texts),
            // At a terminal nothing is sent.
            Check::Socket if usage.program.key == "openssl" && command.stdin.is_none() => READS,
            Check::Socket => socket::effect(command),
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
            (name.is_any(&terms.changes_with) || name.is_any(&outputs)).then(|| written(name))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Cases;
    use crate::paths::word_paths::UnknownMachine;

    #[test]
    fn effects_are_those_of_the_rows() {
        Cases::of("effects").check("the_effect_of_a_command_follows_from_all_of_it", |[command]| {
            let script = opsctl_reader::shell::read(command, Some("/app"));
            strongest(&parts(&script, &Scratch::default(), &[], &UnknownMachine)).as_str().to_owned()
        });
    }
}
