//! Removes secrets from text before it is logged, stored or printed.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use serde_json::Value;

/// The replacement for a secret.
const GONE: &str = "[redacted]";

/// The minimum length of a variable's value to be redacted, in bytes: shorter values occur in ordinary text.
const SHORTEST: usize = 6;

/// Patterns of secrets. The group `keep` of a match is not redacted.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)",
        r"\bsk-ant-[A-Za-z0-9_-]{6,}",
        r"\b(gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})",
        r"\b(xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9._-]{10,})",
        r"(?P<keep>(?i:authorization)\s*:\s*)[^\r\n'\x22]+",
        r"(?P<keep>(?i:\bbearer)\s+)[A-Za-z0-9._~+/=-]{12,}",
        // User and password of a URL; a long user name without password is a token.
        r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]*://)([^\s/@'\x22]*:[^\s/@'\x22]+|[^\s/@:'\x22]{16,})@",
        r"(?P<keep>\b[A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD)=)('[^']*'|\x22[^\x22]*\x22|[^\s'\x22]+)",
        r"(?P<keep>(?i:\b(password|passwd|passphrase|secret|token|api[_-]?key))\x22?\s*[=:]\s*)('[^']+'|\x22[^\x22]+\x22|[^\s'\x22,;]{4,})",
    ]
    .iter()
    .filter_map(|form| Regex::new(form).ok())
    .collect()
});

/// JSON keys whose values are secrets.
static KEYS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(password|passwd|passphrase|secret|_token|^token|api[_-]?key)$").ok());

/// Removes values of secret variables, and text that matches a pattern of secrets.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Values to redact, longest first, so that no part of a longer one remains.
    values: Vec<String>,
}

impl Redactor {
    /// A redactor for the variables whose names mark them as secrets.
    pub fn of_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut values: Vec<String> = Vec::new();
        for (name, value) in variables {
            let name = name.to_uppercase();
            if name.ends_with("_URLS") {
                // The whole list, and each URL in it.
                values.extend(value.split([' ', ',', '\n']).map(str::to_owned));
                values.push(value);
            } else if ["_KEY", "_TOKEN", "_SECRET", "PASSWORD", "_PASSWD", "_CREDENTIALS"]
                .iter()
                .any(|ending| name.ends_with(ending))
            {
                values.push(value);
            }
        }
        values.retain(|value| value.len() >= SHORTEST);
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self { values }
    }

    /// A redactor for the environment of this process.
    pub fn of_process() -> Self {
        Self::of_variables(
            std::env::vars_os().map(|(name, value)| {
                (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
            }),
        )
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), GONE);
            }
        }
        for form in FORMS.iter() {
            let kept = |found: &Captures<'_>| {
                format!("{}{GONE}", found.name("keep").map_or("", |keep| keep.as_str()))
            };
            if form.is_match(&text) {
                text = form.replace_all(&text, kept).into_owned();
            }
        }
        text
    }

    /// Removes secrets from all strings in a JSON value. Values of keys in [`KEYS`] are redacted as a whole.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(entries) => {
                for (key, value) in entries.iter_mut() {
                    let secret = KEYS.as_ref().is_some_and(|keys| keys.is_match(key));
                    match value {
                        Value::String(text) if secret && !text.is_empty() => GONE.clone_into(text),
                        value => self.json(value),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(FORMS.len(), 9);
        assert!(KEYS.is_some());
    }

    #[test]
    fn redacts_text_that_matches_a_pattern() {
        let redactor = Redactor::default();
        for (text, expected) in [
            ("key sk-ant-api03-AbC_d-123 end", "key [redacted] end"),
            ("git clone https://bob:hunter2@git.lan/x", "git clone https://[redacted]git.lan/x"),
            ("https://ghtoken0123456789abcdef@git.lan/x", "https://[redacted]git.lan/x"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: [redacted]' x"),
            ("bearer abcdefghijklmnop", "bearer [redacted]"),
            ("GRAFANA_TOKEN=abc docker ps", "GRAFANA_TOKEN=[redacted] docker ps"),
            ("PGPASSWORD='a b' psql", "PGPASSWORD=[redacted] psql"),
            ("password: hunter2!", "password: [redacted]"),
            (r#"{"api_key": "0123"}"#, r#"{"api_key": [redacted]}"#),
            (
                "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\nz",
                "a\n[redacted]\nz",
            ),
            ("-----BEGIN RSA PRIVATE KEY-----\ncut off", "[redacted]"),
            ("ghp_0123456789abcdefghij", "[redacted]"),
        ] {
            assert_eq!(redactor.text(text), expected);
        }
    }

    #[test]
    fn keeps_ordinary_text() {
        let redactor = Redactor::default();
        for text in [
            "ssh root@ie01 docker restart jellyfin",
            "http://192.168.1.2:8080/health and ssh://root@ie01:22",
            "the bearer of bad news, tokens used: 120, keyboard: us",
            "a token was refused",
            "task-ant-hill",
        ] {
            assert_eq!(redactor.text(text), text);
        }
    }

    #[test]
    fn redacts_values_of_variables_anywhere_in_json() {
        let variables = [
            ("ANTHROPIC_API_KEY", "k\"0123456"),
            ("CLAUDEOPS_APPRISE_URLS", "mailto://bob/pw12345, ntfy://topic-9"),
            ("DB_PASSWORD", "short"),
            ("EDITOR", "nano-editor"),
        ];
        let redactor = Redactor::of_variables(variables.map(|(n, v)| (n.to_owned(), v.to_owned())));
        let mut value = json!({"a": ["x k\"0123456 y", "ntfy://topic-9"], "short": "short nano-editor"});
        redactor.json(&mut value);
        assert_eq!(value, json!({"a": ["x [redacted] y", "[redacted]"], "short": "short nano-editor"}));
    }

    #[test]
    fn redacts_values_of_secret_json_keys() {
        let mut value = json!({"password": "x", "access_token": "y", "input_tokens": 7, "tool_use_id": "t"});
        Redactor::default().json(&mut value);
        let expected = json!({"password": GONE, "access_token": GONE, "input_tokens": 7, "tool_use_id": "t"});
        assert_eq!(value, expected);
    }
}
