//! Compound commands: groups and branches.

use std::rc::Rc;

use brush_parser::ast;

use super::conditions::matches;
use super::ways::Ways;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Flow, Ran, Sharing};
use crate::shell::expansion::arithmetic::Outcome;
use crate::shell::script::Construct;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Origin, is_known, is_name};

impl Evaluator {
    pub fn compound(&mut self, shell: &mut Shell, compound: &ast::CompoundCommand) -> Ran {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => {
                self.inside(Construct::Group, |this| this.list(shell, &group.list))
            }
            ast::CompoundCommand::Subshell(subshell) => {
                let printed = self.inside(Construct::Subshell, |this| this.subshell(shell, &subshell.list));
                (printed, Flow::On)
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.inside(Construct::If, |this| this.if_clause(shell, clause))
            }
            ast::CompoundCommand::CaseClause(clause) => {
                let text = || {
                    clause
                        .cases
                        .iter()
                        .flat_map(|case| &case.patterns)
                        .fold(format!("case {}", clause.value.value), |text, pattern| {
                            text + " " + &pattern.value
                        })
                };
                self.in_each_way(shell, text, |this, shell| {
                    this.inside(Construct::Case, |this| this.case_clause(shell, clause))
                })
            }
            ast::CompoundCommand::ForClause(clause) => {
                self.looped(shell, |this, shell| this.for_clause(shell, clause))
            }
            ast::CompoundCommand::WhileClause(clause) => {
                self.looped(shell, |this, shell| this.while_clause(shell, clause, false))
            }
            ast::CompoundCommand::UntilClause(clause) => {
                self.looped(shell, |this, shell| this.while_clause(shell, clause, true))
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                self.looped(shell, |this, shell| this.arithmetic_for(shell, clause))
            }
            ast::CompoundCommand::Arithmetic(command) => {
                let text = || command.expr.value.clone();
                self.in_each_way(shell, text, |this, shell| {
                    this.evaluate(shell, &command.expr.value);
                    (String::new(), Flow::On)
                })
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                let list = single(&coprocess.body);
                self.inside(Construct::Subshell, |this| this.subshell(shell, &list));
                let name = coprocess.name.as_ref().map_or("COPROC", |name| name.value.as_str());
                // Bash expands it, and prints a text that is no name.
                if !is_name(name) {
                    self.complain(Complaint::Runs(format!("coproc {name}")));
                }
                self.start_coprocess(shell, name, list);
                self.status = None;
                (String::new(), Flow::On)
            }
        }
    }

    /// Runs a list in a process of its own and returns its output.
    pub fn subshell(&mut self, shell: &Shell, list: &ast::CompoundList) -> String {
        self.forked(shell, |this, inner| this.list(inner, list))
    }

    /// Runs something in a process of its own and returns its output.
    pub fn forked(&mut self, shell: &Shell, run: impl FnOnce(&mut Self, &mut Shell) -> Ran) -> String {
        let mut inner = shell.forked();
        self.apart(|this| {
            let (printed, _) = run(this, &mut inner);
            this.run_exit_traps(&inner, Some(shell));
            this.note_forked(shell.stdin.as_deref(), &inner);
            printed
        })
    }

    /// Notes what a process of its own has done to the standard input that it shares with its parent.
    pub fn note_forked(&mut self, before: Option<&str>, inner: &Shell) {
        if before != inner.stdin.as_deref() {
            self.stdin = Sharing::Partial;
        }
    }

    /// Runs a loop, which `break` ends.
    fn looped(&mut self, shell: &mut Shell, run: impl FnOnce(&mut Self, &mut Shell) -> Ran) -> Ran {
        let outer = std::mem::replace(&mut shell.in_loop, true);
        let ran = self.settled(shell, run);
        // That of the last round, which may be another one.
        self.status = None;
        shell.in_loop = outer;
        ran
    }

    /// Carries out `((…))`: the substitutions in it run, and it changes variables.
    fn evaluate(&mut self, shell: &mut Shell, expression: &str) {
        let expanded = self.here_document(shell, expression);
        if expanded != expression || !is_known(&expanded) {
            self.run_own(shell, &expanded);
        }
        self.evaluate_expanded(shell, &expanded);
    }

    /// Carries out an expression of `((…))` or `let`, which leaves an exit code also where it fails.
    pub fn evaluate_expanded(&mut self, shell: &mut Shell, expression: &str) {
        self.run_values(shell, expression);
        let outcome = self.change_variables(shell, expression);
        // What is written without any variable may be there to mislead.
        let depends = expression.contains(|c: char| c.is_ascii_alphabetic());
        self.status = outcome.holds().filter(|_| depends);
    }

    /// Assigns what the operators of an expression assign.
    pub fn change_variables(&mut self, shell: &mut Shell, expression: &str) -> Outcome {
        let before = shell.clone();
        let outcome = self.calculate(shell, expression);
        if outcome.may_fail {
            self.join(shell, &before);
        }
        outcome
    }

    fn arithmetic_for(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> Ran {
        let ((mut printed, flow), is_open) = self.counted(shell, clause);
        if !is_open || flow != Flow::On {
            self.not_taken(shell, |this, inner| drop(this.list(inner, &clause.body.list)));
            return (printed, flow);
        }
        let parts = [&clause.initializer, &clause.condition, &clause.updater];
        for expression in parts.into_iter().flatten() {
            self.evaluate(shell, &expression.value);
        }
        // Each round may begin with other values.
        for expression in parts.into_iter().flatten() {
            let words = expression.value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for name in words.filter(|word| is_name(word)) {
                // A text with subscripts runs again in each round.
                if Self::variable_text(shell, name).is_some_and(|text| text.contains('[') || !is_known(&text))
                {
                    continue;
                }
                let number = self.unknowns.number(format!("${name}"));
                shell.set(name, Value::Scalar(number), Origin::Computed);
            }
        }
        let (text, flow) = self.many_rounds(shell, None, None, &clause.body.list);
        printed.push_str(&text);
        (printed, flow)
    }

    fn if_clause(&mut self, shell: &mut Shell, clause: &ast::IfClauseCommand) -> Ran {
        let (mut printed, flow) = self.list(shell, &clause.condition);
        if flow != Flow::On {
            return (printed, flow);
        }
        let mut ways = Ways::default();
        let mut otherwise = Some(shell.clone());
        let mut held = self.status;
        let first = (&clause.then, None);
        let further = clause.elses.iter().flatten().map(|part| (&part.body, Some(part.condition.as_ref())));
        for (body, condition) in std::iter::once(first).chain(further) {
            if self.exhausted() {
                break;
            }
            let Some(mut state) = otherwise.take() else {
                self.not_taken(shell, |this, inner| {
                    condition
                        .flatten()
                        .into_iter()
                        .chain([body])
                        .for_each(|list| drop(this.list(inner, list)));
                });
                continue;
            };
            match condition {
                None => {}
                Some(None) => {
                    self.branch(&mut ways, state, "else", body);
                    continue;
                }
                Some(Some(condition)) => {
                    let ran = self.inside(Construct::Branch("elif"), |this| this.list(&mut state, condition));
                    held = self.status;
                    if ran.1 != Flow::On {
                        ways.add(self, state, ran);
                        break;
                    }
                    printed.push_str(&ran.0);
                }
            }
            if held == Some(false) {
                self.not_taken(&state, |this, inner| drop(this.list(inner, body)));
            } else {
                let mut state = state.clone();
                state.end(true);
                self.branch(&mut ways, state, "then", body);
            }
            if held != Some(true) {
                state.end(false);
                otherwise = Some(state);
            }
        }
        self.status = None;
        if let Some(state) = otherwise {
            ways.add(self, state, (String::new(), Flow::On));
        }
        let (text, flow) = ways.end(self, shell);
        printed.push_str(&text);
        (printed, flow)
    }

    fn branch(&mut self, ways: &mut Ways, state: Shell, name: &'static str, body: &ast::CompoundList) {
        ways.run(self, state, |this, state| {
            this.inside(Construct::Branch(name), |this| this.list(state, body))
        });
    }

    fn case_clause(&mut self, shell: &mut Shell, clause: &ast::CaseClauseCommand) -> Ran {
        let (text, is_computed) = self.computed(|this| this.text(shell, &clause.value.value));
        let mut ways = Ways::default();
        // The state before the patterns that follow, and that of the arm before, which falls through.
        let mut otherwise = Some(shell.clone());
        let mut falls: Option<Shell> = None;
        for case in &clause.cases {
            if self.exhausted() {
                break;
            }
            let mut start = falls.take();
            if let Some(mut state) = otherwise.take() {
                let mut found = Some(false);
                for pattern in &case.patterns {
                    let expanded = self.text(&mut state, &pattern.value);
                    self.stated(shell, &["test", &text, "=", &expanded]);
                    let is_fixed = !clause.value.value.contains('$');
                    let matched = matches(shell, &text, &pattern.value, &expanded);
                    let is_certain = !is_computed && !self.is_involved;
                    match matched.filter(|_| is_certain).filter(|_| !is_fixed || pattern.value == "*") {
                        Some(false) => {}
                        Some(true) if found == Some(false) => {
                            found = Some(true);
                            break;
                        }
                        _ => found = None,
                    }
                    if pattern.value == "*" {
                        found = Some(true);
                        break;
                    }
                }
                if found != Some(false) {
                    self.join_into(&mut start, state.clone());
                }
                otherwise = (found != Some(true)).then_some(state);
            }
            let Some(state) = start else {
                let body = case.cmd.iter();
                self.not_taken(shell, |this, inner| body.for_each(|body| drop(this.list(inner, body))));
                continue;
            };
            let files = Rc::clone(&self.files);
            let mut end = state.clone();
            let ran = match &case.cmd {
                Some(body) => self.inside(Construct::Branch("case"), |this| this.list(&mut end, body)),
                None => (String::new(), Flow::On),
            };
            let falls_through = ran.1 == Flow::On
                && matches!(case.post_action, ast::CaseItemPostAction::UnconditionallyExecuteNextCaseItem);
            if falls_through {
                falls = Some(end.clone());
            } else if ran.1 == Flow::On
                && matches!(case.post_action, ast::CaseItemPostAction::ContinueEvaluatingCases)
            {
                self.join_into(&mut otherwise, end.clone());
            }
            ways.add(self, end, ran);
            if !falls_through {
                self.files = files;
            }
        }
        self.status = None;
        for state in otherwise.into_iter().chain(falls) {
            ways.add(self, state, (String::new(), Flow::On));
        }
        ways.end(self, shell)
    }
}

/// A list of one command.
fn single(command: &ast::Command) -> ast::CompoundList {
    let pipeline = ast::Pipeline { timed: None, bang: false, seq: vec![command.clone()] };
    let and_or = ast::AndOrList { first: pipeline, additional: Vec::new() };
    ast::CompoundList(vec![ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)])
}
