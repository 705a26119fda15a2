//! Loops: unrolled when their words are known, otherwise run once and marked as repeating.

use brush_parser::ast;

use super::commands::assign::variable;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::marks::SELECT;
use crate::shell::script::Construct;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Field, Origin, Stretch, Unknown, is_known, stretches};

/// Maximum number of rounds that are unrolled.
const MOST_ROUNDS: usize = 256;
/// Maximum number of words of a `select` that are followed.
const MOST_CHOICES: usize = 8;

impl Evaluator {
    pub fn for_clause(&mut self, shell: &mut Shell, clause: &ast::ForClauseCommand) -> Ran {
        let (name, select) = match clause.variable_name.strip_suffix(SELECT) {
            Some(name) => (name, true),
            None => (clause.variable_name.as_str(), false),
        };
        let fields = match &clause.values {
            Some(words) => {
                let each = words
                    .iter()
                    .map_while(|word| (!self.exhausted()).then(|| self.fields(shell, &word.value)));
                each.flatten().collect()
            }
            None => self.fields(shell, "\"$@\""),
        };
        if select {
            // `select` asks again after every choice.
            self.beyond_rounds(shell, fields.get(MOST_CHOICES..).unwrap_or_default());
            let candidates =
                fields.into_iter().map(|field| field.text).filter(|text| is_known(text)).take(MOST_CHOICES);
            let unknown = Unknown {
                source: format!("${name}"),
                candidates: candidates.collect(),
                ..Unknown::default()
            };
            let mark = self.unknowns.mark(unknown);
            return self.many_rounds(shell, Some((name, mark)), &clause.body.list);
        }
        if fields.len() > MOST_ROUNDS {
            self.beyond_rounds(shell, &fields);
            let unknown = self.unknowns.plain(format!("${name}"));
            return self.many_rounds(shell, Some((name, unknown)), &clause.body.list);
        }
        let rounds =
            if fields.len() == 1 { "1 round".to_owned() } else { format!("{} rounds", fields.len()) };
        self.inside(Construct::Loop(rounds), |this| {
            this.rounds(fields, |this, field| {
                if !this.is_many(&field) {
                    shell.set(name, Value::Scalar(field.text), Origin::Listed);
                    return this.list(shell, &clause.body.list);
                }
                // A glob matches an unknown number of files.
                let text = match this.glob_mark(shell, &field.text) {
                    Some(mark) => mark,
                    None if is_known(&field.text) => this.unknowns.plain(field.text),
                    None => field.text,
                };
                this.many_rounds(shell, Some((name, text)), &clause.body.list)
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

    /// True when the field may expand to any number of words or file names.
    fn is_many(&self, field: &Field) -> bool {
        stretches(&field.text).any(|stretch| match stretch {
            Stretch::Mark(index) => self.unknowns.get(index).is_some_and(|u| u.many),
            Stretch::Known(text) => text.contains(['*', '?']) && field.origin == Origin::Literal,
        })
    }

    pub fn while_clause(&mut self, shell: &mut Shell, clause: &ast::WhileOrUntilClauseCommand) -> Ran {
        let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
        if reads(condition) && shell.stdin.as_deref().is_some_and(is_known) {
            return self.inside(Construct::Loop("a round for each line".to_owned()), |this| {
                this.rounds_by_line(shell, condition, &body.list)
            });
        }
        let both = ast::CompoundList(condition.0.iter().chain(&body.list.0).cloned().collect());
        let loops_once = body.list.0.iter().any(|item| is_plain_break(&item.0));
        if loops_once {
            let (printed, flow) = self
                .inside(Construct::Loop("left after one round".to_owned()), |this| this.list(shell, &both));
            return (printed, leave_loop(flow));
        }
        self.many_rounds(shell, None, &both)
    }

    fn rounds_by_line(
        &mut self,
        shell: &mut Shell,
        condition: &ast::CompoundList,
        body: &ast::CompoundList,
    ) -> Ran {
        let mut printed = String::new();
        for _ in 0..MOST_ROUNDS {
            let before = shell.stdin.clone();
            if self.exhausted() || before.as_deref().is_none_or(str::is_empty) {
                return (printed, Flow::On);
            }
            self.list(shell, condition);
            let (text, flow) = self.list(shell, body);
            printed.push_str(&text);
            match flow {
                Flow::On | Flow::Continue => {}
                Flow::Break => return (printed, Flow::On),
                leave => return (printed, leave),
            }
            if shell.stdin == before {
                break;
            }
        }
        if let Some(rest) = shell.stdin.clone().filter(|rest| !rest.trim().is_empty()) {
            self.beyond_rounds(shell, &[Field::literal(rest)]);
        }
        let (text, flow) = self.many_rounds(shell, None, body);
        printed.push_str(&text);
        (printed, flow)
    }

    /// Runs a body once and marks it as repeating.
    pub fn many_rounds(
        &mut self,
        shell: &mut Shell,
        variable: Option<(&str, String)>,
        body: &ast::CompoundList,
    ) -> Ran {
        let mut changed = Vec::new();
        assigned_names(body, &mut changed, 0);
        let grown: Vec<String> =
            changed.iter().filter(|(_, grows)| *grows).map(|(name, _)| name.clone()).collect();
        for (name, _) in changed {
            // The current value applies to the first round only.
            if shell.get(&name).is_some_and(|v| v.value.is_known()) {
                let mark = self.unknowns.plain(format!("${name}"));
                shell.set_text(&name, mark);
            }
        }
        if let Some((name, text)) = variable {
            shell.set(name, Value::Scalar(text), Origin::Listed);
        }
        let before = std::mem::replace(&mut shell.repeats, true);
        let (printed, flow) =
            self.inside(Construct::Loop("any number of rounds".to_owned()), |this| this.list(shell, body));
        shell.repeats = before;
        for name in grown {
            // Each further round adds to it.
            let source = format!("${name}");
            let mark = self.unknowns.many(source);
            shell.set_text(&name, mark);
        }
        let printed = if printed.is_empty() || self.unknowns.only_mark(&printed).is_some() {
            printed
        } else {
            self.unknowns.many("…".to_owned())
        };
        // There may be no round at all, so `exit` inside is not certain.
        (printed, if matches!(flow, Flow::Exit | Flow::Return) { Flow::On } else { leave_loop(flow) })
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

fn is_plain_break(and_or: &ast::AndOrList) -> bool {
    and_or.additional.is_empty()
        && matches!(and_or.first.seq.as_slice(), [only] if command_name(only) == Some("break"))
}

fn command_name(command: &ast::Command) -> Option<&str> {
    match command {
        ast::Command::Simple(simple) => simple.word_or_name.as_ref().map(|word| word.value.as_str()),
        _ => None,
    }
}

/// Adds the variables that a body assigns, down to eight levels of nesting, and whether it adds to their values.
fn assigned_names(list: &ast::CompoundList, names: &mut Vec<(String, bool)>, depth: usize) {
    if depth > 8 || names.len() > 256 {
        return;
    }
    for item in &list.0 {
        for command in pipelines(&item.0).flat_map(|pipeline| &pipeline.seq) {
            match command {
                ast::Command::Simple(simple) if simple.word_or_name.is_none() => {
                    for part in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
                        if let ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = part {
                            names.push((variable(&assignment.name).to_owned(), assignment.append));
                        }
                    }
                }
                ast::Command::Compound(compound, _) => {
                    for body in bodies(compound) {
                        assigned_names(body, names, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The pipelines of a chain `a && b || c`.
fn pipelines(and_or: &ast::AndOrList) -> impl Iterator<Item = &ast::Pipeline> {
    let further = and_or.additional.iter().map(|next| match next {
        ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
    });
    std::iter::once(&and_or.first).chain(further)
}

/// The commands of a compound command that may change variables of the shell around it, apart from conditions.
fn bodies(compound: &ast::CompoundCommand) -> Vec<&ast::CompoundList> {
    match compound {
        ast::CompoundCommand::BraceGroup(group) => vec![&group.list],
        ast::CompoundCommand::IfClause(clause) => {
            let further = clause.elses.iter().flatten().map(|part| &part.body);
            std::iter::once(&clause.then).chain(further).collect()
        }
        ast::CompoundCommand::ForClause(clause) => vec![&clause.body.list],
        ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
            vec![&clause.1.list]
        }
        ast::CompoundCommand::CaseClause(clause) => {
            clause.cases.iter().filter_map(|case| case.cmd.as_ref()).collect()
        }
        _ => vec![],
    }
}
