//! Loops.

use std::collections::BTreeMap;

use super::value::{Range, Value, numbered, pair};
use super::{Evaluator, MOST_ROUNDS};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

impl Evaluator<'_> {
    pub(super) fn loop_over(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        self.take_name("await");
        let close = if self.is(0, '(') { Some(self.closing(self.at)) } else { None };
        let is_head = |token: &Token| matches!(token.name(), Some("in" | "of" | "as"));
        // `for x in y`, `for (const x of y)`, `foreach ($list as $x)`.
        if self.is_python() || self.is_ruby() || self.language == Language::Lua {
            let at = self.find(self.at, is_head);
            let names = self.names(self.at, at);
            self.at = at + 1;
            let value = self.list_until(self.end);
            let range = self.body(column);
            return self.rounds(&names, &value, range, false);
        }
        if self.is_perl() {
            let open = self.find(self.at, |token| token.is('(') || token.is('{') || token.is(';'));
            if (open..self.closing(open)).filter(|at| self.is_at(*at, ';')).count() < 2 {
                let names = self.names(self.at, open);
                let names = if names.is_empty() { vec!["_".to_owned()] } else { names };
                self.at = open;
                let value = self.in_brackets(Self::flat_list);
                let range = self.body(column);
                return self.rounds(&names, &value, range, false);
            }
            self.at = open;
        }
        let close = close.unwrap_or_else(|| self.closing(self.at));
        let open = self.at;
        let inner = (open + 1, close);
        let at = self.within(inner, |this| this.find(this.at, is_head));
        if at < close {
            let is_php = self.is_php();
            let (names, list) =
                if is_php { ((at + 1, close), (open + 1, at)) } else { ((open + 1, at), (at + 1, close)) };
            let names = self.names(names.0, names.1);
            let value = self.within_brackets(list, Self::expression);
            self.at = close + 1;
            let range = self.body(column);
            // `for (x in list)` of JavaScript and awk gives keys.
            let is_keys = self.name_at(at) == Some("in");
            let value = match (&value, is_keys) {
                (Value::List(items), true) => {
                    Value::List((0..items.len()).map(|at| Value::text(at.to_string())).collect())
                }
                (Value::Table(rows), false) if is_php && names.len() < 2 => {
                    Value::List(rows.iter().map(|(_, value)| value.clone()).collect())
                }
                (Value::Table(rows), false) if is_php => Value::List(rows.iter().map(pair).collect()),
                (Value::List(items), false) if is_php && names.len() > 1 => numbered(items),
                _ => value,
            };
            return self.rounds(&names, &value, range, false);
        }
        self.counted(inner, close, column);
    }

    /// `for (i = 0; i < n; i++)`.
    pub(super) fn counted(&mut self, inner: Range, close: usize, column: usize) {
        let ends = self.within(inner, |this| {
            let one = this.find(this.at, |token| token.is(';'));
            (one, this.find(one + 1, |token| token.is(';')))
        });
        self.within_brackets((inner.0, ends.0), |this| {
            while this.at < this.end {
                let before = this.at;
                this.expression();
                if !this.take(',') || this.at == before {
                    break;
                }
            }
        });
        let condition = (ends.0 + 1, ends.1);
        let step = (ends.1 + 1, close);
        self.at = close + 1;
        let body = self.body(column);
        let has_jumps = self.has_jumps(body);
        for _ in 0..MOST_ROUNDS {
            match self.within_brackets(condition, Self::expression).truth() {
                Some(false) => return,
                None => break,
                Some(true) => {}
            }
            if has_jumps {
                self.either(body);
            } else {
                self.within(body, Self::statements);
            }
            if self.has_returned || !self.spend() {
                return;
            }
            self.within_brackets(step, Self::expression);
            if has_jumps {
                self.forget_names(step.0, step.1);
            }
        }
        self.repeated(body);
    }

    pub(super) fn loop_while(&mut self) {
        let column = self.column(self.at);
        let head = self.at;
        for _ in 0..MOST_ROUNDS {
            self.at = head;
            let found = self.found.len();
            let holds = self.condition();
            let body = self.body(column);
            // awk runs the command of `getline` once, unless the loop closes it.
            let closes = self.language != Language::Awk
                || self.names(body.0, body.1).iter().any(|name| name == "close");
            if closes && holds.is_none() {
                self.found.iter_mut().skip(found).for_each(|found| found.repeats = true);
            }
            match holds {
                Some(false) => return,
                Some(true) if self.spend() && !self.has_jumps(body) => self.within(body, Self::statements),
                _ => return self.repeated(body),
            }
            if self.has_returned {
                return;
            }
        }
        let body = (head, self.at);
        self.is_complete = false;
        self.repeated(body);
    }

    /// Runs a body that may run any number of times: what it changes is unknown.
    pub(super) fn repeated(&mut self, body: Range) {
        let before = self.scopes.clone();
        // What the first round changes, the second one finds unknown.
        for _ in 0..2 {
            self.any_times(|this| this.within(body, Self::statements));
            self.has_returned = false;
            if !self.forget_changes(&before, false) {
                break;
            }
        }
        self.join(before);
    }

    /// Runs a body of which only a part may run: what it changes is unknown.
    pub(super) fn either(&mut self, body: Range) {
        let before = self.scopes.clone();
        self.within(body, Self::statements);
        self.has_returned = false;
        self.forget_changes(&before, true);
        self.join(before);
    }

    /// Forgets the values that have changed, and with `is_new` those of new names; whether there were any.
    pub(super) fn forget_changes(&mut self, before: &[BTreeMap<String, Value>], is_new: bool) -> bool {
        let mut has_changed = false;
        for (own, old) in self.scopes.iter_mut().zip(before) {
            for (name, value) in own {
                let is_function = is_new && value.is_callable();
                if old.get(name).map_or(is_new, |old| old != value) && !is_function {
                    *value = Value::unknown();
                    has_changed = true;
                }
            }
        }
        has_changed
    }

    /// Runs a body for each element of a list.
    pub(super) fn rounds(&mut self, names: &[String], list: &Value, body: Range, flattens: bool) {
        let Some(items) = list.items().filter(|items| items.len() <= MOST_ROUNDS) else {
            for name in names {
                self.bind(name, Value::Unknown(name.clone()), true);
            }
            return self.repeated(body);
        };
        let has_jumps = self.has_jumps(body);
        let inner = |item: Value| item.items().filter(|_| flattens).unwrap_or_else(|| vec![item]);
        for item in items.into_iter().flat_map(inner) {
            self.bind_all(names, &item);
            if has_jumps {
                self.either(body);
            } else {
                self.within(body, Self::statements);
            }
            // The variable of a loop may be the element itself.
            let is_alias = matches!(self.language, Language::Perl | Language::Php | Language::Ruby);
            let own = names.first().and_then(|name| self.lookup(name));
            if is_alias && names.len() == 1 && own != Some(&item) {
                self.forget(list);
            }
            if self.has_returned || !self.spend() {
                return;
            }
        }
        // Perl gives the variable its old value back.
        if self.is_perl() {
            for name in names {
                self.bind(name, Value::Unknown(format!("${name}")), true);
            }
        }
    }

    /// Whether a round of a loop may end before its body does.
    fn has_jumps(&self, body: Range) -> bool {
        let tokens = self.unit.tokens.get(body.0..body.1).unwrap_or_default();
        tokens.iter().filter_map(Token::name).any(|name| words::JUMPS.has(name))
    }
}
