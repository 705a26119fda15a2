//! Arithmetic over known integers.

use crate::shell::state::{Shell, Value};

/// The value of an expression of numbers, variables, brackets and `+ - * / %`; `None` for any other one.
pub(crate) fn evaluate(expression: &str, shell: &Shell) -> Option<i64> {
    let mut parser = Parser { text: expression.as_bytes(), at: 0, shell, depth: 0 };
    let value = parser.terms()?;
    parser.blanks();
    (parser.at == parser.text.len()).then_some(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    shell: &'a Shell,
    depth: usize,
}

impl Parser<'_> {
    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn operator(&mut self, among: &[u8]) -> Option<u8> {
        self.blanks();
        let byte = *self.text.get(self.at)?;
        // `++` and `+=` assign, which is not supported.
        let next = self.text.get(self.at + 1).copied();
        if among.contains(&byte) && next != Some(b'=') && next != Some(byte) {
            self.at += 1;
            return Some(byte);
        }
        None
    }

    fn terms(&mut self) -> Option<i64> {
        let mut value = self.factors()?;
        while let Some(operator) = self.operator(b"+-") {
            let right = self.factors()?;
            value = if operator == b'+' { value.checked_add(right)? } else { value.checked_sub(right)? };
        }
        Some(value)
    }

    fn factors(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while let Some(operator) = self.operator(b"*/%") {
            let right = self.atom()?;
            value = match operator {
                b'*' => value.checked_mul(right)?,
                b'/' => value.checked_div(right)?,
                _ => value.checked_rem(right)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        self.blanks();
        let rest = self.text.get(self.at..)?;
        let first = *rest.first()?;
        if first == b'(' {
            self.depth += 1;
            if self.depth > 16 {
                return None;
            }
            self.at += 1;
            let value = self.terms()?;
            self.blanks();
            if self.text.get(self.at) != Some(&b')') {
                return None;
            }
            self.at += 1;
            return Some(value);
        }
        if first == b'-' && rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            return self.atom()?.checked_neg();
        }
        let len = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(rest.len());
        let word = std::str::from_utf8(rest.get(..len)?).ok()?;
        self.at += len;
        if first.is_ascii_digit() {
            return word.parse().ok();
        }
        match &self.shell.get(word)?.value {
            Value::Scalar(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}
