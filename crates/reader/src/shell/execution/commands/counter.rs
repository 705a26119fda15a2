//! `for ((i = 0; i < 3; i++))` with numbers that are known.

use brush_parser::ast;

use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::expansion::arithmetic::evaluate;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::is_name;

/// Maximum number of rounds that are unrolled.
const MOST_ROUNDS: usize = 256;

impl Evaluator {
    /// Unrolls a loop whose bounds are known; `None` for any other one, which changes nothing.
    pub fn counted(&mut self, shell: &mut Shell, clause: &ast::ArithmeticForClauseCommand) -> Option<Ran> {
        let text = |part: &Option<ast::UnexpandedArithmeticExpr>| {
            part.as_ref().map(|part| part.value.trim().to_owned())
        };
        let (start, condition, step) =
            (text(&clause.initializer)?, text(&clause.condition)?, text(&clause.updater)?);
        let mut trial = shell.clone();
        let mut rounds = 0;
        assign(&start, &mut trial)?;
        while holds(&condition, &trial)? {
            rounds += 1;
            if rounds > MOST_ROUNDS {
                return None;
            }
            assign(&step, &mut trial)?;
        }
        assign(&start, shell)?;
        let label = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        let ran = self.inside(Construct::Loop(label), |this| {
            this.rounds(shell, 0..rounds, |this, shell, round| {
                if round > 0 {
                    assign(&step, shell);
                }
                this.list(shell, &clause.body.list)
            })
        });
        // After the last round, unless the loop was left.
        let mut ended = shell.clone();
        assign(&step, &mut ended);
        self.join(shell, &ended);
        Some(ran)
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
