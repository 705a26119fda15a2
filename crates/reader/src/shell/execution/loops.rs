//! Loops: unrolled when their words are known, otherwise run once and marked as repeating.

use std::cell::Cell;
use std::rc::Rc;

use brush_parser::ast;

use super::commands::invocation::Invocation;
use super::ways::Ways;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::leaving::Round;
use crate::shell::marks::SELECT;
use crate::shell::script::{Construct, EACH, Node};
use crate::shell::shared::Shared;
use crate::shell::state::{Attribute, Shell, Value};
use crate::shell::text::{Field, Listing, Origin, Stretch, Unknown, is_known, stretches};

/// Maximum number of rounds that are unrolled.
const MOST_ROUNDS: usize = 256;
/// Maximum number of rounds that are followed because the script decides that they run.
const MOST_DECIDED: usize = 32;
/// Maximum number of passes after which a loop that still changes something is given up.
const MOST_PASSES: usize = 6;
/// Maximum number of words of a `select` that are followed.
const MOST_CHOICES: usize = 8;

impl Evaluator {
    pub fn for_clause(&mut self, shell: &mut Shell, clause: &ast::ForClauseCommand) -> Ran {
        let text = || match &clause.values {
            Some(words) => words.iter().fold("for".to_owned(), |text, word| text + " " + &word.value),
            None => "for $@".to_owned(),
        };
        self.in_each_way(shell, text, |this, shell| {
            if clause.values.is_some() {
                return this.for_words(shell, clause);
            }
            // The parser does not tell `for x`, over the parameters, from `for x in`, over nothing.
            let mut ways = Ways::default();
            ways.add(this, shell.clone(), (String::new(), Flow::On));
            ways.run(this, shell.clone(), |this, shell| this.for_words(shell, clause));
            ways.end(this, shell)
        })
    }

    fn for_words(&mut self, shell: &mut Shell, clause: &ast::ForClauseCommand) -> Ran {
        let fields = match &clause.values {
            Some(words) => {
                let each = words
                    .iter()
                    .map_while(|word| (!self.exhausted()).then(|| self.fields(shell, &word.value)));
                each.flatten().collect()
            }
            None => self.fields(shell, "\"$@\""),
        };
        let name = clause.variable_name.strip_suffix(SELECT).unwrap_or(&clause.variable_name);
        if shell.attributes.contains_key(name) {
            // `for` changes a reference itself, and an integer variable evaluates its words.
            Shared::make_mut(&mut shell.attributes).insert(name.to_owned(), Attribute::Doubtful);
            self.forget_all(shell);
        }
        if fields.iter().any(|field| self.may_split(field)) {
            let words = Invocation::of(fields, None);
            return self.run_each(shell, &words, |this, shell, words| {
                this.rounds_for(shell, clause, words.fields.clone())
            });
        }
        self.rounds_for(shell, clause, fields)
    }

    /// Runs the rounds of `for` or `select` over these words.
    fn rounds_for(&mut self, shell: &mut Shell, clause: &ast::ForClauseCommand, fields: Vec<Field>) -> Ran {
        let (name, select) = match clause.variable_name.strip_suffix(SELECT) {
            Some(name) => (name, true),
            None => (clause.variable_name.as_str(), false),
        };
        if select {
            // `select` asks again after every choice.
            self.beyond_rounds(shell, fields.get(MOST_CHOICES..).unwrap_or_default());
            let candidates = fields.into_iter().map(|field| field.text).take(MOST_CHOICES);
            // Any other answer leaves it empty.
            let candidates = candidates.chain(std::iter::once(String::new()));
            let unknown = Unknown {
                source: format!("${name}"),
                candidates: candidates.collect(),
                ..Unknown::default()
            };
            let mark = self.unknowns.mark(unknown);
            return self.many_rounds(shell, Some((name, &mark)), None, &clause.body.list);
        }
        if fields.is_empty() {
            self.not_taken(shell, |this, inner| drop(this.list(inner, &clause.body.list)));
        }
        if fields.len() > MOST_ROUNDS {
            // Numbers name nothing.
            if fields.iter().any(|field| field.text.parse::<i64>().is_err()) {
                self.beyond_rounds(shell, &fields);
            }
            let unknown = self.unknowns.plain(format!("${name}"));
            return self.many_rounds(shell, Some((name, &unknown)), None, &clause.body.list);
        }
        let rounds =
            if fields.len() == 1 { "1 round".to_owned() } else { format!("{} rounds", fields.len()) };
        self.inside(Construct::Loop(rounds), |this| {
            this.rounds(shell, fields, |this, shell, field| {
                if !this.is_many(&field) {
                    // A body may have made it readonly.
                    this.settled(shell, |this, shell| {
                        this.set_special(shell, name, &field.text);
                        shell.set(name, Value::Scalar(field.text), field.origin.max(Origin::Listed));
                    });
                    return this.list(shell, &clause.body.list);
                }
                this.set_special(shell, name, &field.text);
                if !shell.attributes.is_empty() && shell.attributes.contains_key(name) {
                    // An integer is the value of an expression, in which substitutions run.
                    this.unread(shell, &format!("{name}={}", field.text));
                }
                // A glob matches an unknown number of files.
                let text = match this.glob_mark(shell, &field.text) {
                    Some(mark) => mark,
                    None if is_known(&field.text) => this.unknowns.plain(field.text.clone()),
                    None => this.as_variable(name, field.text.clone()),
                };
                // Between quotes, it is the text itself.
                let text = this.unknowns.made_from(text, &field.text);
                this.many_rounds(shell, Some((name, &text)), None, &clause.body.list)
            })
        })
    }

    /// Adds the words of rounds that are not followed as unread text.
    fn beyond_rounds(&mut self, shell: &Shell, fields: &[Field]) {
        if fields.is_empty() {
            return;
        }
        self.complain(Complaint::LongLoop);
        let lines: Vec<&str> = fields.iter().map(|field| field.text.as_str()).collect();
        self.leave_out(shell, &lines.join("\n"));
    }

    /// Whether a word is one of several texts, of which one is no word or more than one.
    fn may_split(&self, field: &Field) -> bool {
        let splits =
            |text: &String| text.split_whitespace().count() != 1 || self.unknowns.may_be_several(text);
        stretches(&field.text).any(|stretch| {
            let Stretch::Mark(index) = stretch else { return false };
            let found = self.unknowns.get(index).filter(|unknown| !unknown.is_one_word);
            found.is_some_and(|unknown| unknown.candidates.iter().any(splits))
        })
    }

    /// True when the field may expand to any number of words or file names.
    fn is_many(&self, field: &Field) -> bool {
        stretches(&field.text).any(|stretch| match stretch {
            Stretch::Mark(index) => self.unknowns.get(index).is_some_and(|u| u.many),
            Stretch::Known(text) => {
                let is_glob = text.contains(['*', '?', '[']) || text.contains('(') && text.contains('|');
                is_glob && !field.is_quoted
            }
        })
    }

    /// Runs `while`, or `until`, which runs a round when its condition fails.
    pub fn while_clause(
        &mut self,
        shell: &mut Shell,
        clause: &ast::WhileOrUntilClauseCommand,
        is_until: bool,
    ) -> Ran {
        let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
        if reads(condition) && shell.stdin.as_deref().is_some_and(is_known) {
            return self.inside(Construct::Loop("a round for each line".to_owned()), |this| {
                this.rounds_by_line(shell, condition, &body.list)
            });
        }
        // `docker ps -q | while read name`.
        if let Some(name) = read_variable(condition).filter(|_| !is_until)
            && let Some(all) = shell.stdin.clone().filter(|all| self.lists_everything(all))
        {
            let each = self.as_variable(name, all);
            return self.many_rounds(shell, Some((name, &each)), None, &body.list);
        }
        self.decided_rounds(shell, (condition, !is_until), &body.list)
    }

    /// Runs the rounds of which the script itself decides whether they run, and then any number of further ones.
    fn decided_rounds(
        &mut self,
        shell: &mut Shell,
        condition: (&ast::CompoundList, bool),
        body: &ast::CompoundList,
    ) -> Ran {
        let (mut left, mut rounds) = (MOST_DECIDED, 0);
        let is_over = Cell::new(false);
        let ((mut printed, flow), nodes) = self.collected(|this| {
            let turns = std::iter::from_fn(|| (!is_over.get()).then_some(()));
            this.rounds(shell, turns, |this, shell, ()| {
                let (before, files) = (shell.clone(), Rc::clone(&this.files));
                let (waiting, trapped) = (this.sinks.len(), this.trapped.len());
                let ((mut printed, flow), nodes) = this.collected(|this| this.list(shell, condition.0));
                let Some(held) = this.status.filter(|_| left > 0 && flow == Flow::On) else {
                    *shell = before;
                    this.files = files;
                    this.sinks.truncate(waiting);
                    this.trapped.truncate(trapped);
                    is_over.set(true);
                    left = 0;
                    return (String::new(), Flow::On);
                };
                for node in nodes {
                    this.push(node);
                }
                if held != condition.1 {
                    is_over.set(true);
                    return (printed, Flow::On);
                }
                (left, rounds) = (left - 1, rounds + 1);
                let (text, flow) = this.list(shell, body);
                printed.push_str(&text);
                (printed, flow)
            })
        });
        if !nodes.is_empty() {
            let rounds = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
            self.push(Node::Group(Construct::Loop(rounds), nodes));
        }
        if flow != Flow::On || left > 0 {
            self.not_taken(shell, |this, inner| drop(this.list(inner, body)));
            return (printed, leave_loop(flow));
        }
        let (text, flow) = self.many_rounds(shell, None, Some(condition.0), body);
        printed.push_str(&text);
        (printed, flow)
    }

    /// Runs the rounds of a loop one after the other, as far as the limit on work allows.
    pub fn rounds<T>(
        &mut self,
        shell: &mut Shell,
        items: impl IntoIterator<Item = T>,
        mut run: impl FnMut(&mut Self, &mut Shell, T) -> Ran,
    ) -> Ran {
        let mut printed = String::new();
        let mut broken = None;
        let mut flow = Flow::On;
        for item in items {
            if self.exhausted() {
                break;
            }
            let (text, left, breaks) = self.round(shell, |this, shell| run(this, shell, item));
            printed.push_str(&text);
            if let Some(state) = breaks {
                self.join_into(&mut broken, state);
            }
            flow = left;
            if flow != Flow::On {
                break;
            }
        }
        match broken {
            Some(state) if flow == Flow::On => self.join(shell, &state),
            Some(state) => {
                *shell = state;
                flow = Flow::On;
            }
            None => {}
        }
        (printed, flow)
    }

    /// Runs one round. Returns how control flow continues behind it, and the state with which `break` ends the loop.
    fn round(
        &mut self,
        shell: &mut Shell,
        run: impl FnOnce(&mut Self, &mut Shell) -> Ran,
    ) -> (String, Flow, Option<Shell>) {
        self.leaving.loops.push(Round::default());
        let (printed, flow) = run(self, shell);
        let Round { breaks, continues } = self.leaving.loops.pop().unwrap_or_default();
        match continues {
            Some(state) if flow == Flow::On => self.join(shell, &state),
            Some(state) => *shell = state,
            None => return (printed, flow, breaks),
        }
        (printed, Flow::On, breaks)
    }

    fn rounds_by_line(
        &mut self,
        shell: &mut Shell,
        condition: &ast::CompoundList,
        body: &ast::CompoundList,
    ) -> Ran {
        let is_over = Cell::new(false);
        let lines = std::iter::from_fn(|| (!is_over.get()).then_some(())).take(MOST_ROUNDS);
        let (mut printed, flow) = self.rounds(shell, lines, |this, shell, ()| {
            let before = shell.stdin.clone();
            // Where nothing is left, the condition runs once more, and fails.
            let is_read = before.as_deref().is_some_and(str::is_empty);
            if before.is_some() {
                this.has_whole_line = true;
                this.list(shell, condition);
            }
            is_over.set(is_read || shell.stdin == before);
            if is_over.get() {
                return (String::new(), Flow::On);
            }
            if this.has_whole_line {
                return this.list(shell, body);
            }
            is_over.set(true);
            let mut ways = Ways::default();
            ways.add(this, shell.clone(), (String::new(), Flow::On));
            ways.run(this, shell.clone(), |this, shell| this.list(shell, body));
            ways.end(this, shell)
        });
        if flow == Flow::Exit || flow == Flow::Return || shell.stdin.as_deref().is_some_and(str::is_empty) {
            return (printed, leave_loop(flow));
        }
        if let Some(rest) = shell.stdin.clone().filter(|rest| !rest.trim().is_empty()) {
            self.beyond_rounds(shell, &[Field::literal(rest)]);
        }
        let (text, flow) = self.many_rounds(shell, None, Some(condition), body);
        printed.push_str(&text);
        (printed, flow)
    }

    /// The output of a program that lists everything, as the value that a loop's variable has of it; any other text as it is.
    fn as_variable(&mut self, name: &str, text: String) -> String {
        let all = self.unknowns.only_mark(&text).filter(|_| self.lists_everything(&text)).cloned();
        all.map_or(text, |all| self.unknowns.mark(Unknown { source: format!("${name}"), ..all }))
    }

    /// Whether a text is the output of a program that lists everything.
    fn lists_everything(&self, text: &str) -> bool {
        let listing = self.unknowns.only_mark(text).and_then(|unknown| unknown.listing.as_ref());
        matches!(listing, Some(Listing::Everything(_)))
    }

    /// Follows any number of rounds: from a state on that holds before each of them.
    pub fn many_rounds(
        &mut self,
        shell: &mut Shell,
        variable: Option<(&str, &str)>,
        condition: Option<&ast::CompoundList>,
        body: &ast::CompoundList,
    ) -> Ran {
        let mut start = shell.clone();
        let mut files = Rc::clone(&self.files);
        for pass in 1.. {
            let mut state = start.clone();
            let mut ended = None;
            let mut flow = Flow::On;
            let (waiting, trapped) = (self.sinks.len(), self.trapped.len());
            let ((printed, breaks), nodes) = self.collected(|this| {
                let all = variable.filter(|(_, text)| this.lists_everything(text));
                let label = match all {
                    Some((name, _)) => format!("{EACH}{name}"),
                    None => "any number of rounds".to_owned(),
                };
                let label = Construct::Loop(label);
                this.inside(label, |this| {
                    let (text, left, breaks) = this.round(&mut state, |this, state| {
                        state.repeats = true;
                        let printed = match condition.map(|condition| this.list(state, condition)) {
                            Some((text, Flow::On)) => text,
                            Some(left) => return left,
                            None => String::new(),
                        };
                        ended = Some(state.clone());
                        if let Some((name, text)) = &variable {
                            state.set(name, Value::Scalar((*text).to_owned()), Origin::Listed);
                        }
                        let (text, flow) = this.list(state, body);
                        (printed + &text, flow)
                    });
                    flow = left;
                    (text, breaks)
                })
            });
            let mut next = start.clone();
            if flow == Flow::On {
                self.join(&mut next, &state);
            }
            if pass > 1 {
                self.widen(&mut next, &start);
            }
            let has_new_files = self.join_round_files(&files, pass == 1);
            let is_stable = next.is_like(&start) && !has_new_files;
            if !is_stable && pass < MOST_PASSES && !self.exhausted() {
                start = next;
                files = Rc::clone(&self.files);
                self.sinks.truncate(waiting);
                self.trapped.truncate(trapped);
                continue;
            }
            if !is_stable {
                self.complain(Complaint::LongLoop);
            }
            for node in nodes {
                self.push(node);
            }
            let repeats = shell.repeats;
            *shell = ended.unwrap_or_else(|| next.clone());
            if variable.is_some() || condition.is_none() {
                self.join(shell, &next);
            }
            if let Some(state) = breaks {
                self.join(shell, &state);
            }
            shell.repeats = repeats;
            self.status = None;
            let printed = if printed.is_empty() || self.unknowns.only_mark(&printed).is_some() {
                printed
            } else {
                let is_any = self.unknowns.are_any(&printed);
                let made_from = Some(printed);
                self.unknowns.mark(Unknown {
                    source: "$(…)".to_owned(),
                    many: true,
                    is_any,
                    made_from,
                    ..Unknown::default()
                })
            };
            // There may be no round at all, so that nothing inside certainly ends the script.
            return (printed, Flow::On);
        }
        (String::new(), Flow::On)
    }
}

fn leave_loop(flow: Flow) -> Flow {
    match flow {
        Flow::Break | Flow::Continue => Flow::On,
        other => other,
    }
}

/// True when the condition of a loop reads a line from standard input.
fn reads(condition: &ast::CompoundList) -> bool {
    condition
        .0
        .iter()
        .any(|item| item.0.first.seq.first().is_some_and(|command| command_name(command) == Some("read")))
}

/// The variable of a condition that is nothing but `read NAME` or `read -r NAME`.
fn read_variable(condition: &ast::CompoundList) -> Option<&str> {
    let [item] = condition.0.as_slice() else { return None };
    let [ast::Command::Simple(simple)] = item.0.first.seq.as_slice() else { return None };
    let is_read = simple.word_or_name.as_ref().is_some_and(|word| word.value == "read");
    let words: Vec<&str> = simple
        .suffix
        .iter()
        .flat_map(|suffix| &suffix.0)
        .map(|item| match item {
            ast::CommandPrefixOrSuffixItem::Word(word) => word.value.as_str(),
            _ => "",
        })
        .collect();
    match words.as_slice() {
        [name] | ["-r", name] if is_read && item.0.additional.is_empty() => {
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            Some(*name).filter(|_| is_name && !name.is_empty())
        }
        _ => None,
    }
}

fn command_name(command: &ast::Command) -> Option<&str> {
    match command {
        ast::Command::Simple(simple) => simple.word_or_name.as_ref().map(|word| word.value.as_str()),
        _ => None,
    }
}
