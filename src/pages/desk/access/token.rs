//! The tokens of the desk: one for login, one for programs that read `/metrics` and `/healthz`.

use std::io;
use std::path::{Path, PathBuf};

use crate::guard::approval::desk_key::{DeskKey, SecretFileError, encoded, private_file, random};
use crate::pages::desk::settings::Settings;
use opsctl_machine::plain_file;

/// The name of the file that is created if no token is chosen.
const FILE: &str = "desk-token";

/// The minimum length of a token, in characters.
const LEAST: usize = 16;

/// Why a token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The created file cannot be used.
    #[error(transparent)]
    Created(#[from] SecretFileError),
    /// The file cannot be read.
    #[error("the token file {} cannot be read ({error}); correct {variable}", .path.display())]
    Unreadable {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// The operating system has no random numbers.
    #[error("the desk cannot start: {0}")]
    Randomness(io::Error),
    /// The token could be guessed.
    #[error("the token in {} is shorter than {LEAST} characters; write a random one, for example with `openssl rand -hex 32`", .0.display())]
    TooShort(PathBuf),
}

/// The signature of a token, by which another one is compared in constant time.
#[derive(Debug)]
struct Token {
    key: DeskKey,
    signature: [u8; 32],
}

impl Token {
    fn new(token: &str) -> io::Result<Self> {
        let key = DeskKey::of_bytes(&random()?);
        let signature = key.sign("token", &[token.as_bytes()]);
        Ok(Self { key, signature })
    }

    fn is(&self, token: &str) -> bool {
        self.key.verifies("token", &[token.as_bytes()], &self.signature)
    }
}

/// The tokens of the desk.
#[derive(Debug, Default)]
pub struct Tokens {
    login: Option<(Token, PathBuf)>,
    /// Keyed with the token for login: a new token ends all logins.
    logins: Option<DeskKey>,
    metrics: Option<Token>,
}

impl Tokens {
    /// Reads the tokens; creates that for login if it is in the state folder, or none is chosen.
    pub fn of(settings: &Settings, state_dir: &Path) -> Result<Self, TokenError> {
        let mut tokens = Self::default();
        if settings.has_token() {
            let path = settings.token_file.clone().unwrap_or_else(|| state_dir.join(FILE));
            // A named file in the state folder is created, too: in a container, the desk cannot listen on loopback only.
            let own = settings.token_file.as_ref().filter(|path| path.parent() != Some(state_dir));
            let text = match own {
                Some(path) => read(path, "CLAUDEOPS_DESK_TOKEN_FILE")?,
                None => private_file(&path, || random().map(|token| encoded(&token)))?,
            };
            tokens.login = Some((token(&text, &path)?, path));
            tokens.logins = Some(DeskKey::of_bytes(text.trim().as_bytes()));
        }
        if let Some(path) = &settings.metrics_token_file {
            tokens.metrics = Some(token(&read(path, "CLAUDEOPS_METRICS_TOKEN_FILE")?, path)?);
        }
        Ok(tokens)
    }

    /// The file of the token for login.
    pub fn login_file(&self) -> Option<&Path> {
        self.login.as_ref().map(|(_, path)| path.as_path())
    }

    /// What is stored of a login with this cookie; `None` without a token for login.
    pub fn digest(&self, cookie: &str) -> Option<String> {
        Some(encoded(&self.logins.as_ref()?.sign("login", &[cookie.as_bytes()])))
    }

    /// Whether this is the token for login.
    pub fn logs_in(&self, token: &str) -> bool {
        self.login.as_ref().is_some_and(|(login, _)| login.is(token.trim()))
    }

    /// Whether this is the token for metrics.
    pub fn reads_metrics(&self, token: &str) -> bool {
        self.metrics.as_ref().is_some_and(|metrics| metrics.is(token.trim()))
    }
}

fn token(text: &str, path: &Path) -> Result<Token, TokenError> {
    let text = text.trim();
    if text.chars().count() < LEAST {
        return Err(TokenError::TooShort(path.to_owned()));
    }
    Token::new(text).map_err(TokenError::Randomness)
}

fn read(path: &Path, variable: &'static str) -> Result<String, TokenError> {
    plain_file::text(path).map_err(|error| TokenError::Unreadable { variable, path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_token_logs_in_and_a_short_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("own")).unwrap();
        let of = |token: &str| {
            let file = folder.path().join("own/t");
            std::fs::write(&file, format!("{token}\n")).unwrap();
            Tokens::of(&Settings { token_file: Some(file), ..Settings::default() }, folder.path())
        };
        assert!(matches!(of("0123456789abcde"), Err(TokenError::TooShort(_))));
        let tokens = of("0123456789abcdef").unwrap();
        assert!(tokens.logs_in("0123456789abcdef") && tokens.logs_in(" 0123456789abcdef\n"));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0"] {
            assert!(!tokens.logs_in(wrong) && !tokens.reads_metrics(wrong), "{wrong}");
        }
        assert!(!tokens.reads_metrics("0123456789abcdef"));
        assert!(!folder.path().join(FILE).exists());
    }

    #[test]
    fn a_token_in_the_state_folder_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        for token_file in [None, Some(folder.path().join("t"))] {
            let settings = Settings { token_file, ..Settings::default() };
            let tokens = Tokens::of(&settings, folder.path()).unwrap();
            let text = std::fs::read_to_string(tokens.login_file().unwrap()).unwrap();
            assert_eq!(text.trim().len(), 64);
            assert!(Tokens::of(&settings, folder.path()).unwrap().logs_in(&text));
        }
    }
}
