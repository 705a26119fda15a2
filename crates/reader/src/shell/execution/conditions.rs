//! Conditions that are certain: bash could not decide them otherwise. Those in which no variable stands are left open, because
//! what is written for one way alone (`if false; then …`) may be there to mislead; so both ways are read.

use brush_parser::ast::{BinaryPredicate, ExtendedTestExpr, UnaryPredicate};

use crate::shell::evaluator::Evaluator;
use crate::shell::expansion::pattern::glob;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Origin, is_known};

/// Characters with which a word is a pattern, or a text in it is quoted.
const NOT_PLAIN: [char; 8] = ['*', '?', '[', '\\', '\'', '"', '(', '$'];

impl Evaluator {
    /// Expands the words of a `[[ … ]]`, which may contain command substitutions; what it finds where that is certain.
    pub fn extended_test(&mut self, shell: &mut Shell, test: &ExtendedTestExpr) -> Option<bool> {
        match test {
            ExtendedTestExpr::And(left, right) => {
                match (self.extended_test(shell, left), self.extended_test(shell, right)) {
                    (Some(true), Some(true)) => Some(true),
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    _ => None,
                }
            }
            ExtendedTestExpr::Or(left, right) => {
                match (self.extended_test(shell, left), self.extended_test(shell, right)) {
                    (Some(false), Some(false)) => Some(false),
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    _ => None,
                }
            }
            ExtendedTestExpr::Not(inner) => self.extended_test(shell, inner).map(|holds| !holds),
            ExtendedTestExpr::Parenthesized(inner) => self.extended_test(shell, inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let (operand, is_computed) = self.computed(|this| this.text(shell, &word.value));
                if matches!(predicate, UnaryPredicate::ShellVariableIsSetAndAssigned) {
                    self.run_subscripts(shell, &operand);
                    if let Some((_, index)) = operand.trim_end_matches(']').split_once('[') {
                        self.assign_in_subscript(shell, index);
                    }
                }
                if self.unknowns.show(&operand).contains("$(computed ") {
                    self.stated(shell, &["test", "-n", &operand]);
                }
                let depends = is_known(&operand) && word.value.contains('$') && !is_computed;
                let is_empty = depends.then_some(operand.is_empty())?;
                match predicate {
                    UnaryPredicate::StringHasZeroLength => Some(is_empty),
                    UnaryPredicate::StringHasNonZeroLength => Some(!is_empty),
                    _ => None,
                }
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let is_arithmetic = matches!(
                    predicate,
                    BinaryPredicate::ArithmeticEqualTo
                        | BinaryPredicate::ArithmeticNotEqualTo
                        | BinaryPredicate::ArithmeticLessThan
                        | BinaryPredicate::ArithmeticLessThanOrEqualTo
                        | BinaryPredicate::ArithmeticGreaterThan
                        | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
                );
                let depends = left.value.contains('$') || right.value.contains('$');
                let ([left, right], is_computed) = self.computed(|this| {
                    [left, right].map(|word| {
                        let operand = this.text(shell, &word.value);
                        if is_arithmetic {
                            this.run_subscripts(shell, &operand);
                            this.assign_in_subscript(shell, &operand);
                        }
                        (operand, word.value.contains(NOT_PLAIN))
                    })
                });
                self.stated(shell, &["test", &left.0, if is_arithmetic { "-eq" } else { "=" }, &right.0]);
                if matches!(predicate, BinaryPredicate::StringMatchesRegex) {
                    let mark = self.unknowns.foreign("$(computed ${BASH_REMATCH[@]})".to_owned());
                    let mark = self.unknowns.made_from(mark, &left.0);
                    let items = vec![("0".to_owned(), mark)];
                    shell.set("BASH_REMATCH", Value::Array(items), Origin::Computed);
                }
                let equals = match predicate {
                    BinaryPredicate::StringExactlyMatchesPattern
                    | BinaryPredicate::StringExactlyMatchesString => true,
                    BinaryPredicate::StringDoesNotExactlyMatchPattern
                    | BinaryPredicate::StringDoesNotExactlyMatchString => false,
                    _ => return None,
                };
                let is_certain = !is_computed
                    && depends
                    && [&left.0, &right.0].iter().all(|text| is_known(text) && text.is_ascii())
                    && !right.1
                    && !shell.matches_loosely;
                is_certain.then_some((left.0 == right.0) == equals)
            }
        }
    }
}

/// Whether the words of `test` or `[` hold; `None` where that depends on more than the words.
pub(crate) fn holds(words: &[&str]) -> Option<bool> {
    // The locale says what other characters equal.
    if !words.iter().all(|word| is_known(word) && word.is_ascii()) {
        return None;
    }
    // Blanks may stand before a number, behind it only some.
    let number = |word: &str| word.trim_start().trim_end_matches([' ', '\t']).parse::<i64>().ok();
    match words {
        [] => Some(false),
        ["!", rest @ ..] if !rest.is_empty() => holds(rest).map(|holds| !holds),
        [text] | ["-n", text] => Some(!text.is_empty()),
        ["-z", text] => Some(text.is_empty()),
        [left, "=" | "==", right] => Some(left == right),
        [left, "!=", right] => Some(left != right),
        [left, operator, right] => {
            let (left, right) = (number(left)?, number(right)?);
            Some(match *operator {
                "-eq" => left == right,
                "-ne" => left != right,
                "-lt" => left < right,
                "-le" => left <= right,
                "-gt" => left > right,
                "-ge" => left >= right,
                _ => return None,
            })
        }
        _ => None,
    }
}

/// Whether a text matches a pattern of `case`; `None` where that is not certain.
pub(crate) fn matches(shell: &Shell, text: &str, raw: &str, pattern: &str) -> Option<bool> {
    if raw == "*" {
        return Some(true);
    }
    let is_certain = is_known(text) && is_known(pattern) && !shell.matches_loosely;
    if !is_certain
        || raw.contains(['\\', '\'', '"', '(', '$', '`']) && pattern.contains(['*', '?', '[', '\\', '('])
    {
        return None;
    }
    // What a character is, the locale says.
    let is_plain = !pattern.contains(['(', '[']) && pattern.is_ascii() && text.is_ascii();
    is_plain.then(|| glob(pattern, text))
}
