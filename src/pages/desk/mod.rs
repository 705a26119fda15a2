//! The desk: the page on which people see and answer questions, and what the report shows.
//!
//! A request passes [`protection`], then [`identity`] states who makes it, then a handler of [`pages`] or
//! [`answers`] reads the ledger and renders a template.

use crate::pages::desk::access::{logins, protection};
pub mod access;
mod answers;
mod details;
mod events;
mod lists;
mod live;
mod logs;
mod pages;
mod problem;
mod programs;
mod scope;
mod settings;
mod state;
mod templates;
mod views;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use crate::guard::process::connections::{self, Limits, Stop};
use problem::Problem;
use state::Desk;
pub use state::prepare;

/// What a browser needs.
const LIMITS: Limits = Limits {
    head: Duration::from_secs(15),
    life: Some(Duration::from_mins(2)),
    to_end: Duration::from_secs(2),
    buffer: 32 * 1024,
};

/// Serves connections until the process ends.
pub async fn serve(desk: Arc<Desk>, listener: TcpListener, stop: Stop) -> io::Result<()> {
    let watch = tokio::spawn(events::watch(Arc::clone(&desk), stop.clone()));
    let served = connections::serve(listener, router(desk), LIMITS, stop).await;
    watch.abort();
    served
}

fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/", get(pages::desk))
        .route("/q/{id}", get(pages::question))
        .route("/questions", get(lists::questions))
        .route("/denials", get(lists::denials))
        .route("/answer", post(answers::by_visitor))
        .route("/answer/link", post(answers::by_link))
        .route("/login", get(logins::page).post(logins::log_in))
        .route("/logout", post(logins::log_out))
        .route("/events", get(events::stream))
        .route("/sessions", get(lists::sessions))
        .route("/sessions/{id}/log", get(lists::log))
        .route("/healthz", get(programs::health))
        .route("/metrics", get(programs::metrics))
        .route("/static/{name}", get(pages::asset))
        .fallback(async || Problem::NOT_FOUND)
        .method_not_allowed_fallback(async || Problem::METHOD)
        .layer(DefaultBodyLimit::max(protection::LARGEST_FORM))
        .layer(from_fn_with_state(Arc::clone(&desk), protection::protect))
        .with_state(desk)
}
