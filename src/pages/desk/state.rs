//! What all requests to the desk share.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use chrono::{DateTime, Utc};

use super::access::attempts::Attempts;
use super::access::token::Tokens;
use super::live::Live;
use super::problem::Problem;
use super::settings::Settings;
use super::templates::TEMPLATES;
use crate::guard::approval::desk_key::DeskKey;
use crate::machine::environment::Environment;
use opsctl_ledger::{Change, Ledger, Result};
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
    attempts: Mutex<Attempts>,
    /// The latest check of the ledger.
    pub health: Checked,
    /// The version of what is shown.
    pub live: Live,
}

/// Prepares the desk for this address. `tell` states where the token for login is. Errors are those of its settings.
pub fn prepare(
    environment: &Arc<Environment>,
    listen: SocketAddr,
    tell: &dyn Fn(&str),
) -> io::Result<Arc<Desk>> {
    let settings = Settings::from_variables(variable).map_err(io::Error::other)?;
    settings.check(listen).map_err(io::Error::other)?;
    TEMPLATES.as_ref().map_err(io::Error::other)?;
    environment.create_own_state_dir()?;
    let key = DeskKey::open(&environment.state_dir).map_err(io::Error::other)?;
    let tokens = Tokens::of(&settings, &environment.state_dir).map_err(io::Error::other)?;
    if let Some(path) = tokens.login_file() {
        tell(&format!("token for login: {}", path.display()));
    }
    let (attempts, health, live) = (Mutex::default(), Checked::default(), Live::new());
    Ok(Arc::new(Desk { environment: Arc::clone(environment), settings, key, tokens, attempts, health, live }))
}

impl Desk {
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

    /// The ledger, which is created if it does not exist, and the time as of it.
    pub fn ledger(&self) -> Result<(Ledger, DateTime<Utc>)> {
        let ledger = Ledger::open(&self.environment().ledger)?;
        let now = ledger.now(Utc::now())?;
        Ok((ledger, now))
    }

    /// Runs `work`, which blocks, on a thread of its own.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let desk = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&desk)).await.unwrap_or(Err(Problem::INTERNAL))
    }

    /// Makes one change of the ledger, which is created if it does not exist.
    pub async fn write(
        self: &Arc<Self>,
        make: impl FnOnce(&Change<'_>) -> Result<()> + Send + 'static,
    ) -> Result<(), Problem> {
        self.blocking(move |desk| Ok(Ledger::write(&desk.environment().ledger, make)?)).await
    }
}
