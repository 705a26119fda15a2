//! Lists (`a; b`), chains (`a && b`) and pipelines (`a | b`).

use std::rc::Rc;

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::script::{Command, Construct, Node};
use crate::shell::state::Shell;

impl Evaluator {
    pub fn list(&mut self, shell: &mut Shell, list: &ast::CompoundList) -> Ran {
        self.sequence(&list.0, |this, ast::CompoundListItem(and_or, separator)| match separator {
            ast::SeparatorOperator::Sequence => this.and_or(shell, and_or),
            ast::SeparatorOperator::Async => (this.and_or(&mut shell.clone(), and_or).0, Flow::On),
        })
    }

    /// Runs the parts of a script one after the other, until one of them leaves it.
    pub fn sequence<'p, T>(&mut self, parts: &'p [T], mut run: impl FnMut(&mut Self, &'p T) -> Ran) -> Ran {
        let mut printed = String::new();
        for part in parts {
            if self.exhausted() {
                break;
            }
            let (text, flow) = run(self, part);
            printed.push_str(&text);
            if flow != Flow::On {
                return (printed, flow);
            }
        }
        (printed, Flow::On)
    }

    fn and_or(&mut self, shell: &mut Shell, and_or: &ast::AndOrList) -> Ran {
        let (mut printed, flow) = self.pipeline(shell, &and_or.first);
        if flow != Flow::On {
            return (printed, flow);
        }
        let cwd = shell.cwd.clone().filter(|_| !and_or.additional.is_empty());
        for next in &and_or.additional {
            if self.exhausted() {
                break;
            }
            let mut branch = shell.clone();
            let (text, flow) = match next {
                ast::AndOr::And(pipeline) => self.pipeline(&mut branch, pipeline),
                ast::AndOr::Or(pipeline) => {
                    self.inside(Construct::Branch("or else"), |this| this.pipeline(&mut branch, pipeline))
                }
            };
            printed.push_str(&text);
            if flow == Flow::On {
                // Assumes success: in `cd there && …`, the directory changes.
                let succeeds = matches!(next, ast::AndOr::And(_));
                let cwd = if succeeds { branch.cwd.clone() } else { shell.cwd.clone() };
                self.merge(shell, vec![branch]);
                shell.cwd = cwd;
            }
        }
        if !and_or.additional.is_empty() && shell.cwd != cwd {
            shell.is_cwd_doubtful = true;
        }
        (printed, Flow::On)
    }

    fn pipeline(&mut self, shell: &mut Shell, pipeline: &ast::Pipeline) -> Ran {
        if let [only] = pipeline.seq.as_slice() {
            return self.command(shell, only);
        }
        let printed = self.inside(Construct::Pipeline, |this| {
            let mut flows_on = None;
            for command in &pipeline.seq {
                let mut stage = shell.clone();
                if let Some(text) = flows_on.take() {
                    stage.stdin = Some(text);
                }
                flows_on = Some(this.command(&mut stage, command).0);
            }
            flows_on.unwrap_or_default()
        });
        (printed, Flow::On)
    }

    fn command(&mut self, shell: &mut Shell, command: &ast::Command) -> Ran {
        self.spend(1);
        if self.exhausted() {
            return (String::new(), Flow::On);
        }
        if self.depth_reached() {
            self.leave_out(shell, &command.to_string());
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let ran = match command {
            ast::Command::Simple(simple) => self.simple(shell, simple),
            ast::Command::Compound(compound, redirects) => {
                self.redirected(shell, compound, redirects.as_ref())
            }
            ast::Command::Function(function) => {
                let name = function.fname.value.clone();
                Rc::make_mut(&mut shell.functions).insert(name, Rc::new(function.body.clone()));
                (String::new(), Flow::On)
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirections(shell, redirects.iter().flat_map(|list| &list.0));
                self.extended_test(shell, &test.expr);
                (String::new(), Flow::On)
            }
        };
        self.depth -= 1;
        ran
    }

    /// Expands the words of a `[[ … ]]`, which may contain command substitutions.
    fn extended_test(&mut self, shell: &mut Shell, test: &ast::ExtendedTestExpr) {
        match test {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.extended_test(shell, left);
                self.extended_test(shell, right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.extended_test(shell, inner);
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.text(shell, &word.value);
            }
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                for word in [left, right] {
                    let operand = self.text(shell, &word.value);
                    self.run_subscripts(shell, &operand);
                }
            }
        }
    }

    /// Runs a compound command with its redirections.
    pub fn redirected(
        &mut self,
        shell: &mut Shell,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
    ) -> Ran {
        let Some(redirects) = redirects else { return self.compound(shell, compound) };
        let waiting = self.sinks.len();
        let redirected = self.redirections(shell, &redirects.0);
        if !redirected.files.is_empty() {
            // A command without words represents the files that are opened.
            let files = redirected.files.clone();
            self.push(Node::Command(Box::new(Command { redirections: files, ..Self::command_in(shell) })));
        }
        let before = shell.stdin.clone();
        if redirected.stdin.is_some() {
            shell.stdin.clone_from(&redirected.stdin);
        }
        let (printed, flow) = self.compound(shell, compound);
        shell.stdin = before;
        self.store_output(shell, &redirected, &printed);
        self.feed_files(&redirected, &printed);
        self.run_sinks(waiting);
        (if redirected.silent { String::new() } else { printed }, flow)
    }
}
