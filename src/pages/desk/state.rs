//! What all requests to the desk share.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::response::Response;

use super::access::attempts::Attempts;
use super::access::token::Tokens;
use super::live::Live;
use super::problem::Problem;
use super::settings::Settings;
use super::templates::Templates;
use crate::guard::approval::desk_key::DeskKey;
use crate::machine::environment::Environment;
use opsctl_ledger::{Ledger, LedgerError};
use opsctl_machine::held_variables::variable;

/// The latest check of the ledger: when, and what is wrong.
pub type Checked = Mutex<Option<(Instant, Option<String>)>>;

/// What all requests share.
#[derive(Debug)]
pub struct Desk {
    environment: Arc<Environment>,
    /// The settings.
    pub settings: Settings,
    /// The key of links and forms.
    pub key: DeskKey,
    /// The tokens.
    pub tokens: Tokens,
    /// The templates.
    pub templates: Templates,
    attempts: Mutex<Attempts>,
    /// The latest check of the ledger.
    pub health: Checked,
    /// The version of what is shown.
    pub live: Live,
}

impl Desk {
    /// Prepares the desk for this address. `tell` states where the token for login is. Errors are those of its settings.
    pub fn new(environment: &Arc<Environment>, listen: SocketAddr, tell: &dyn Fn(&str)) -> io::Result<Self> {
        let settings = Settings::from_variables(variable).map_err(io::Error::other)?;
        settings.check(listen).map_err(io::Error::other)?;
        environment.create_own_state_dir()?;
        let key = DeskKey::open(&environment.state_dir).map_err(io::Error::other)?;
        let tokens = Tokens::of(&settings, &environment.state_dir).map_err(io::Error::other)?;
        if let Some(path) = tokens.login_file() {
            tell(&format!("token for login: {}", path.display()));
        }
        Ok(Self {
            environment: Arc::clone(environment),
            settings,
            key,
            tokens,
            templates: Templates::new().map_err(io::Error::other)?,
            attempts: Mutex::default(),
            health: Checked::default(),
            live: Live::new(),
        })
    }

    /// The guard's own environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The name of the cookie. The prefix makes browsers accept it through HTTPS only, and not from other hosts.
    pub fn cookie_name(&self) -> &'static str {
        if self.settings.is_https() { "__Host-opsctl_desk" } else { "opsctl_desk" }
    }

    /// Failed logins.
    pub fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which blocks, on a thread of its own. An error is the page that reports it.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Response> {
        let desk = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&desk)).await;
        done.unwrap_or(Err(Problem::INTERNAL)).map_err(|problem| self.problem(&problem))
    }

    /// Runs `work` with the ledger, which is created if it does not exist.
    pub async fn with_ledger<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Ledger) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, Response> {
        self.blocking(move |desk| {
            let ledger = Ledger::open(&desk.environment().ledger);
            Ok(ledger.and_then(|mut ledger| work(&mut ledger))?)
        })
        .await
    }

    /// The page that reports a problem.
    pub fn problem(&self, problem: &Problem) -> Response {
        self.templates.problem(problem)
    }
}
