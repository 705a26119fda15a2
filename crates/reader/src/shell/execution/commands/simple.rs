//! Simple commands: assignments, redirections, and the lookup of the name.

use brush_parser::ast::{self, AssignmentName, CommandPrefixOrSuffixItem};

use super::aliases::alias_text;
use super::assign::variable;
use super::builtins;
use super::declarations::with_braces;
use super::emptied::{is_located, is_pattern};
use super::invocation::{Invocation, LONGEST};
use crate::catalogue::base_name;
use crate::catalogue::program::{How, Language};
use crate::languages::names::{Names, shell as names};
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Flow, Ran, Sharing};
use crate::shell::execution::list::may_fail;
use crate::shell::execution::output::redirect::Redirected;
use crate::shell::execution::ways::Ways;
use crate::shell::expansion::pattern::glob;
use crate::shell::on_disk::GLOB;
use crate::shell::script::{Command, Node};
use crate::shell::state::{Body, Shell};
use crate::shell::text::{Field, Origin, Unknowns, is_known, is_name};

/// The maximum number of words of a command: what is looked for in each of them takes as long as they are many.
const MOST_WORDS: usize = 1_024;

/// Whether a word names an element of an array: `a[i]`.
fn is_element(word: &str) -> bool {
    word.ends_with(']') && word.split_once('[').is_some_and(|(name, _)| is_name(name))
}

impl Evaluator {
    pub fn simple(&mut self, shell: &mut Shell, simple: &ast::SimpleCommand) -> Ran {
        match alias_text(shell, simple) {
            Some(text) => self.aliased(shell, simple, &text),
            None => self.unaliased(shell, simple),
        }
    }

    /// Runs the substitutions in the subscripts of elements that get the number of a descriptor: `{a[i]}<file`.
    fn run_elements(&mut self, shell: &mut Shell, invocation: &Invocation) {
        for word in invocation.fields.iter().filter(|_| !invocation.redirections.is_empty()) {
            if let Some(element) = word.text.strip_prefix('{').filter(|word| word.ends_with("]}")) {
                let element = element.trim_end_matches('}');
                self.run_subscripts(&mut shell.clone(), element);
                if let Some((_, index)) = element.trim_end_matches(']').split_once('[') {
                    self.assign_in_subscript(shell, index);
                }
            }
        }
    }

    /// Runs a simple command whose name is no alias.
    pub fn unaliased(&mut self, shell: &mut Shell, simple: &ast::SimpleCommand) -> Ran {
        let waiting = self.sinks.len();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut fields = Vec::new();
        let mut declared = Vec::new();
        let mut assignments = Vec::new();
        let mut redirects = Vec::new();
        for item in prefix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => assignments.push(assignment),
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                _ => {}
            }
        }
        if let Some(name) = &simple.word_or_name {
            fields.extend(self.fields(shell, &name.value));
        }
        // Elsewhere, it fails and assigns nothing.
        let fails = fields.first().is_some_and(|name| name.text == "local") && !self.is_in_function(shell);
        let is_declaration = !fails && fields.first().is_some_and(|name| names::DECLARING.has(&name.text));
        let is_one = |fields: &[Field], list: Names| fields.first().is_some_and(|name| list.has(&name.text));
        let hands_on = is_one(&fields, names::HANDING_ON);
        let takes_names = |fields: &[Field]| {
            is_declaration || is_one(fields, names::TAKING_NAMES) || is_one(fields, names::TAKING_WORDS)
        };
        for item in suffix {
            if self.exhausted() {
                break;
            }
            self.spend(usize::from(fields.len() % 8 == 7));
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) if is_declaration => {
                    declared.extend(with_braces(assignment));
                    let name = word.value.split('=').next().unwrap_or_default();
                    fields.push(Field::literal(name.trim_end_matches('+')));
                }
                CommandPrefixOrSuffixItem::Word(word)
                | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    // An element of an array is no name of a file, as far as it is evaluated.
                    let is_pattern = word.value.contains(GLOB) && !is_element(&word.value);
                    let hands_on = hands_on || is_pattern && takes_names(&fields);
                    fields.extend(self.argument(shell, &word.value, hands_on));
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                // `lift` makes words of them.
                CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
            }
        }
        let redirected = self.redirections(shell, redirects);
        if shell.traces {
            self.trace(shell, &simple.to_string(), &fields);
        }
        if fields.is_empty() {
            return self.assigned(shell, assignments, redirected);
        }
        let invocation = Invocation {
            fields,
            redirections: redirected.files.clone(),
            stdin: redirected.stdin.clone().or_else(|| shell.stdin.clone()),
            inherits_stdin: redirected.stdin.is_none(),
        };
        self.run_elements(shell, &invocation);
        if fails {
            self.leaf(shell, &invocation);
            return (String::new(), Flow::On);
        }
        let values = self.declared(shell, declared);
        let without = may_fail(&redirected).then(|| shell.clone());
        shell.localise(&invocation);
        if is_declaration {
            self.declare_values(shell, &invocation, values);
        }
        let (printed, flow) = if assignments.is_empty() {
            self.run_each(shell, &invocation, Self::run_named)
        } else {
            let mut inner = shell.clone();
            for assignment in &assignments {
                self.assign(&mut inner, assignment);
                if let AssignmentName::VariableName(name) = &assignment.name {
                    inner.export(name);
                }
            }
            let ran = self.run_each(&mut inner, &invocation, Self::run_named);
            // The assignments end with the command; what `cd` or `read` changed remains.
            for assignment in &assignments {
                inner.restore(variable(&assignment.name), shell);
            }
            *shell = inner;
            ran
        };
        let status = self.status;
        let redirected = redirected.of(invocation.word(0));
        self.consume(shell, &redirected, invocation.word(0) == Some("read"));
        self.pass_output(shell, (waiting, &invocation, &redirected), &printed);
        self.status = status;
        let flow = self.unless_it_fails(shell, without, flow);
        if let Some(last) = invocation.fields.last().filter(|_| self.asks_for_last_word) {
            shell.set_text("_", last.text.clone());
        }
        (self.behind(&redirected, printed), flow)
    }

    /// Runs a command without words.
    fn assigned(
        &mut self,
        shell: &mut Shell,
        assignments: Vec<&ast::Assignment>,
        redirected: Redirected,
    ) -> Ran {
        let without = may_fail(&redirected).then(|| shell.clone());
        for assignment in assignments {
            self.assign(shell, assignment);
        }
        self.unless_it_fails(shell, without, Flow::On);
        self.store_output(shell, &redirected, "");
        if !redirected.files.is_empty() {
            let command = Command { redirections: redirected.files, ..self.command_in(shell) };
            self.push(Node::Command(Box::new(command)));
        }
        (String::new(), Flow::On)
    }

    /// Where control continues, if the state without the command is given: a file that cannot be opened keeps it from running.
    pub fn unless_it_fails(&mut self, shell: &mut Shell, without: Option<Shell>, flow: Flow) -> Flow {
        let Some(without) = without else { return flow };
        self.status = None;
        if flow == Flow::On {
            self.join(shell, &without);
        } else {
            *shell = without;
        }
        Flow::On
    }

    /// Runs the command once for each combination of the possible texts of its unknown stretches.
    pub fn run_each(
        &mut self,
        shell: &mut Shell,
        invocation: &Invocation,
        mut run: impl FnMut(&mut Self, &mut Shell, &Invocation) -> Ran,
    ) -> Ran {
        let choice = |invocation: &Invocation, unknowns: &Unknowns| {
            invocation.fields.iter().find_map(|field| unknowns.first_choice(&field.text))
        };
        if choice(invocation, &self.unknowns).is_none() {
            return run(self, shell, invocation);
        }
        let commands = self.combinations(
            shell,
            invocation.clone(),
            choice,
            |invocation, mark, candidate, is_one_word| {
                let mut fields = Vec::with_capacity(invocation.fields.len());
                for field in &invocation.fields {
                    if field.text == mark && !is_one_word {
                        // It splits, or disappears when it is empty.
                        let words = candidate.split_whitespace();
                        fields.extend(
                            words.map(|text| Field { origin: field.origin, ..Field::unquoted(text) }),
                        );
                    } else {
                        let text = field.text.replace(mark, candidate);
                        fields.push(Field { text, ..field.clone() });
                    }
                }
                Invocation { fields, ..invocation.clone() }
            },
        );
        self.one_way_of(shell, commands, run)
    }

    /// Runs one of several commands.
    fn one_way_of(
        &mut self,
        shell: &mut Shell,
        commands: Vec<(bool, Invocation)>,
        mut run: impl FnMut(&mut Self, &mut Shell, &Invocation) -> Ran,
    ) -> Ran {
        let mut ways = Ways::default();
        let mut found = Vec::new();
        for (is_inherited, command) in commands {
            if self.exhausted() {
                break;
            }
            self.spend(1);
            let ((), nodes) = self.collected(|this| {
                ways.run(this, shell.clone(), |this, shell| run(this, shell, &command));
            });
            found.push((is_inherited, nodes));
        }
        self.status = None;
        self.push_alternatives(found);
        ways.end(self, shell)
    }

    /// Runs a command. A name that is unknown and not quoted may be no word at all, and the next word the name.
    fn run_named(&mut self, shell: &mut Shell, invocation: &Invocation) -> Ran {
        let may_vanish = invocation.fields.len() > 1
            && invocation.word(0).and_then(|name| self.unknowns.only_mark(name)).is_some_and(|name| {
                name.many
                    && name.source.starts_with('$')
                    && !name.source.starts_with("$(")
                    && name.listing.is_none()
            });
        if !may_vanish || invocation.word(0).is_some_and(|name| self.own_shell(name).is_some()) {
            return self.run(shell, invocation);
        }
        let rest = Invocation { fields: invocation.from(1).to_vec(), ..invocation.clone() };
        self.one_way_of(shell, vec![(false, invocation.clone()), (false, rest)], Self::run)
    }

    /// Runs words as a command: a function, a builtin or a program.
    pub fn run(&mut self, shell: &mut Shell, invocation: &Invocation) -> Ran {
        self.spend(1);
        let Some(name) = invocation.word(0) else { return (String::new(), Flow::On) };
        if self.exhausted() {
            return (String::new(), Flow::On);
        }
        let has_many = invocation.fields.len() > MOST_WORDS || invocation.size() > LONGEST;
        if has_many {
            self.complain(Complaint::ManyWords);
        }
        if has_many || self.depth_reached() {
            let words = invocation.texts().join(" ");
            self.leave_out(shell, words.get(..words.floor_char_boundary(LONGEST)).unwrap_or(&words));
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let drops = shell.drops_patterns;
        let may_vanish =
            |field: &Field| !is_known(&field.text) || is_located(field) || drops && is_pattern(&field.text);
        // An option, and a word that it may take.
        let may_take = invocation.fields.len() > 2;
        let taken = if may_take { self.catalogue.taken(&invocation.texts()) } else { vec![] };
        let emptied = if !taken.is_empty() || invocation.fields.iter().any(may_vanish) {
            self.emptied(invocation, &taken, shell.drops_patterns)
        } else {
            None
        };
        let ran = match self.doubted(emptied.as_ref().unwrap_or(invocation)).or(emptied) {
            None => self.dispatch(shell, name, invocation),
            Some(doubted) => self.run_each(shell, &doubted, |this, shell, invocation| {
                let name = invocation.word(0).unwrap_or_default();
                this.dispatch(shell, name, invocation)
            }),
        };
        self.depth -= 1;
        ran
    }

    /// The words with which a program that acts does something else, and its name, if they are computed: what a program prints
    /// or an operator makes may be another text where the command runs.
    fn doubted(&mut self, invocation: &Invocation) -> Option<Invocation> {
        // A word may be a pattern of names of files, too.
        let is_doubtful = |index: usize, field: &Field| {
            is_known(&field.text)
                && (field.origin == Origin::Computed || index > 0 && field.text.contains(GLOB))
        };
        if !invocation.fields.iter().enumerate().any(|(index, field)| is_doubtful(index, field)) {
            return None;
        }
        let texts = invocation.texts();
        let usage = self.catalogue.usage(&texts, &|_| false);
        // What is found to act is counted as it is, unless an option keeps it from acting. What a wrapper runs is doubted itself.
        let form = usage.as_ref().map(|usage| usage.form);
        let program = usage.as_ref().map(|usage| usage.program);
        let is_quiet = usage.as_ref().is_some_and(|usage| usage.has(&texts, &usage.form.quiet));
        let acts = form.is_some_and(|form| form.does.is_some() && !is_quiet || form.runs.is_some());
        if acts {
            return None;
        }
        // The name, and the words of the verb, or the one that would be the verb.
        let mut words = vec![0];
        if let Some(usage) = usage.filter(|usage| !usage.program.verbs.is_empty()) {
            let is_option = texts.get(usage.start).is_some_and(|word| word.starts_with('-'));
            words.extend(Some(usage.start).filter(|start| usage.rest == *start && !is_option));
            words.extend(usage.verb.iter().filter(|index| !usage.starred.contains(index)));
        }
        // A pattern stands only for a verb that it matches: `.services[]` of yq for none.
        let may_be_verb = |field: &Field| {
            let matches = |word: &&str| word.contains(GLOB) || glob(&field.text, word);
            let verbs = program.iter().flat_map(|program| program.verbs.iter());
            let mut words = verbs.flat_map(|verb| verb.paths.iter()).flat_map(|path| path.iter());
            field.origin == Origin::Computed || field.text.starts_with(GLOB) || words.any(matches)
        };
        let mut doubted = invocation.clone();
        for (index, field) in doubted.fields.iter_mut().enumerate() {
            let is_option = is_quiet && field.text.starts_with('-') && field.origin == Origin::Computed;
            if is_doubtful(index, field) && (words.contains(&index) && may_be_verb(field) || is_option) {
                field.origin = Origin::Assigned;
                let any = self.unknowns.many(field.text.clone());
                field.text = self.one_of(vec![field.text.clone(), any], &field.text);
            }
        }
        Some(doubted)
    }

    /// Runs the command itself. Only its own exit code counts, not that of what its words or its files have run.
    fn dispatch(&mut self, shell: &mut Shell, name: &str, invocation: &Invocation) -> Ran {
        self.status = None;
        let ran = self.dispatched(shell, name, invocation);
        if !names::LEAVING_STATUS.has(name) {
            self.status = None;
        }
        ran
    }

    fn dispatched(&mut self, shell: &mut Shell, name: &str, invocation: &Invocation) -> Ran {
        if std::mem::take(&mut shell.skips_functions) {
            return builtins::run(self, shell, invocation).unwrap_or_else(|| self.start(shell, invocation));
        }
        if let Some(bodies) = shell.function_choices.get(name).cloned() {
            return self.run_one_of(shell, name, bodies, invocation);
        }
        if let Some(body) = shell.functions.get(name).cloned() {
            return self.call(shell, name, &body, invocation);
        }
        if self.import_function(shell, name) {
            return self.dispatched(shell, name, invocation);
        }
        if let Some(ran) = builtins::run(self, shell, invocation) {
            return ran;
        }
        let outer = self.stdin;
        let ran = self.start(shell, invocation);
        self.stdin = match invocation.shares_stdin(shell) {
            true if self.own_shell(name).is_some() => Sharing::Partial,
            true => self.stdin.max(self.sharing_of(invocation, name)),
            false => outer,
        };
        ran
    }
}

impl Evaluator {
    /// What a program takes of its standard input, as its words have it.
    fn sharing_of(&self, invocation: &Invocation, name: &str) -> Sharing {
        let listed = names::READING_INPUT.0.iter().any(|(_, programs)| programs.has(base_name(name)));
        let runs = || self.catalogue.find(name).is_some_and(|program| program.form.runs.is_some());
        if !listed && !runs() {
            return Sharing::Possible;
        }
        let texts = invocation.texts();
        let usage = self.catalogue.usage(&texts, &|_| false);
        let words = usage.as_ref().map_or_else(
            || texts.iter().skip(1).filter(|word| !word.starts_with('-')).count(),
            |usage| usage.operands(&texts).words().count(),
        );
        let says = |parts: &[&str]| texts.iter().any(|word| parts.iter().any(|part| word.contains(part)));
        // `grep -e x FILE`: no word is the pattern.
        let has_code = texts.iter().any(|word| names::CODE_OPTIONS.has(word));
        let name = base_name(name);
        let is = |key: &str| names::READING_INPUT.get(key).is_some_and(|programs| programs.has(name));
        let reads = is("always")
            || is("without_words") && words == 0
            || is("with_one_word") && words < if has_code { 1 } else { 2 }
            || is("without_if") && !says(&["if="]);
        match usage.and_then(|usage| usage.form.runs).map(|runs| runs.how) {
            Some(How::Shell) if words == 0 && !says(&["-c"]) => Sharing::Partial,
            Some(How::Code(language)) if language != Language::Awk && says(names::READING_CODE.0) => {
                Sharing::Partial
            }
            _ if reads && names::STOPPING.has(name) => Sharing::Partial,
            _ if reads => Sharing::Certain,
            _ => Sharing::Possible,
        }
    }

    /// Calls a function of which branches have left behind one of these bodies, or none.
    fn run_one_of(
        &mut self,
        shell: &mut Shell,
        name: &str,
        bodies: Vec<Option<Body>>,
        invocation: &Invocation,
    ) -> Ran {
        let mut ways = Ways::default();
        let mut found = Vec::new();
        for body in bodies {
            let mut narrow = shell.clone();
            match body {
                Some(body) => narrow.define(name, body),
                None => narrow.undefine(name),
            }
            let ((), nodes) = self.collected(|this| {
                ways.run(this, narrow, |this, state| this.dispatch(state, name, invocation));
            });
            found.push((false, nodes));
        }
        self.status = None;
        self.push_alternatives(found);
        ways.end(self, shell)
    }
}
