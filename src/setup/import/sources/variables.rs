//! Variables in compose files: `$NAME`, `${NAME}` and `${NAME:-default}`, from the file `.env` beside it.

use std::collections::BTreeMap;

use serde_json::Value;

/// The variables of a project.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Reads the text of a file `.env`.
    pub fn of_file(text: &str) -> Self {
        let mut variables = Self::default();
        for line in text.lines() {
            let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
            let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let value = value.trim();
            let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
            let plain = || value.split(" #").next().unwrap_or(value).trim_end();
            // A value may contain variables of the lines above, except in single quotes.
            let value = match quoted('\'') {
                Some(literal) => Some(literal.to_owned()),
                None => variables.expand(quoted('"').unwrap_or_else(plain)),
            };
            // A secret is no part of what hosts.yaml states.
            let is_secret = |value: &String| {
                let line = format!("{}={value}", name.trim());
                opsctl_redact::text(&line) != line
            };
            if let Some(value) = value.filter(|value| !is_secret(value)) {
                variables.0.insert(name.trim().to_owned(), value);
            }
        }
        variables
    }

    /// Adds the variables of a project that includes this one, which may state them, too.
    pub fn add_missing(&mut self, outer: &Self) {
        for (name, value) in &outer.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// Sets a variable that has no value yet.
    pub fn set_missing(&mut self, name: &str, value: &str) {
        self.0.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The text of a scalar with its variables replaced; `None` if one is not known, and for a list or map.
    pub fn text(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => self.expand(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// The text with its variables replaced; `None` if one is not known.
    pub fn expand(&self, text: &str) -> Option<String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            expanded += before;
            if let Some(behind) = behind.strip_prefix('$') {
                expanded.push('$');
                rest = behind;
            } else if let Some(braced) = behind.strip_prefix('{') {
                let (inner, behind) = braced.split_once('}')?;
                expanded += &self.braced(inner)?;
                rest = behind;
            } else {
                let end =
                    behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
                let (name, behind) = behind.split_at_checked(end)?;
                expanded += self.get(name)?;
                rest = behind;
            }
        }
        Some(expanded + rest)
    }

    /// `NAME`, `NAME:-default`, `NAME-default`; `NAME:?message` needs a value.
    fn braced(&self, inner: &str) -> Option<String> {
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, operator) = inner.split_at_checked(end)?;
        let value = self.get(name);
        let filled = value.filter(|value| !value.is_empty());
        if let Some(default) = operator.strip_prefix(":-") {
            return filled.map(str::to_owned).or_else(|| self.expand(default));
        }
        if let Some(default) = operator.strip_prefix('-') {
            return value.map(str::to_owned).or_else(|| self.expand(default));
        }
        (operator.is_empty() || operator.starts_with([':', '?']))
            .then_some(value)
            .flatten()
            .map(str::to_owned)
    }
}
