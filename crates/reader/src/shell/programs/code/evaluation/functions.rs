//! Functions that code defines and their calls, and imports.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::value::{Arguments, Function, Parameter, Range, Takes, Value};
use super::{DEEPEST, Evaluator};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

/// The maximum number of calls of one function within each other that are followed.
const MOST_NESTED: usize = 8;

/// Names of the object whose method runs, which are no parameters.
const SELF: [&str; 2] = ["self", "cls"];

impl Evaluator<'_> {
    /// `def name(parameters): body`, `function name(parameters) { body }`, `sub name { body }`.
    pub(super) fn definition(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        // `def self.name` of Ruby.
        if self.is(1, '.') {
            self.at += 2;
        }
        let Some(name) = self.name(0) else { return };
        self.handle(self.at);
        self.at += 1;
        let function = self.function(name.clone(), column);
        self.methods.insert(name.clone(), Rc::clone(&function));
        self.bind(&name, Value::Function(function), true);
    }

    /// The function whose parameters and body stand here.
    pub(super) fn function(&mut self, name: String, column: usize) -> Rc<Function> {
        let mut parameters = vec![];
        if self.is(0, '(') {
            let range = self.bracket();
            parameters = self.parameters(range);
        } else if self.is_ruby() {
            let end = self.statement_end(self.at);
            parameters = self.parameters((self.at, end));
            self.at = end;
        }
        // The type of what it returns.
        self.at = match self.language {
            Language::Python => self.find(self.at, |token| token.is(':')),
            Language::Ruby => self.at,
            _ => self.find(self.at, |token| token.is('{') || token.is(';')),
        };
        let body = self.body(column);
        self.define(name, parameters, body, false)
    }

    pub(super) fn define(
        &mut self,
        name: String,
        parameters: Vec<Parameter>,
        body: Range,
        is_expression: bool,
    ) -> Rc<Function> {
        let unit = Rc::clone(&self.unit);
        let function = Rc::new(Function { name, parameters, is_expression, unit, body, given: vec![] });
        if !self.defined.contains(&function) {
            self.defined.push(Rc::clone(&function));
        }
        function
    }

    /// The parameters between two places.
    pub(super) fn parameters(&self, (from, to): Range) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        let mut at = from;
        while at < to {
            let end = self.find(at, |token| token.is(',')).min(to);
            parameters.extend(self.parameter(at, end));
            at = end + 1;
        }
        parameters
    }

    fn parameter(&self, from: usize, to: usize) -> Option<Parameter> {
        let equals = self.find(from, |token| token.is('=')).min(to);
        let head = self.unit.tokens.get(from..equals)?;
        let is = |at: usize, symbol| head.get(at).is_some_and(|token: &Token| token.is(symbol));
        let takes = match () {
            () if is(0, '*') && is(1, '*') => Takes::Named,
            () if is(0, '*') || (is(0, '.') && is(1, '.')) => Takes::Rest,
            () if is(0, '{') => Takes::Fields,
            () if is(0, '[') || is(0, '(') => Takes::Elements,
            () => Takes::One,
        };
        let names = match takes {
            Takes::Fields | Takes::Elements => self.names(from, equals),
            _ => {
                // `string $name` of PHP, `&block` of Ruby, `name: type` of Python.
                let dollar = head.iter().position(|token| token.is('$'));
                vec![head.get(dollar.unwrap_or_default()..)?.iter().find_map(Token::name)?.to_owned()]
            }
        };
        let default = (equals < to).then_some((equals + 1, to));
        Some(Parameter { names, takes, default })
    }

    /// `class Name: body`.
    pub(super) fn class(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        let name = self.name(0).unwrap_or_default();
        self.at += 1;
        self.at = match self.language {
            Language::Python => self.find(self.at, |token| token.is(':')),
            Language::Ruby => self.statement_end(self.at),
            _ => self.find(self.at, |token| token.is('{')),
        };
        let body = self.body(column);
        let before = self.defined.len();
        self.scopes.push(BTreeMap::new());
        self.within(body, if self.is_script() { Self::members } else { Self::statements });
        let fields = self.scopes.pop().unwrap_or_default();
        let mut methods = self.defined.iter().skip(before);
        let constructor = methods.find(|function| words::CONSTRUCTORS.has(&function.name));
        if let Some(constructor) = constructor.cloned() {
            self.methods.insert(name.clone(), constructor);
        }
        for (field, value) in fields {
            if !matches!(value, Value::Function(_)) {
                self.bind(&format!("self.{field}"), value.clone(), true);
                self.bind(&format!("this.{field}"), value.clone(), true);
                self.bind(&format!("{name}.{field}"), value, true);
            }
        }
        self.bind(&name.clone(), Value::Path(name), true);
    }

    /// The methods of a class of JavaScript.
    fn members(&mut self) {
        while self.at < self.end && self.spend() {
            if let Some(name) = self.name(0).filter(|_| self.is(1, '(')) {
                self.handle(self.at);
                self.at += 1;
                let function = self.function(name.clone(), 0);
                self.methods.insert(name, function);
            } else if let Some(name) = self.name(0).filter(|_| self.is(1, '=')) {
                self.at += 2;
                let value = self.expression();
                self.bind(&name, value, true);
            } else {
                self.at += 1;
            }
        }
    }

    /// Calls a function that the code defines. With `is_open`, it may be called with anything, any number of times.
    pub(super) fn call_function(
        &mut self,
        function: &Rc<Function>,
        mut arguments: Arguments,
        is_open: bool,
    ) -> Value {
        if !self.called.contains(function) {
            self.called.push(Rc::clone(function));
        }
        let nested = self.calls.iter().filter(|call| *call == function).count();
        let values = &arguments.values;
        let is_known = !values.is_empty() && values.iter().all(|value| value.known().is_some());
        if nested > 0 && (nested >= MOST_NESTED || !is_known) {
            // What it starts then, it starts any number of times, with other values.
            self.recurses = true;
            self.is_complete = false;
            return Value::unknown();
        }
        if self.calls.len() >= DEEPEST {
            self.is_complete = false;
            return Value::unknown();
        }
        arguments.values.splice(0..0, function.given.iter().cloned());
        self.calls.push(Rc::clone(function));
        self.scopes.push(BTreeMap::new());
        let returned = std::mem::take(&mut self.returned);
        let has_returned = std::mem::take(&mut self.has_returned);
        let depth = std::mem::take(&mut self.depth);
        let value = self.within_unit(Rc::clone(&function.unit), function.body, |this| {
            this.bind_arguments(function, arguments, is_open);
            if function.is_expression {
                return this.expression();
            }
            this.statements();
            let is_certain = this.has_returned;
            let mut values = std::mem::take(&mut this.returned);
            if !is_certain {
                values.push(Value::Path("None".to_owned()));
            }
            // Perl and Ruby return the last value, which is not followed.
            if !is_certain && matches!(this.language, Language::Perl | Language::Ruby) {
                return Value::unknown();
            }
            Value::several(values)
        });
        self.depth = depth;
        self.returned = returned;
        self.has_returned = has_returned;
        self.scopes.pop();
        self.calls.pop();
        value
    }

    /// Binds the parameters of a function to what it is given.
    fn bind_arguments(&mut self, function: &Function, arguments: Arguments, is_open: bool) {
        let Arguments { values, mut named } = arguments;
        if self.is_perl() {
            let value = if is_open { Value::Unknown("@_".to_owned()) } else { Value::List(values) };
            return self.bind("@_", value, true);
        }
        let mut left = values.into_iter();
        for (at, parameter) in function.parameters.iter().enumerate() {
            let first = parameter.names.first().cloned().unwrap_or_default();
            if at == 0 && SELF.contains(&first.as_str()) {
                self.bind(&first, Value::Path("self".to_owned()), true);
                continue;
            }
            let value = match parameter.takes {
                Takes::Rest | Takes::Named if is_open => Value::Unknown(first),
                Takes::Rest => Value::List(left.by_ref().collect()),
                Takes::Named => Value::Table(std::mem::take(&mut named)),
                Takes::One | Takes::Elements | Takes::Fields => {
                    let by_name = named.iter().position(|(name, _)| *name == first);
                    let given = left.next().or_else(|| by_name.map(|at| named.remove(at).1));
                    match (given, parameter.default.filter(|_| !is_open)) {
                        (Some(value), _) => value,
                        (None, Some(range)) => self.within_brackets(range, Self::expression),
                        (None, None) => Value::Unknown(first),
                    }
                }
            };
            if parameter.takes != Takes::Fields {
                self.bind_all(&parameter.names, &value);
                continue;
            }
            for name in &parameter.names {
                let field = match &value {
                    Value::Table(_) => value.at(&Value::text(name.clone())).unwrap_or_default(),
                    _ => Value::Path(name.clone()),
                };
                self.bind(name, field, true);
            }
        }
    }

    pub(super) fn import(&mut self) {
        let end = self.statement_end(self.at);
        if !self.is_python() {
            self.import_of_script(end);
            return;
        }
        let is_from = self.is_name(0, "from");
        self.at += 1;
        let dotted = |this: &mut Self| {
            let mut path = String::new();
            while let Some(Token::Name(_) | Token::Symbol('.')) = this.token(0) {
                let word = this.name(0);
                if matches!(word.as_deref(), Some("import" | "as")) {
                    break;
                }
                path.push_str(word.as_deref().unwrap_or("."));
                this.at += 1;
            }
            path
        };
        let module = if is_from { Some(dotted(self)) } else { None };
        self.take_name("import");
        while self.at < end {
            let path = dotted(self);
            // Neither a comma nor a keyword is a module.
            if path.is_empty() {
                self.at += 1;
                continue;
            }
            let alias = if self.take_name("as") { self.name(0) } else { None };
            self.at += usize::from(alias.is_some());
            let first = path.split('.').next().unwrap_or_default().to_owned();
            let value = match (&module, &alias) {
                (Some(module), _) => format!("{module}.{path}"),
                (None, Some(_)) => path,
                (None, None) => first.clone(),
            };
            self.bind(&alias.unwrap_or(first), Value::Path(value), true);
        }
    }

    /// `import {execSync as x} from 'child_process'`.
    pub(super) fn import_of_script(&mut self, end: usize) {
        let tokens = self.unit.tokens.get(self.at..end).unwrap_or_default();
        let module = tokens.iter().rev().find_map(Token::literal).unwrap_or_default();
        let module = module.trim_start_matches("node:").to_owned();
        let mut bound: Vec<(String, String)> = Vec::new();
        let mut is_inside = false;
        let mut at = 1;
        while let Some(token) = tokens.get(at) {
            match token {
                Token::Symbol('{') => is_inside = true,
                Token::Symbol('}') => is_inside = false,
                Token::Name(name) if name == "from" => break,
                Token::Name(name) if name == "as" => {
                    if let (Some(Token::Name(other)), Some(last)) = (tokens.get(at + 1), bound.last_mut()) {
                        last.0.clone_from(other);
                        at += 1;
                    }
                }
                Token::Name(name) if is_inside => bound.push((name.clone(), format!("{module}.{name}"))),
                Token::Name(name) => bound.push((name.clone(), module.clone())),
                Token::Symbol('*') => bound.push((String::new(), module.clone())),
                _ => {}
            }
            at += 1;
        }
        for (name, path) in bound {
            self.bind(&name, Value::Path(path), true);
        }
        self.at = end;
    }
}
