//! Always-denied commands: the default rules of the catalogue and the rules of `hosts.yaml`.
//!
//! The rules apply to the commands that would run, at any position of the text and inside any wrapper. Text that is
//! only printed is not a command.

pub mod bomb;
mod disguise;
mod kinds;
pub mod unread;

use super::pattern::{self, Behind, Kind, Pattern};
use crate::effects::{self, Scratch, consequence};
use crate::files;
use crate::files::Access;
use crate::lists::{BACKUPS, COPIES, DOCUMENTS, EMPTY, EMPTY_SOURCES};
use crate::model::records::verdict::Reason;
use crate::model::rights::ask::Topic;
use crate::model::rights::policy::Tier;
use crate::model::rights::rules::{NeverRule, Off, Rules};
use crate::paths::glob;
use crate::paths::word_paths::{LocalMachine, UnknownMachine, normal, text_paths};
use opsctl_reader::actions::{as_systemctl, place_of};
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::never::DefaultRule;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::catalogue::program::{Check, FileHow, Program};
use opsctl_reader::catalogue::{Catalogue, base_name, default_rules};
use opsctl_reader::shell::{Command, Construct, Mode, Node, Script, Suspicion, Word};
use opsctl_reader::terms::effect::Effect;
use std::cell::LazyCell;

/// The maximum number of suspected commands that are judged in one text that could not be read.
const MOST_SUSPECTED: usize = 64;

/// The default rules, which `hosts.yaml` may allow by the name of the rule or of its class.
pub fn defaults() -> impl Iterator<Item = &'static DefaultRule> {
    default_rules().iter()
}

/// The objections to the commands of a script, the first one of each rule.
pub fn objections(
    script: &Script,
    rules: &Rules,
    tier: Option<Tier>,
    machine: &dyn LocalMachine,
) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut add = |reason: Reason| {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    };
    let catalogue = script.catalogue;
    // With the rights of another user, a link in a folder for scratch files may lead anywhere.
    let reads = LazyCell::new(|| {
        let parts = effects::parts(script, &Scratch(vec![]), rules, machine);
        effects::strongest(&parts) == Effect::Reads
    });
    let reads = || *reads;
    let has_limits = rules.off.iter().any(|off| !off.service.is_empty());
    script.visit_within(|node, around| match node {
        // A wrapper is judged by its own words: `sudo` is one.
        Node::Command(command) | Node::Group(Construct::Through(command), _) => {
            let inside = has_limits.then(|| place_of(command, around, catalogue)).flatten();
            let inside = inside.and_then(|within| within.target.name().map(str::to_owned));
            let project = script.cwd.as_deref();
            Judged { command, rules, catalogue, machine, inside, project, reads: &reads }
                .judge(tier, &mut add);
        }
        Node::Unread(unread) => {
            let mut count = 0;
            unread.suspect(
                |word| has_rule(word, rules, catalogue),
                |command| {
                    let (inside, project, reads) = (None, None, &|| false);
                    Judged { command: &command, rules, catalogue, machine, inside, project, reads }
                        .judge(tier, &mut add);
                    count += 1;
                    if count < MOST_SUSPECTED { Suspicion::Dropped } else { Suspicion::Enough }
                },
            );
        }
        Node::Group(..) => {}
    });
    if !is_off(rules, bomb::NAME, None, &|_| false) {
        bomb::objection(script).into_iter().for_each(&mut add);
    }
    if !is_off(rules, unread::NAME, None, &|_| false) {
        unread::objection(script).into_iter().for_each(&mut add);
    }
    disguise::objections(script).into_iter().for_each(&mut add);
    reasons
}

/// The rules that apply at a tier, by name, each with its reason: the defaults that are not disabled, then those of
/// `hosts.yaml`.
pub fn in_force(rules: &Rules, tier: Tier) -> Vec<(&str, &str)> {
    let by_default = defaults()
        .filter(|rule| !is_off(rules, rule.name, None, &|_| false))
        .map(|rule| (rule.name, rule.reason));
    let own = rules.never.iter().filter(|rule| rule.tiers.is_empty() || rule.tiers.contains(&tier));
    let unread = (!is_off(rules, unread::NAME, None, &|_| false)).then_some((unread::NAME, unread::REASON));
    by_default.chain(unread).chain(own.map(|rule| (rule.name.as_str(), rule.reason.as_str()))).collect()
}

/// Whether a rule may apply to the program of this name.
fn has_rule(word: &str, rules: &Rules, catalogue: Catalogue) -> bool {
    let name = base_name(word);
    let by_default = catalogue.find(word).is_some_and(|program| {
        program.classed
            || !program.never.is_empty()
            || program.verbs.iter().any(|verb| verb.form.then.is_some())
    });
    let mut own = rules.never.iter().flat_map(|rule| &rule.patterns);
    by_default || own.any(|pattern| pattern::concerns(pattern, name))
}

/// Whether a default rule is allowed on this host (`None`: on all hosts), or is replaced by a rule with its name. `is_of` states
/// whether a service with these names is concerned.
fn is_off(rules: &Rules, name: &str, host: Option<&str>, is_of: &dyn Fn(&[String]) -> bool) -> bool {
    about(&rules.off, name).any(|off| off.holds(host, is_of))
        || rules.never.iter().any(|rule| rule.name == name)
}

/// Whether a default rule is allowed on all hosts.
pub fn is_allowed(rules: &Rules, name: &str) -> bool {
    is_off(rules, name, None, &|_| false)
}

/// Whether a person is asked about a default rule on some hosts or for some services only.
pub fn is_asked_on_places(rules: &Rules, name: &str) -> bool {
    about(&rules.ask_on, name).next().is_some()
}

/// Those that are about a rule: by its name or its class.
fn about<'a>(places: &'a [Off], name: &'a str) -> impl Iterator<Item = &'a Off> {
    let class = defaults().find(|rule| rule.name == name).map(|rule| rule.class);
    places.iter().filter(move |place| place.name == name || class.is_some_and(|class| place.name == class))
}

/// A command, and what it is judged by.
struct Judged<'a> {
    command: &'a Command,
    rules: &'a Rules,
    catalogue: Catalogue,
    machine: &'a dyn LocalMachine,
    /// The name of the container, workload or guest that it runs in.
    inside: Option<String>,
    /// The folder of the session.
    project: Option<&'a str>,
    /// Whether the whole text is proved to read only.
    reads: &'a dyn Fn() -> bool,
}

impl Judged<'_> {
    /// Whether the command runs on a host.
    fn is_remote(&self) -> bool {
        self.command.host().is_some() || self.machine.is_host()
    }

    /// Whether a default rule does not apply to the command.
    fn is_off(&self, name: &str) -> bool {
        is_off(self.rules, name, self.command.host(), &|names| self.concerns(names))
    }

    /// The objection of a default rule. A person is asked about it only where `ask_on` states that, if it does.
    fn objection(&self, rule: (&str, &str), evidence: &str) -> Reason {
        let mut places = about(&self.rules.ask_on, rule.0).peekable();
        let holds = |place: &Off| place.holds(self.command.host(), &|names| self.concerns(names));
        let is_asked = places.peek().is_none() || places.any(holds);
        let mut reason = objection(rule, evidence, self.command);
        reason.topic = reason.topic.filter(|_| is_asked);
        reason
    }

    /// Whether the command runs in a part of the service with these names, or all its words behind its verb are such names.
    fn concerns(&self, names: &[String]) -> bool {
        let is_of = |name: &str| names.iter().any(|known| known == name);
        let texts = self.command.texts();
        let Some(usage) = self.catalogue.usage(&texts, &|_| false) else { return false };
        let value = usage.value();
        let words: Vec<usize> = Scanner::new(&texts, usage.rest, &value)
            .filter_map(|item| match item {
                Item::Positional(index) if !usage.verb.contains(&index) => Some(index),
                _ => None,
            })
            .collect();
        let names_it = |index: &usize| {
            let word = self.command.words.get(*index).and_then(Word::known);
            word.is_some_and(|word| is_of(word.trim_start_matches('/')))
        };
        self.inside.as_deref().is_some_and(is_of) || (!words.is_empty() && words.iter().all(names_it))
    }

    fn judge(&self, tier: Option<Tier>, add: &mut impl FnMut(Reason)) {
        let Self { command, rules, catalogue, .. } = *self;
        let Some(name) = command.words.first().map(|word| base_name(&word.text)) else {
            self.overwritten(add);
            return;
        };
        let remote = self.is_remote();
        let mut found = false;
        if let Some(program) = catalogue.find(name) {
            found = self.by_default(program, (name, 1), add);
            if let Some(usage) = self.next_program(program) {
                let name = format!("{name} {}", usage.program.hints.first().unwrap_or(&usage.program.key));
                found |= self.by_default(usage.program, (&name, usage.start), add);
            }
        }
        found = found || self.as_systemctl(name, add);
        // The reason of a rule with a pattern is more exact.
        if !found && !self.overwritten(add) {
            self.by_class(add);
        }
        let at_tier = |tiers: &[Tier]| tiers.is_empty() || tier.is_some_and(|tier| tiers.contains(&tier));
        for rule in rules.never.iter().filter(|rule| rule.scope.holds(remote) && at_tier(&rule.tiers)) {
            let patterns = rule.patterns.iter().filter(|pattern| pattern::concerns(pattern, name));
            let found = patterns
                .filter_map(|pattern| Pattern::parse(pattern).ok())
                .find_map(|pattern| pattern.find(command, catalogue, &|kind, word| self.is(kind, word)));
            if let Some(found) = found {
                add(objection((&rule.name, &rule.reason), &found, command));
            }
        }
    }

    /// Adds the objections to what another program than systemctl does to units, and returns whether there is one.
    fn as_systemctl(&self, name: &str, add: &mut impl FnMut(Reason)) -> bool {
        let Some(command) = as_systemctl(self.command, self.catalogue) else { return false };
        let Some(program) = self.catalogue.find("systemctl") else { return false };
        let name = format!("{name}: systemctl");
        Judged { command: &command, inside: self.inside.clone(), ..*self }.by_default(
            program,
            (&name, 1),
            add,
        )
    }

    /// Adds the objection to a file that holds a database and is written by another program than its own, or to a backup that is
    /// replaced, and returns whether there is one.
    fn overwritten(&self, add: &mut impl FnMut(Reason)) -> bool {
        let Self { command, catalogue, machine, .. } = *self;
        let texts = command.texts();
        // Names of databases have an ending, or stand in a folder; a plain `ls` states neither.
        let is_path = |text: &str| text.contains(['.', '/']);
        if command.redirections.is_empty() && !texts.iter().skip(1).any(|text| is_path(text)) {
            return false;
        }
        let usage = catalogue.usage(&texts, &|_| false);
        let checks = usage.as_ref().and_then(|usage| usage.form.effect).and_then(|terms| terms.check);
        let is_quiet = usage.as_ref().is_some_and(|usage| consequence::is_quiet(command, usage, catalogue));
        let changes_rights = usage.as_ref().is_some_and(|usage| usage.files().how == Some(FileHow::Rights));
        let touches = texts.first().is_some_and(|name| base_name(name) == "touch");
        let accesses = if matches!(checks, Some(Check::Sql | Check::SqlWords))
            || is_quiet
            || changes_rights
            || touches
        {
            files::redirected(command)
        } else {
            files::accesses(command, true, catalogue, machine)
        };
        let there = files::received(command, catalogue);
        let there = there.map(|there| files::accesses(&there, true, catalogue, machine)).unwrap_or_default();
        let mut written = accesses.into_iter().chain(there).filter(|access| access.touch.writes());
        // Copies and moves bring files of people to a place: what they replace has the same name.
        let how = usage.as_ref().and_then(|usage| usage.files().how);
        let brings = matches!(how, Some(FileHow::Copy | FileHow::Move | FileHow::Link | FileHow::Install));
        let rewrites = !brings
            || texts.contains(&"/dev/null")
            || !command.redirections.is_empty()
            || replaces_document(&texts);
        let is_store = |access: &Access| {
            let word = Word::literal(access.path.clone());
            let name = base_name(&access.path);
            let is_document = rewrites && DOCUMENTS.iter().any(|glob| glob::matches(glob, name));
            !COPIES.iter().any(|glob| glob::matches(glob, &normal(&access.path)))
                && (self.is(Kind::Store, &word) || is_document && self.is_data(&word))
        };
        let replaces = |access: &Access| !touches && !changes_rights && self.replaces_backup(access, how);
        let of = |access: &Access| {
            if is_store(access) { Some("data") } else { replaces(access).then_some("backup") }
        };
        let found = written.find_map(|access| Some((of(&access)?, access)));
        let Some((name, written)) = found else { return false };
        if let Some(rule) = defaults().find(|rule| rule.name == name && !self.is_off(rule.name)) {
            add(self.objection((rule.name, rule.reason), &format!("> {}", written.path)));
        }
        true
    }

    /// Whether a written file is a backup that gets another content: any that is there on this machine; elsewhere, one that gets a
    /// text, nothing or a link.
    fn replaces_backup(&self, access: &Access, how: Option<FileHow>) -> bool {
        let Self { command, machine, .. } = *self;
        let path = normal(&access.path);
        if !BACKUPS.iter().any(|glob| glob::matches(glob, &path)) {
            return false;
        }
        let redirected = command.redirections.iter().find(|one| one.path.text == access.path);
        if redirected.is_some_and(|one| one.mode == Mode::Append) {
            return false;
        }
        let program = command.words.first().map_or("", |word| base_name(&word.text));
        let is_empty = redirected.is_some() && EMPTY.contains(&program)
            || command.texts().iter().any(|text| EMPTY_SOURCES.contains(&text.trim_start_matches("if=")))
            || how == Some(FileHow::Link);
        let is_there = || {
            let found = text_paths(&access.path, access.unknown, command, machine).paths;
            let is_file = |path: &String| {
                let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
                machine.below(folder, false).is_some_and(|files| files.contains(path))
            };
            found.iter().any(is_file)
        };
        is_empty || !self.is_remote() && is_there()
    }

    /// The objection to the class of what the command changes.
    fn by_class(&self, add: &mut impl FnMut(Reason)) {
        let elsewhere = self.is_remote() || self.command.is_elsewhere;
        let found = consequence::of_command(self.command, elsewhere, self.catalogue);
        let Some((class, evidence)) = found else { return };
        let mut rules = defaults().filter(|rule| rule.name == class.denied_as().as_str());
        if let Some(rule) = rules.next().filter(|rule| !self.is_off(rule.name)) {
            add(self.objection((rule.name, rule.reason), &evidence));
        }
    }

    /// Adds the objections of the default rules, whose patterns are in the catalogue entry of the program, and returns whether
    /// a pattern matches.
    fn by_default(
        &self,
        program: &Program,
        (name, start): (&str, usize),
        add: &mut impl FnMut(Reason),
    ) -> bool {
        if program.never.is_empty() {
            return false;
        }
        let mut matches = false;
        let command = self.command;
        let texts: Vec<&str> = command.words.iter().skip(start).map(|word| word.text.as_str()).collect();
        let mut values = pattern::values(program, self.catalogue);
        let usage = self.catalogue.usage(&command.texts(), &|_| false);
        values.extend(usage.as_ref().map(|usage| usage.form.valued).filter(|valued| !valued.is_empty()));
        if usage.as_ref().is_some_and(|usage| consequence::is_quiet(command, usage, self.catalogue)) {
            return false;
        }
        let vain = usage.map(|usage| consequence::vain(command, &usage)).unwrap_or_default();
        let behind = Behind { name, start, values: &values, vain: &vain };
        for rule in defaults().filter(|rule| program.never.iter().any(|(name, _)| *name == rule.name)) {
            // A container or a guest has users of its own.
            let is_away = || self.is_remote() || files::is_in_container(command, "", self.catalogue);
            if rule.local && is_away() || rule.remote && !self.is_remote() {
                continue;
            }
            let is_off = self.is_off(rule.name) || rule.changes && (self.reads)();
            let denials = program.never.iter().filter(|(name, _)| *name == rule.name);
            let found = denials
                .flat_map(|(_, patterns)| patterns.iter())
                .filter(|pattern| pattern::may_match(pattern, &texts))
                .filter_map(|pattern| Pattern::behind_program(pattern).ok())
                .find_map(|pattern| pattern.find_behind(command, behind, &|kind, word| self.is(kind, word)));
            matches |= found.is_some();
            if let Some(found) = found.filter(|_| !is_off) {
                add(self.objection((rule.name, rule.reason), &found));
            }
        }
        matches
    }

    /// The program that gets the words: compose in `docker compose`.
    fn next_program(&self, program: &Program) -> Option<Usage> {
        let has_next = program.verbs.iter().any(|verb| verb.form.then.is_some());
        let usage = || self.catalogue.usage(&self.command.texts(), &|_| false);
        has_next.then(usage).flatten().filter(|usage| usage.before.is_some())
    }
}

/// The text of a denial: the rule, the command, the host and wrappers, and what to do instead.
fn objection((name, reason): (&str, &str), evidence: &str, command: &Command) -> Reason {
    let text = format!("Never allowed (rule {name}): `{evidence}`{}. {reason}", command.whereabouts());
    Reason { rule: "never", topic: Some(Topic::Never(name.to_owned())), text }
}

/// Whether this rule denies a command; checks the examples of the rule.
pub fn denies(rule: &NeverRule, command: &str) -> bool {
    let rules = Rules { never: vec![rule.clone()], ..Rules::default() };
    let named = format!("(rule {})", rule.name);
    let script = opsctl_reader::shell::read(command, None);
    let objections = objections(&script, &rules, rule.tiers.first().copied(), &UnknownMachine);
    objections.iter().any(|reason| reason.text.contains(&named))
}

/// Whether the last word is a file of people, and the word before it one of another kind: `mv /tmp/empty tax.pdf`.
fn replaces_document(texts: &[&str]) -> bool {
    let [.., source, target] = texts else { return false };
    let (source, target) = (base_name(source), base_name(target));
    let ending = |name: &str| name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let stem = target.rsplit_once('.').map_or(target, |(stem, _)| stem);
    DOCUMENTS.iter().any(|glob| glob::matches(glob, target))
        && ending(source) != ending(target)
        && !source.starts_with(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_reader::catalogue::program::Stated;
    use opsctl_reader::terms::class::Class;

    #[test]
    fn every_class_that_is_denied_has_a_rule_with_its_name() {
        for class in Class::ALL.into_iter().filter(|class| class.is_denied(false)) {
            let name = class.as_str();
            assert!(defaults().any(|rule| rule.name == name && rule.class == name), "{name}");
        }
    }

    fn denials(text: &str) -> Vec<String> {
        let script = opsctl_reader::shell::read(text, Some("/app"));
        let reasons = objections(&script, &Rules::default(), None, &UnknownMachine);
        reasons.into_iter().map(|reason| reason.text).collect()
    }

    #[test]
    fn every_default_denies_its_own_examples_and_nothing_near_them() {
        let mut wrong = Vec::new();
        for rule in defaults() {
            assert!(!rule.matches.is_empty() && !rule.differs.is_empty(), "{} has no examples", rule.name);
            let named = format!("(rule {})", rule.name);
            let examples = rule.matches.iter().map(|text| (text, true));
            for (text, is_denied) in examples.chain(rule.differs.iter().map(|text| (text, false))) {
                let is_found = denials(text).iter().any(|reason| reason.contains(&named));
                if is_found != is_denied {
                    wrong.push(format!("{}: {text}", rule.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn denials_in_the_catalogue_name_default_rules_and_hold_patterns() {
        let programs = || Catalogue::default().programs();
        for (program, (name, patterns)) in
            programs().flat_map(|one| one.never.iter().map(move |row| (one.key, row)))
        {
            assert!(defaults().any(|rule| rule.name == *name), "{program}: {name}");
            for pattern in patterns.iter() {
                let parsed = Pattern::behind_program(pattern);
                assert!(parsed.is_ok(), "{program}: {pattern}: {parsed:?}");
            }
        }
        let has_class = |program: &Program, name: &str| {
            let terms = || program.forms().filter_map(|form| form.effect);
            let stated = |stated| matches!(stated, Stated::Changes(class) if class.as_str() == name);
            terms().any(|terms| stated(terms.stated))
                || terms().any(|terms| terms.classes.iter().any(|(class, _)| class.as_str() == name))
        };
        for rule in defaults() {
            let denies = |program: &Program| {
                program.never.iter().any(|(denied, _)| *denied == rule.name) || has_class(program, rule.name)
            };
            assert!(programs().any(denies), "no program has the rule {}", rule.name);
        }
    }

    #[test]
    fn a_denial_names_the_rule_the_command_its_place_and_what_to_do_instead() {
        assert_eq!(
            denials("ssh root@ie01 'sudo docker volume rm -f jellyfin_config'"),
            [
                "Never allowed (rule remove-volume): `docker volume rm`, on ie01 through ssh, sudo. A volume contains the data of a service. Leave it in place and report what is wrong with it."
            ]
        );
    }
}
