//! The desk: the page on which people see and answer questions, and what the report shows.
//!
//! A request passes [`protection`], then [`visitor::Visitor`] states who makes it, then a handler of [`pages`] or
//! [`answers`] reads the ledger and renders a template.

mod addresses;
mod answers;
mod attempts;
mod connections;
mod live;
mod logins;
mod logs;
mod pages;
mod problem;
mod programs;
mod protection;
mod settings;
mod templates;
mod token;
mod views;
mod visitor;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use super::{Guard, Stop};
use crate::approval::desk_key::DeskKey;
use crate::held_variables::variable;
use crate::ledger::{Ledger, LedgerError};
use crate::runtime::environment::Environment;
use attempts::Attempts;
use problem::Problem;
use settings::Settings;
use templates::Templates;
use token::Tokens;

/// What all requests share.
#[derive(Debug)]
pub struct Desk {
    guard: Arc<Guard>,
    settings: Settings,
    key: DeskKey,
    tokens: Tokens,
    templates: Templates,
    attempts: Mutex<Attempts>,
    health: programs::Latest,
    live: live::Live,
}

/// Prepares the desk for this address. `tell` states where the token for login is. Errors are those of its settings.
pub fn prepare(guard: &Arc<Guard>, listen: SocketAddr, tell: &dyn Fn(&str)) -> io::Result<Arc<Desk>> {
    let settings = Settings::from_variables(variable).map_err(io::Error::other)?;
    settings.check(listen).map_err(io::Error::other)?;
    let environment = &guard.environment;
    environment.create_own_state_dir()?;
    let key = DeskKey::open(&environment.state_dir).map_err(io::Error::other)?;
    let tokens = Tokens::of(&settings, &environment.state_dir).map_err(io::Error::other)?;
    if let Some(path) = tokens.login_file() {
        tell(&format!("token for login: {}", path.display()));
    }
    Ok(Arc::new(Desk {
        guard: Arc::clone(guard),
        settings,
        key,
        tokens,
        templates: Templates::new().map_err(io::Error::other)?,
        attempts: Mutex::default(),
        health: programs::Latest::default(),
        live: live::Live::new(),
    }))
}

/// Serves connections until the process ends.
pub async fn serve(desk: Arc<Desk>, listener: TcpListener, stop: Stop) -> io::Result<()> {
    let watch = tokio::spawn(live::watch(Arc::clone(&desk), stop.clone()));
    let served = connections::serve(listener, router(desk), stop).await;
    watch.abort();
    served
}

fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/", get(pages::desk))
        .route("/q/{id}", get(pages::question))
        .route("/answer", post(answers::by_visitor))
        .route("/answer/link", post(answers::by_link))
        .route("/login", get(logins::page).post(logins::log_in))
        .route("/logout", post(logins::log_out))
        .route("/events", get(live::events))
        .route("/sessions", get(pages::sessions))
        .route("/sessions/{id}/log", get(pages::log))
        .route("/healthz", get(programs::health))
        .route("/metrics", get(programs::metrics))
        .route("/static/{name}", get(pages::asset))
        .fallback(pages::not_found)
        .method_not_allowed_fallback(pages::wrong_method)
        .layer(DefaultBodyLimit::max(protection::LARGEST_FORM))
        .layer(from_fn_with_state(Arc::clone(&desk), protection::protect))
        .with_state(desk)
}

impl Desk {
    fn environment(&self) -> &Environment {
        &self.guard.environment
    }

    /// The name of the cookie. The prefix makes browsers accept it through HTTPS only, and not from other hosts.
    fn cookie_name(&self) -> &'static str {
        if self.settings.is_https() { "__Host-opsctl_desk" } else { "opsctl_desk" }
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which blocks, on a thread of its own. An error is the page that reports it.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Response> {
        let desk = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&desk)).await;
        done.unwrap_or(Err(Problem::INTERNAL)).map_err(|problem| self.problem(&problem))
    }

    /// Runs `work` with the ledger, which is created if it does not exist.
    async fn with_ledger<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Ledger) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, Response> {
        self.blocking(move |desk| {
            let ledger = Ledger::open(&desk.environment().db_path);
            Ok(ledger.and_then(|mut ledger| work(&mut ledger))?)
        })
        .await
    }

    /// The page that reports a problem.
    fn problem(&self, problem: &Problem) -> Response {
        self.templates.problem(problem)
    }
}
