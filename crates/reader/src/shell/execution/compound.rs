//! Compound commands: groups and branches.

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::script::Construct;
use crate::shell::state::Shell;

impl Evaluator {
    pub fn compound(&mut self, shell: &mut Shell, compound: &ast::CompoundCommand) -> Ran {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => {
                self.inside(Construct::Group, |this| this.list(shell, &group.list))
            }
            ast::CompoundCommand::Subshell(subshell) => {
                let mut inner = shell.clone();
                let printed =
                    self.inside(Construct::Subshell, |this| this.list(&mut inner, &subshell.list).0);
                (printed, Flow::On)
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.inside(Construct::If, |this| this.if_clause(shell, clause))
            }
            ast::CompoundCommand::CaseClause(clause) => {
                self.inside(Construct::Case, |this| this.case_clause(shell, clause))
            }
            ast::CompoundCommand::ForClause(clause) => {
                let outer = std::mem::replace(&mut shell.in_loop, true);
                let ran = self.for_clause(shell, clause);
                shell.in_loop = outer;
                ran
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                let outer = std::mem::replace(&mut shell.in_loop, true);
                let ran = self.while_clause(shell, clause);
                shell.in_loop = outer;
                ran
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let outer = std::mem::replace(&mut shell.in_loop, true);
                let ran = self.arithmetic_for(shell, clause);
                shell.in_loop = outer;
                ran
            }
            ast::CompoundCommand::Arithmetic(command) => {
                self.here_document(shell, &command.expr.value);
                self.run_values(shell, &command.expr.value);
                self.forget_assigned(shell, &command.expr.value);
                (String::new(), Flow::On)
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                let mut inner = shell.clone();
                let list = single(&coprocess.body);
                self.inside(Construct::Subshell, |this| this.list(&mut inner, &list));
                let name = coprocess.name.as_ref().map_or("COPROC", |name| name.value.as_str());
                self.start_coprocess(shell, name, list);
                (String::new(), Flow::On)
            }
        }
    }

    fn arithmetic_for(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> Ran {
        if let Some(ran) = self.counted(shell, clause) {
            return ran;
        }
        for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
            self.here_document(shell, &expression.value);
            self.run_values(shell, &expression.value);
            self.forget_assigned(shell, &expression.value);
        }
        self.many_rounds(shell, None, &clause.body.list)
    }

    /// Makes the variables that an arithmetic expression changes unknown.
    pub fn forget_assigned(&mut self, shell: &mut Shell, expression: &str) {
        let mut rest = expression;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let word = rest.get(start..).unwrap_or_default();
            let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
            let (name, after) = word.split_at(end);
            let changes =
                expression.contains(['=']) || expression.contains("++") || expression.contains("--");
            if changes && shell.get(name).is_some_and(|variable| variable.value.is_known())
                || after.trim_start().starts_with('=')
            {
                let mark = self.unknowns.plain(format!("${name}"));
                shell.set_text(name, mark);
            }
            rest = after;
        }
    }

    fn if_clause(&mut self, shell: &mut Shell, clause: &ast::IfClauseCommand) -> Ran {
        let mut printed = self.list(shell, &clause.condition).0;
        let mut branches = Vec::new();
        let mut otherwise = shell.clone();
        let mut flows = Vec::new();
        let mut run = |this: &mut Self, state: &Shell, name, body: &ast::CompoundList| {
            let mut branch = state.clone();
            let (text, flow) = this.inside(Construct::Branch(name), |this| this.list(&mut branch, body));
            printed.push_str(&text);
            flows.push(flow);
            if flow == Flow::On {
                branches.push(branch);
            }
        };
        run(self, shell, "then", &clause.then);
        let mut has_else = false;
        for part in clause.elses.iter().flatten() {
            if self.exhausted() {
                break;
            }
            if let Some(condition) = &part.condition {
                self.inside(Construct::Branch("elif"), |this| this.list(&mut otherwise, condition));
                run(self, &otherwise, "then", &part.body);
            } else {
                has_else = true;
                run(self, &otherwise, "else", &part.body);
            }
        }
        if !has_else {
            branches.push(otherwise);
            flows.push(Flow::On);
        }
        (printed, self.after_branches(shell, branches, &flows))
    }

    fn case_clause(&mut self, shell: &mut Shell, clause: &ast::CaseClauseCommand) -> Ran {
        self.text(shell, &clause.value.value);
        let mut printed = String::new();
        let mut branches = Vec::new();
        let mut flows = Vec::new();
        let mut has_default = false;
        for case in &clause.cases {
            if self.exhausted() {
                break;
            }
            for pattern in &case.patterns {
                self.text(shell, &pattern.value);
                has_default |= pattern.value == "*";
            }
            let Some(body) = &case.cmd else { continue };
            let mut branch = shell.clone();
            let (text, flow) = self.inside(Construct::Branch("case"), |this| this.list(&mut branch, body));
            printed.push_str(&text);
            flows.push(flow);
            if flow == Flow::On {
                branches.push(branch);
            }
        }
        if !has_default {
            branches.push(shell.clone());
            flows.push(Flow::On);
        }
        (printed, self.after_branches(shell, branches, &flows))
    }

    /// Merges the branches that continue into `shell`; when none continues, the flow is that of the first.
    fn after_branches(&mut self, shell: &mut Shell, branches: Vec<Shell>, flows: &[Flow]) -> Flow {
        let mut branches = branches.into_iter();
        if let Some(first) = branches.next() {
            *shell = first;
            self.merge(shell, branches.collect());
            return Flow::On;
        }
        flows.first().copied().unwrap_or(Flow::On)
    }
}

/// A list of one command.
fn single(command: &ast::Command) -> ast::CompoundList {
    let pipeline = ast::Pipeline { timed: None, bang: false, seq: vec![command.clone()] };
    let and_or = ast::AndOrList { first: pipeline, additional: Vec::new() };
    ast::CompoundList(vec![ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)])
}
