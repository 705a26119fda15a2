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
                self.looped(shell, |this, shell| this.for_clause(shell, clause))
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.looped(shell, |this, shell| this.while_clause(shell, clause))
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                self.looped(shell, |this, shell| this.arithmetic_for(shell, clause))
            }
            ast::CompoundCommand::Arithmetic(command) => {
                self.evaluate(shell, &command.expr.value);
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

    /// Runs a loop, which `break` ends.
    fn looped(&mut self, shell: &mut Shell, run: impl FnOnce(&mut Self, &mut Shell) -> Ran) -> Ran {
        let outer = std::mem::replace(&mut shell.in_loop, true);
        let ran = run(self, shell);
        shell.in_loop = outer;
        ran
    }

    /// Follows an arithmetic expression of the shell: the substitutions in it run, and it changes variables.
    fn evaluate(&mut self, shell: &mut Shell, expression: &str) {
        self.here_document(shell, expression);
        self.run_values(shell, expression);
        self.forget_assigned(shell, expression);
    }

    fn arithmetic_for(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> Ran {
        if let Some(ran) = self.counted(shell, clause) {
            return ran;
        }
        for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
            self.evaluate(shell, &expression.value);
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
        let mut ways = Ways { printed: self.list(shell, &clause.condition).0, ..Ways::default() };
        let mut otherwise = Some(shell.clone());
        ways.run(self, shell.clone(), "then", &clause.then);
        for part in clause.elses.iter().flatten() {
            if self.exhausted() {
                break;
            }
            let Some(mut state) = otherwise.take() else { break };
            if let Some(condition) = &part.condition {
                self.inside(Construct::Branch("elif"), |this| this.list(&mut state, condition));
                ways.run(self, state.clone(), "then", &part.body);
                otherwise = Some(state);
            } else {
                ways.run(self, state, "else", &part.body);
            }
        }
        ways.join(self, shell, otherwise)
    }

    fn case_clause(&mut self, shell: &mut Shell, clause: &ast::CaseClauseCommand) -> Ran {
        self.text(shell, &clause.value.value);
        let mut ways = Ways::default();
        let mut has_default = false;
        for case in &clause.cases {
            if self.exhausted() {
                break;
            }
            for pattern in &case.patterns {
                self.text(shell, &pattern.value);
                has_default |= pattern.value == "*";
            }
            if let Some(body) = &case.cmd {
                ways.run(self, shell.clone(), "case", body);
            }
        }
        let otherwise = (!has_default).then(|| shell.clone());
        ways.join(self, shell, otherwise)
    }
}

/// The ways through an `if` or a `case`.
#[derive(Default)]
struct Ways {
    printed: String,
    /// How control flow continues after the first one.
    first: Option<Flow>,
    /// The states after those that continue behind it.
    states: Vec<Shell>,
}

impl Ways {
    /// Follows one way from a state on.
    fn run(
        &mut self,
        evaluator: &mut Evaluator,
        mut state: Shell,
        name: &'static str,
        body: &ast::CompoundList,
    ) {
        let (text, flow) = evaluator.inside(Construct::Branch(name), |this| this.list(&mut state, body));
        self.printed.push_str(&text);
        self.first.get_or_insert(flow);
        self.states.extend((flow == Flow::On).then_some(state));
    }

    /// Merges the ways that continue, and the state of none of them, into `shell`. If none continues, the flow is that of
    /// the first.
    fn join(self, evaluator: &mut Evaluator, shell: &mut Shell, otherwise: Option<Shell>) -> Ran {
        let mut states = self.states.into_iter().chain(otherwise);
        let Some(state) = states.next() else { return (self.printed, self.first.unwrap_or(Flow::On)) };
        *shell = state;
        evaluator.merge(shell, states.collect());
        (self.printed, Flow::On)
    }
}

/// A list of one command.
fn single(command: &ast::Command) -> ast::CompoundList {
    let pipeline = ast::Pipeline { timed: None, bang: false, seq: vec![command.clone()] };
    let and_or = ast::AndOrList { first: pipeline, additional: Vec::new() };
    ast::CompoundList(vec![ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)])
}
