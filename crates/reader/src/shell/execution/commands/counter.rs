//! `for ((i = 0; i < 3; i++))` with numbers that are known.

use std::cell::Cell;

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::script::{Construct, Node};
use crate::shell::state::Shell;

/// Maximum number of rounds that are unrolled.
const MOST_ROUNDS: usize = 256;

impl Evaluator {
    /// Follows the rounds of which the script itself decides whether they run. Returns whether there may be more of them.
    pub fn counted(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> (Ran, bool) {
        let text = |part: &Option<ast::UnexpandedArithmeticExpr>| {
            part.as_ref().map(|part| part.value.trim().to_owned())
        };
        if self.is_involved {
            return (Ran::default(), true);
        }
        let parts = (text(&clause.initializer), text(&clause.condition), text(&clause.updater));
        let (Some(start), Some(condition), Some(step)) = parts else { return (Ran::default(), true) };
        let mut started = shell.clone();
        if self.part(&mut started, &start).is_none() {
            return (Ran::default(), true);
        }
        *shell = started;
        let (mut rounds, mut is_open) = (0, false);
        let is_over = Cell::new(false);
        let (ran, nodes) = self.collected(|this| {
            let turns = std::iter::from_fn(|| (!is_over.get()).then_some(()));
            this.rounds(shell, turns, |this, shell, ()| {
                let stepped = rounds == 0 || this.part(shell, &step).is_some();
                let held = this.part(shell, &condition).filter(|_| stepped && rounds < MOST_ROUNDS);
                is_open = held.is_none();
                is_over.set(held != Some(true));
                if is_over.get() {
                    return Ran::default();
                }
                rounds += 1;
                this.list(shell, &clause.body.list)
            })
        });
        if rounds > 0 {
            let label = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
            self.push(Node::Group(Construct::Loop(label), nodes));
        }
        self.status = None;
        (ran, is_open)
    }

    /// Whether a part of the head is not zero: one that runs nothing, cannot fail, and depends on variables.
    fn part(&mut self, shell: &mut Shell, part: &str) -> Option<bool> {
        if part.contains("$(") || part.contains('`') || !part.contains(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let expanded = if part.contains('$') { self.text(shell, part) } else { part.to_owned() };
        self.calculate(shell, &expanded).holds()
    }
}
