//! `for ((i = 0; i < 3; i++))` with numbers that are known.

use std::cell::Cell;

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::expansion::arithmetic::evaluate;
use crate::shell::script::{Construct, Node};
use crate::shell::state::Shell;
use crate::shell::text::is_name;

/// Maximum number of rounds that are unrolled.
const MOST_ROUNDS: usize = 256;

impl Evaluator {
    /// Follows the rounds of which the script itself decides whether they run. Returns whether there may be more of them.
    pub fn counted(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> (Ran, bool) {
        let text = |part: &Option<ast::UnexpandedArithmeticExpr>| {
            part.as_ref().map(|part| part.value.trim().to_owned())
        };
        let parts = (text(&clause.initializer), text(&clause.condition), text(&clause.updater));
        let (Some(start), Some(condition), Some(step)) = parts else { return (Ran::default(), true) };
        if assign(&start, &mut shell.clone()).is_none() {
            return (Ran::default(), true);
        }
        assign(&start, shell);
        let (mut rounds, mut is_open) = (0, false);
        let is_over = Cell::new(false);
        let (ran, nodes) = self.collected(|this| {
            let turns = std::iter::from_fn(|| (!is_over.get()).then_some(()));
            this.rounds(shell, turns, |this, shell, ()| {
                let stepped = rounds == 0 || assign(&step, shell).is_some();
                let held = this.condition(shell, &condition).filter(|_| stepped && rounds < MOST_ROUNDS);
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

    /// Whether a condition holds: one that runs nothing, with words that are known.
    fn condition(&mut self, shell: &mut Shell, condition: &str) -> Option<bool> {
        if condition.contains("$(") || condition.contains('`') {
            return None;
        }
        let condition =
            if condition.contains('$') { self.text(shell, condition) } else { condition.to_owned() };
        holds(&condition, shell)
    }
}

/// Carries out `i=0`, `i++`, `i+=2` or several of them; `None` for any other expression.
fn assign(expression: &str, shell: &mut Shell) -> Option<()> {
    for part in expression.split(',') {
        let part = part.trim();
        let by_one = [("++", 1), ("--", -1)].iter().find_map(|(sign, step)| {
            let name = part.strip_prefix(sign).or_else(|| part.strip_suffix(sign))?;
            Some((name.trim(), *step))
        });
        let (name, value) = if let Some((name, step)) = by_one {
            (name, evaluate(name, shell)?.checked_add(step)?)
        } else {
            let (left, right) = part.split_once('=')?;
            let right = evaluate(right, shell)?;
            match left.trim_end().strip_suffix(['+', '-', '*']) {
                Some(name) => {
                    let old = evaluate(name, shell)?;
                    let value = match left.trim_end().chars().last()? {
                        '+' => old.checked_add(right)?,
                        '-' => old.checked_sub(right)?,
                        _ => old.checked_mul(right)?,
                    };
                    (name.trim(), value)
                }
                None => (left.trim(), right),
            }
        };
        if !is_name(name) {
            return None;
        }
        shell.set_text(name, value.to_string());
    }
    Some(())
}

/// Whether a comparison holds; `None` for any other expression.
fn holds(condition: &str, shell: &Shell) -> Option<bool> {
    for sign in ["<=", ">=", "==", "!=", "<", ">"] {
        if let Some((left, right)) = condition.split_once(sign) {
            let (left, right) = (evaluate(left, shell)?, evaluate(right, shell)?);
            return Some(match sign {
                "<=" => left <= right,
                ">=" => left >= right,
                "==" => left == right,
                "!=" => left != right,
                "<" => left < right,
                _ => left > right,
            });
        }
    }
    None
}
