//! The key of the API, which only the guard has.

use std::ffi::OsString;
use std::path::PathBuf;

use axum::http::HeaderValue;
use opsctl_machine::plain_file;

/// A credential, as the value of its header. Its debug format does not show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The value of `x-api-key`.
    Key(HeaderValue),
    /// The value of `Authorization`, for a token of a subscription.
    Token(HeaderValue),
}

/// Where the credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `CLAUDEOPS_API_KEY_FILE`: a file that is read for each request, so that a key can be replaced.
    File(PathBuf),
    /// A variable of the guard's environment.
    Variable(Credential),
}

/// Why there is no credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// None is configured.
    #[error(
        "no API key: set CLAUDEOPS_API_KEY_FILE, ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN for the guard"
    )]
    Missing,
    /// The file cannot be read.
    #[error("the API key in {} cannot be read ({error}); correct CLAUDEOPS_API_KEY_FILE", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not one line of printable characters.
    #[error("the API key in {0} is not one line of printable ASCII characters; correct it")]
    Form(String),
}

/// How a token of a subscription begins; keys begin otherwise.
const TOKEN: &str = "sk-ant-oat";

impl Source {
    /// The configured source: the file, else a variable.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, CredentialError> {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        if let Some(path) = set("CLAUDEOPS_API_KEY_FILE") {
            return Ok(Self::File(path.into()));
        }
        let mut named = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"].into_iter();
        let Some((name, value)) = named.find_map(|name| Some((name, set(name)?))) else {
            return Err(CredentialError::Missing);
        };
        let form = || CredentialError::Form(name.to_owned());
        let value = value.into_string().map_err(|_| form())?;
        let credential = match name {
            "ANTHROPIC_API_KEY" => credential(&value),
            _ => token(value.trim()),
        };
        credential.map(Self::Variable).ok_or_else(form)
    }

    /// The credential.
    pub fn read(&self) -> Result<Credential, CredentialError> {
        match self {
            Self::Variable(credential) => Ok(credential.clone()),
            Self::File(path) => {
                let text = plain_file::text(path)
                    .map_err(|error| CredentialError::File { path: path.clone(), error })?;
                credential(&text).ok_or_else(|| CredentialError::Form(path.display().to_string()))
            }
        }
    }
}

fn credential(text: &str) -> Option<Credential> {
    let text = text.trim();
    if text.starts_with(TOKEN) { token(text) } else { secret(text).map(Credential::Key) }
}

fn token(text: &str) -> Option<Credential> {
    let is_plain = secret(text).is_some();
    is_plain.then(|| secret(&format!("Bearer {text}")).map(Credential::Token)).flatten()
}

fn secret(text: &str) -> Option<HeaderValue> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let mut value = is_plain.then(|| HeaderValue::from_str(text).ok()).flatten()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::guard::process::api::rows;

    #[test]
    fn a_file_comes_before_variables_and_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let get = |name: &str| match name {
            "CLAUDEOPS_API_KEY_FILE" => Some(file.clone().into()),
            "ANTHROPIC_API_KEY" => Some("other".into()),
            _ => None,
        };
        let source = Source::from_variables(get).unwrap();
        assert!(matches!(source.read(), Err(CredentialError::File { .. })));
        for key in ["first", "second\n"] {
            std::fs::write(&file, key).unwrap();
            assert_eq!(source.read().unwrap(), Credential::Key(HeaderValue::from_str(key.trim()).unwrap()));
        }
        std::fs::write(&file, "a\nb").unwrap();
        assert!(matches!(source.read(), Err(CredentialError::Form(_))));
    }

    #[test]
    fn a_token_is_sent_as_bearer_in_any_variable() {
        for (set, gives) in rows::of::<Vec<(BTreeMap<String, String>, String)>>("credentials") {
            let source = Source::from_variables(|name| set.get(name).map(Into::into));
            let found = match source.and_then(|source| source.read()) {
                Ok(Credential::Key(key)) => format!("key {}", key.to_str().unwrap()),
                Ok(Credential::Token(token)) => format!("token {}", token.to_str().unwrap()),
                Err(error) => error.to_string(),
            };
            assert!(found.starts_with(&gives), "{set:?}: {found}");
        }
    }
}
