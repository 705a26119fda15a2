//! Proves that a command reads, or finds the reason why that cannot be proved.

mod conditions;
mod places;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::effects::options::{asks_about_itself, asks_for_help, before_verb, doubtful_option, takes_back};
use crate::effects::proof::{Proof, READS, Scratch};
use crate::effects::reason::Why;
use crate::effects::surroundings::values::{self, Places};
use crate::effects::surroundings::variables;
use crate::effects::{code, lines, options, socket};
use crate::files;
use crate::files::guarded::Guarded;
use crate::files::{Access, Touch};
use crate::lists::ENVIRONMENT_FILES;
use crate::model::rights::rules::Rules;
use crate::paths::computed::is_below_new_folder;
use crate::paths::glob::matches;
use crate::paths::word_paths::{LocalMachine, text_paths};
use opsctl_reader::actions::{CommandActions, command_actions};
use opsctl_reader::catalogue::lookup::{LONGEST_VERB, Usage};
use opsctl_reader::catalogue::program::{Check, EffectTerms, How, Language, Stated};
use opsctl_reader::catalogue::{Catalogue, base_name};
use opsctl_reader::languages::node;
use opsctl_reader::shell::{Command, Mode, Word, glob};
use opsctl_reader::terms::action::{Action, ActionKind, Verb};
use opsctl_reader::terms::effect::Effect;

/// Whether a path stands for a connection that bash opens.
fn is_socket(path: &str) -> bool {
    (path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")) && !path.contains("..")
}

/// Whether a file that cannot be read here is one in which an operator sets variables.
fn is_environment_file(path: &str) -> bool {
    ENVIRONMENT_FILES.iter().any(|glob| matches(glob, path)) && !path.contains("/..")
}

/// Proves that a command reads, or finds the reason why that cannot be proved.
pub struct Prover<'a> {
    pub catalogue: Catalogue,
    pub scratch: &'a Scratch,
    pub machine: &'a dyn LocalMachine,
    pub rules: &'a Rules,
    /// The files that sessions may not write.
    pub protect: OnceCell<Vec<Guarded>>,
    /// Where the script starts.
    pub cwd: Option<&'a str>,
    /// The functions that it calls, which may have the name of a program.
    pub calls: Vec<String>,
}

impl Prover<'_> {
    /// `runs` is true for a command whose own command stands below it in the tree.
    pub fn command(&self, command: &Command, runs: bool) -> Proof {
        let own = match self.words(command, runs) {
            proof if proof.0 == Effect::Reads => {
                let is_scratch = |path: &str| self.is_scratch(path, command);
                let is_written = |path: &str| self.is_own(path, command);
                let places = Places { harmless: &is_scratch, scratch: &is_scratch, written: &is_written };
                let objection = values::objection(command, runs, self.catalogue, places);
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
            proof @ (Effect::Changes | Effect::Acts, _) => {
                let unknown = self.unknown_option(command).or_else(|| self.own_option(command, runs));
                unknown.unwrap_or(proof)
            }
            proof => proof,
        };
        let sent = command.redirections.iter().filter(|one| one.mode != Mode::Read);
        let mut sent = sent.map(|one| one.path.text.as_str());
        if sent.any(is_socket) && !socket::only_asks(command) {
            return (Effect::Unknown, Why::Unread);
        }
        match self.written(command, runs, &own) {
            // Which file it writes is stated in another one.
            Some(access)
                if own.0 <= Effect::Changes
                    && (self.writes_stated(command) || self.is_computed(&access, command)) =>
            {
                (Effect::Unknown, Why::Writes(access.path))
            }
            Some(Access { path, .. }) if own.0 < Effect::Changes => (Effect::Changes, Why::Writes(path)),
            _ if own.0 == Effect::Reads => {
                let searched =
                    files::open_search(command, !runs, self.catalogue, &self.rules.secret, self.machine);
                searched.map_or(own, |folder| (Effect::Unknown, Why::Searches(folder)))
            }
            _ => own,
        }
    }

    /// What an option of a command that changes something on a host loads from where the session may write.
    fn own_option(&self, command: &Command, runs: bool) -> Option<Proof> {
        let is_there = command.host().is_some() || self.machine.is_host();
        let is_written = |path: &str| self.is_own(path, command);
        let is_scratch = |path: &str| self.is_scratch(path, command);
        let places = Places { harmless: &|_| true, scratch: &is_scratch, written: &is_written };
        let found = || values::objection(command, runs, self.catalogue, places);
        is_there.then(found).flatten().filter(|(effect, _)| *effect == Effect::Unknown)
    }

    /// Whether one of its words, or of its redirections, is what a file holds.
    fn writes_stated(&self, command: &Command) -> bool {
        let opened = command.redirections.iter().filter(|one| one.mode != Mode::Read).map(|one| &one.path);
        command.words.iter().skip(1).chain(opened).any(|word| self.is_content(word, command))
    }

    /// Whether on a host the folder of a file is known only when the command runs.
    fn is_computed(&self, access: &Access, command: &Command) -> bool {
        let meant = text_paths(&access.path, access.unknown, &command.settled(), self.machine);
        (command.host().is_some() || self.machine.is_host())
            && meant.paths.is_empty()
            && !access.path.starts_with('/')
            && !is_below_new_folder(&access.path)
            && !files::is_in_container(command, &access.path, self.catalogue)
    }

    /// A file outside scratch that it writes; one whose folder is known only when it runs before others.
    fn written(&self, command: &Command, runs: bool, own: &Proof) -> Option<Access> {
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let usage = self.catalogue.usage(&texts, &|_| false);
        let how = usage.as_ref().and_then(|usage| usage.form.runs).map(|runs| runs.how);
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
        // A text that is sent is judged as a request.
        let is_written = |path: &str| !self.is_scratch(path, command) && !is_socket(path);
        // What a word `>(…)` gets is the command in it, which is judged on its own.
        let operands = usage.map(|usage| usage.operands(&texts).words).unwrap_or_default();
        let is_command = |path: &str| {
            let mut words = operands.iter().filter_map(|at| command.words.get(*at));
            let is_it = |word: &Word| word.unknown.as_ref().is_some_and(|of| of.source == path);
            path.starts_with(">(") && words.any(|word| word.text == path && is_it(word))
        };
        accesses
            .retain(|access| access.touch.writes() && is_written(&access.path) && !is_command(&access.path));
        let first = accesses.iter().position(|access| self.is_computed(access, command)).unwrap_or_default();
        accesses.into_iter().nth(first)
    }

    /// The first variable of a command that may make its program run or load something.
    fn variable(&self, command: &Command, may: variables::Test) -> Option<Proof> {
        // The separators of what it reads.
        let splits = command
            .words
            .first()
            .is_some_and(|name| matches!(name.text.as_str(), "read" | "mapfile" | "readarray"));
        let is_own = |path: &str| self.is_own(path, command);
        let mut variables = command.env.iter().map(Arc::as_ref);
        let (name, _) =
            variables.find(|(name, value)| !(splits && name == "IFS") && may(name, value, &is_own))?;
        Some((Effect::Unknown, Why::Variable(name.clone())))
    }

    /// What can be said of a command before its words are looked up: by its shell, its file and its variables.
    fn surrounding(&self, command: &Command, name: &str, runs: bool) -> Option<Proof> {
        if let Some(proof) = lines::router_os(command) {
            return Some(proof);
        }
        if lines::ends_own_jobs(command) {
            return Some(READS);
        }
        // Qualifiers of a glob and flags of an expansion run code: `*(e:'touch x':)`, `*(+touch)`, `${(e)x}`.
        let is_qualified = |word: &Word| glob("*(*[e+]*)*", &word.text);
        if command.via.iter().any(|via| via == "zsh") && command.words.iter().any(is_qualified) {
            return Some((Effect::Unknown, Why::Code));
        }
        let is_asked = || asks_about_itself(&command.texts()) && self.is_of_image(name, command);
        if name.contains('/') && !command.is_script && !self.is_program(name, command) && !is_asked() {
            return Some((Effect::Unknown, Why::ScriptOnDisk(name.to_owned())));
        }
        if let Some(proof) = self.variable(command, variables::steers) {
            return Some(proof);
        }
        if command.is_script {
            return Some((Effect::Reads, Why::RunsPart));
        }
        // What can be read stands below it in the tree.
        if let ([_, file], false) = (command.words.as_slice(), runs)
            && matches!(name, "." | "source")
            && file.known().is_some_and(is_environment_file)
        {
            return Some(READS);
        }
        None
    }

    fn words(&self, command: &Command, runs: bool) -> Proof {
        let Some(first) = command.words.first() else { return READS };
        let Some(name) = first.known() else { return (Effect::Unknown, Why::UnknownProgram) };
        if let Some(proof) = self.surrounding(command, name, runs) {
            return proof;
        }
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let Some(usage) = self.catalogue.usage(&texts, &|_| false) else {
            // Programs such as test runners load what lies in the folder before they answer.
            if asks_about_itself(&texts) && !self.has_moved_to_scratch(command) {
                return READS;
            }
            return (Effect::Unknown, Why::NotListed(base_name(name).to_owned()));
        };
        if let Some(option) = self.catalogue.undescribed(&texts, &usage) {
            return (Effect::Unknown, Why::UnknownOption(option.to_owned()));
        }
        if hides_verb(command, &usage, &texts, runs) {
            return (Effect::Unknown, Why::UnknownVerb(base_name(name).to_owned()));
        }
        if usage.program.loads_folder && self.is_in_scratch(command, &usage)
            || self.has_own_root(command, &usage, &texts)
        {
            return (Effect::Unknown, Why::OwnFolder);
        }
        let content = command.words.iter().skip(1).find(|word| self.is_content(word, command));
        let may_be_option = |word: &Word| (Effect::Unknown, Why::MaybeOption(word.text.clone()));
        // Words of a file may be a command in place of the one that it runs: `sudo -u $(cat x) docker ps`.
        if runs && !is_own_code(&usage) {
            let before = command.words.get(1..options::start_of_command(&usage, &texts)).unwrap_or_default();
            if let Some(word) = before.iter().find(|word| self.is_content(word, command)) {
                return may_be_option(word);
            }
        }
        match command_actions(command, self.catalogue) {
            CommandActions::Acts(actions) => {
                // An option of a container may be stated there, or a unit that restarts the machine.
                let may_be_more =
                    |action: &Action| action.kind == ActionKind::Redeployment || action.verb == Verb::Start;
                if let Some(word) = content.filter(|_| actions.iter().any(may_be_more)) {
                    return may_be_option(word);
                }
                return (Effect::Acts, Why::Acts(actions.first().map(|action| action.kind)));
            }
            // With a command to run, the option is one of that command.
            CommandActions::Quiet if !runs => return self.dry_run(command, &usage, &texts),
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
                words: options::own_words(&usage, &texts).map(|_| terms.words).unwrap_or_default(),
                flags: terms.flags,
                ..EffectTerms::PLAIN
            },
            Some(terms) => *terms,
            None if runs && !code => EffectTerms::PLAIN,
            None if code => return self.code(command, usage.form.runs.map(|runs| runs.how), runs),
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
            Stated::Changes(_)
                if terms.check == Some(Check::EditorScript)
                    && lines::edited(command).0 != Effect::Changes =>
            {
                lines::edited(command)
            }
            Stated::Changes(_) => content.map_or((Effect::Changes, Why::Stated), may_be_option),
            Stated::Unknown => (Effect::Unknown, Why::NotStated(usage.written(&texts))),
            Stated::Reads if options::acting_word(&usage, &texts).is_some() => {
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

    /// Unknown, where an option of a command that changes something makes the effect unknown.
    fn unknown_option(&self, command: &Command) -> Option<Proof> {
        let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let usage = self.catalogue.usage(&texts, &|_| false)?;
        options::unknown_option(&usage, &texts).map(|option| (Effect::Unknown, Why::Option(option)))
    }

    /// Reads in a dry run, unless an option or a word of it does more.
    fn dry_run(&self, command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
        // What runs a program runs it in a dry run, too.
        let doubtful = usage.form.effect.and_then(|terms| doubtful_option(usage, &terms, texts));
        let doubtful = doubtful.or_else(|| takes_back(usage, texts).map(|option| (Effect::Unknown, option)));
        // Packages that are named are built, unless an option says otherwise.
        let given = usage.operands(texts);
        let builds = usage.form.effect.is_some_and(|terms| {
            !terms.any_words_with.is_empty()
                && terms.most_words.is_some_and(|most| given.words.len() > most)
                && !given.options.iter().any(|(name, _)| name.is_any(&terms.any_words_with))
        });
        if builds {
            return (Effect::Changes, Why::Stated);
        }
        if let Some(proof) = before_verb(usage, texts) {
            return proof;
        }
        let mut words = command.words.iter().skip(1);
        if let Some(word) = words.find(|word| self.may_be_option(word, command)) {
            return (Effect::Unknown, Why::MaybeOption(word.text.clone()));
        }
        if let Some(file) = self.own_playbook(command, usage, texts) {
            return (Effect::Unknown, Why::ScriptInScratch(file));
        }
        doubtful.map_or(READS, |(effect, option)| (effect, Why::Option(option)))
    }

    /// Code of another language on the command line.
    fn code(&self, command: &Command, how: Option<How>, runs: bool) -> Proof {
        let Some(How::Code(language)) = how else { return (Effect::Unknown, Why::Code) };
        // Perl and Ruby take more code behind the first: `perl -ne print $(cat /tmp/x)`.
        let mut words = command.words.iter().skip(1).filter(|_| language != Language::Python);
        if let Some(word) = words.find(|word| self.may_be_option(word, command)) {
            return (Effect::Unknown, Why::MaybeOption(word.text.clone()));
        }
        if matches!(language, Language::Node | Language::Deno) && self.loads_own_data(command) {
            return (Effect::Unknown, Why::OwnFolder);
        }
        code::effect(command, language, runs)
    }

    /// Whether code loads data from where the session may have put code in its place. Where it starts is the session's project.
    fn loads_own_data(&self, command: &Command) -> bool {
        let codes = command.words.iter().skip(1).chain(&command.stdin);
        let is_own = |path: String| {
            if path.starts_with('/') || command.host().is_some() || self.machine.is_host() {
                self.is_own(&path, command)
            } else {
                self.has_moved_to_scratch(command)
            }
        };
        codes
            .filter(|word| word.text.contains("require"))
            .any(|word| node::loaded_data(&word.text).into_iter().any(is_own))
    }
}

/// Whether what a program runs is code or an expression of its own.
fn is_own_code(usage: &Usage) -> bool {
    usage.form.runs.is_some_and(|runs| matches!(runs.how, How::Code(_) | How::Find | How::Fd))
}

/// Whether the verb of a program, or a part of it, is known only when it runs.
fn hides_verb(command: &Command, usage: &Usage, texts: &[&str], runs: bool) -> bool {
    let unknown = |index: &usize| command.words.get(*index).is_some_and(|word| word.known().is_none());
    if usage.verb.iter().any(unknown) {
        return true;
    }
    let is_code = usage.form.runs.is_some_and(|runs| matches!(runs.how, How::Code(_)));
    if usage.rest != usage.start || runs || is_code {
        return false;
    }
    let words = usage.operands(texts).words;
    let known = words.iter().take_while(|at| !unknown(at)).filter_map(|at| texts.get(*at).copied());
    let known: Vec<&str> = known.collect();
    // No verb begins as `.services.$name` does.
    let begins = words.get(known.len()).and_then(|at| command.words.get(*at)).map(Word::prefix);
    let mut paths = usage.program.verbs.iter().flat_map(|verb| verb.paths.iter());
    let begins = begins.and_then(|prefix| prefix.chars().next()).filter(|first| "./@".contains(*first));
    let is_other = begins.is_some_and(|first| {
        let may_begin = |word: &&str| word.starts_with([first, '*', '?', '[']);
        !paths.any(|path| path.get(known.len()).is_some_and(may_begin))
    });
    words.len() > known.len() && known.len() < LONGEST_VERB && !is_other && usage.continues(&known)
}
