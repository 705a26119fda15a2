//! Arithmetic: the value of an expression, the variables that it changes, and whether it may fail.

use brush_parser::arithmetic::parse;
use brush_parser::ast::{ArithmeticExpr as Expression, ArithmeticTarget as Target};
use brush_parser::ast::{BinaryOperator as Binary, UnaryAssignmentOperator as Step, UnaryOperator as Unary};

use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Origin, Stretch, Unknowns, is_name, stretches};

/// Maximum length in bytes of an expression, and of its brackets and conditions, which are parsed recursively.
const LONGEST: usize = 256;
const MOST_NESTED: usize = 8;
/// Maximum number of variables of which each holds an expression with the next one.
const MOST_REFERENCES: usize = 8;
/// The name that replaces an unknown stretch.
const UNKNOWN: &str = "__unknown";
/// What bash finds for an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Its value, where that is known.
    pub value: Option<i64>,
    /// Bash may refuse it: a variable that may hold no number, a division by zero, a mistake in writing.
    pub may_fail: bool,
    /// A variable in it is [`Origin::Computed`].
    pub is_computed: bool,
}

impl Outcome {
    /// Whether it is not zero, where that is certain.
    pub fn holds(self) -> Option<bool> {
        self.value.filter(|_| !self.may_fail && !self.is_computed).map(|value| value != 0)
    }
}

/// The value of an expression where that is known. It changes nothing.
pub(crate) fn evaluate(expression: &str, shell: &Shell) -> Option<i64> {
    number(expression).or_else(|| {
        let (shell, unknowns) = (&mut shell.clone(), &mut Unknowns::default());
        Calculation { shell, unknowns, may_fail: false, is_computed: false, depth: 0 }.text(expression)
    })
}

impl Evaluator {
    /// Carries out an expression whose words are expanded.
    pub fn calculate(&mut self, shell: &mut Shell, expression: &str) -> Outcome {
        let unknowns = &mut self.unknowns;
        let mut calculation = Calculation { shell, unknowns, may_fail: false, is_computed: false, depth: 0 };
        let value = calculation.text(&expression.replace('"', ""));
        Outcome { value, may_fail: calculation.may_fail, is_computed: calculation.is_computed }
    }
}

/// A decimal number, as it is mostly written. One that begins with 0 is octal.
pub fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    (digits == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c))).then(|| text.parse().ok())?
}

/// Whether an expression has an assignment elsewhere than at the beginning of one of its parts.
fn assigns_inside(text: &str) -> bool {
    text.contains('=')
        && text.split(',').any(|part| {
            let is_target = |c: char| c.is_ascii_alphanumeric() || "_[] \t\n".contains(c);
            let rest = part.trim_start_matches(is_target);
            let operator =
                rest.find('=').filter(|at| *at < 3).map_or("", |at| rest.get(..=at).unwrap_or_default());
            let is_assignment = rest.get(operator.len()..).is_some_and(|rest| !rest.starts_with('='))
                && !matches!(operator, "!=" | "<=" | ">=");
            let rest = if is_assignment { rest.get(operator.len()..).unwrap_or_default() } else { rest };
            let compared = ["==", "!=", "<=", ">="]
                .into_iter()
                .fold(rest.replace("<<=", "=").replace(">>=", "="), |text, operator| {
                    text.replace(operator, " ")
                });
            compared.contains('=')
        })
}

struct Calculation<'a> {
    shell: &'a mut Shell,
    unknowns: &'a mut Unknowns,
    may_fail: bool,
    is_computed: bool,
    depth: usize,
}

impl Calculation<'_> {
    fn fail(&mut self) -> Option<i64> {
        self.may_fail = true;
        None
    }

    fn text(&mut self, text: &str) -> Option<i64> {
        if let Some(number) = number(text) {
            return Some(number);
        }
        let mut names = String::with_capacity(text.len());
        for stretch in stretches(text) {
            match stretch {
                Stretch::Known(known) => names.push_str(known),
                Stretch::Mark(index) => {
                    names.push_str(UNKNOWN);
                    let is_number = self.unknowns.get(index).is_some_and(|unknown| {
                        unknown.is_number
                            || !unknown.candidates.is_empty()
                                && unknown.candidates.iter().all(|text| number(text).is_some())
                    });
                    self.may_fail |= !is_number;
                }
            }
        }
        let nested = names.bytes().filter(|byte| b"([?".contains(byte)).count();
        // Bash takes an assignment only at the beginning, the parser as an operand, too.
        let is_short = !assigns_inside(&names)
            && names.len() <= LONGEST
            && nested <= MOST_NESTED
            && self.depth < MOST_REFERENCES;
        let Some(expression) = is_short.then(|| parse(&names).ok()).flatten() else {
            for name in names.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|n| is_name(n))
            {
                self.set(name, None);
            }
            return self.fail();
        };
        self.depth += 1;
        let value = self.value(&expression);
        self.depth -= 1;
        value
    }

    fn value(&mut self, expression: &Expression) -> Option<i64> {
        match expression {
            Expression::Literal(number) => Some(*number),
            Expression::Reference(target) => self.of(target),
            Expression::UnaryOp(operator, operand) => {
                let value = self.value(operand)?;
                Some(match operator {
                    Unary::UnaryPlus => value,
                    Unary::UnaryMinus => value.wrapping_neg(),
                    Unary::BitwiseNot => !value,
                    Unary::LogicalNot => i64::from(value == 0),
                })
            }
            Expression::BinaryOp(operator @ (Binary::LogicalAnd | Binary::LogicalOr), left, right) => {
                let decides = i64::from(matches!(operator, Binary::LogicalOr));
                match self.value(left).map(|value| i64::from(value != 0)) {
                    Some(value) if value == decides => Some(decides),
                    Some(_) => self.value(right).map(|value| i64::from(value != 0)),
                    None => {
                        let right = self.perhaps(right)?;
                        (i64::from(right != 0) == decides).then_some(decides)
                    }
                }
            }
            Expression::BinaryOp(operator, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                self.binary(*operator, left, right)
            }
            Expression::Conditional(condition, then, otherwise) => match self.value(condition) {
                Some(0) => self.value(otherwise),
                Some(_) => self.value(then),
                None => {
                    let (one, other) = (self.perhaps(then), self.perhaps(otherwise));
                    one.filter(|_| one == other)
                }
            },
            Expression::Assignment(target, right) => {
                let value = self.value(right);
                self.assign(target, value)
            }
            Expression::BinaryAssignment(operator, target, right) => {
                let (left, right) = (self.of(target), self.value(right));
                let value = self.binary(*operator, left, right);
                self.assign(target, value)
            }
            Expression::UnaryAssignment(step, target) => {
                let before = self.of(target);
                let by = match step {
                    Step::PrefixIncrement | Step::PostfixIncrement => 1,
                    Step::PrefixDecrement | Step::PostfixDecrement => -1,
                };
                let after = self.assign(target, before.map(|value| value.wrapping_add(by)));
                let is_first = matches!(step, Step::PrefixIncrement | Step::PrefixDecrement);
                if is_first { after } else { before }
            }
        }
    }

    /// The value of a part that may not be evaluated. What it would change is unknown.
    fn perhaps(&mut self, part: &Expression) -> Option<i64> {
        let before = self.shell.variables.clone();
        let value = self.value(part);
        for name in before.differing(&self.shell.variables) {
            self.set(&name, None);
        }
        value
    }

    fn binary(&mut self, operator: Binary, left: Option<i64>, right: Option<i64>) -> Option<i64> {
        let divides = matches!(operator, Binary::Divide | Binary::Modulo);
        if divides && right.is_none_or(|right| right == 0)
            || matches!(operator, Binary::Power) && right.is_none_or(|right| right < 0)
        {
            return self.fail();
        }
        let (left, right) = (left?, right?);
        let shift = u32::try_from(right & 63).unwrap_or(0);
        Some(match operator {
            Binary::Power => left.wrapping_pow(u32::try_from(right).ok()?),
            Binary::Multiply => left.wrapping_mul(right),
            Binary::Divide => left.wrapping_div(right),
            Binary::Modulo => left.wrapping_rem(right),
            Binary::Comma => right,
            Binary::Add => left.wrapping_add(right),
            Binary::Subtract => left.wrapping_sub(right),
            Binary::ShiftLeft => left.wrapping_shl(shift),
            Binary::ShiftRight => left.wrapping_shr(shift),
            Binary::LessThan => i64::from(left < right),
            Binary::LessThanOrEqualTo => i64::from(left <= right),
            Binary::GreaterThan => i64::from(left > right),
            Binary::GreaterThanOrEqualTo => i64::from(left >= right),
            Binary::Equals => i64::from(left == right),
            Binary::NotEquals => i64::from(left != right),
            Binary::BitwiseAnd => left & right,
            Binary::BitwiseXor => left ^ right,
            Binary::BitwiseOr => left | right,
            Binary::LogicalAnd => i64::from(left != 0 && right != 0),
            Binary::LogicalOr => i64::from(left != 0 || right != 0),
        })
    }

    fn of(&mut self, target: &Target) -> Option<i64> {
        let name = match target {
            Target::Variable(name) => name,
            Target::ArrayElement(_, index) => {
                self.value(index);
                return self.fail();
            }
        };
        if name.starts_with(UNKNOWN) {
            return None;
        }
        if names::NUMBERS.has(name) || names::OWN.has(name) {
            return None;
        }
        self.is_computed |= self.shell.get(name).is_some_and(|variable| variable.origin == Origin::Computed);
        let text = match self.shell.get(name).map(|variable| &variable.value) {
            None => return self.fail(),
            Some(Value::Unset) => return Some(0),
            Some(Value::Scalar(text)) => text.clone(),
            Some(Value::Array(items)) => {
                items.iter().find(|(key, _)| key == "0").map(|(_, text)| text.clone()).unwrap_or_default()
            }
        };
        self.text(&text)
    }

    fn assign(&mut self, target: &Target, value: Option<i64>) -> Option<i64> {
        match target {
            Target::Variable(name) => self.set(name, value),
            Target::ArrayElement(name, index) => {
                self.value(index);
                self.fail();
                self.set(name, None);
            }
        }
        value
    }

    fn set(&mut self, name: &str, value: Option<i64>) {
        self.may_fail |= self.shell.readonly.contains(name);
        let text = value.map_or_else(|| self.unknowns.number(format!("${name}")), |value| value.to_string());
        self.shell.set_text(name, text);
        if self.is_computed {
            self.shell.mark_computed(name);
        }
    }
}
