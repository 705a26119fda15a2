//! Who makes a request, and whether it comes from a page of the desk.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::Utc;

use super::visitor::Visitor;
use crate::guard::process::connections::Peer;
use crate::machine::environment::plain_word;
use crate::pages::desk::problem::Problem;
use crate::pages::desk::state::Desk;
use opsctl_ledger::records::desk::Login;

/// The longest name of a user, in characters.
const NAME: usize = 64;

impl FromRequestParts<Arc<Desk>> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Response> {
        match of_request(parts, desk).await {
            Ok(Some(visitor)) => Ok(visitor),
            Ok(None) if parts.method == Method::GET && wants_page(&parts.headers) => {
                Err(Redirect::to("/login").into_response())
            }
            Ok(None) => Err(Problem::NOT_LOGGED_IN.into_response()),
            Err(problem) => Err(problem.into_response()),
        }
    }
}

impl OptionalFromRequestParts<Arc<Desk>> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Option<Self>, Problem> {
        of_request(parts, desk).await
    }
}

async fn of_request(parts: &Parts, desk: &Arc<Desk>) -> Result<Option<Visitor>, Problem> {
    if let Some(visitor) = of_proxy(parts, desk) {
        return Ok(Some(visitor));
    }
    let cookie = if desk.settings.has_token() { cookie(&parts.headers, desk.cookie_name()) } else { None };
    let Some(digest) = cookie.and_then(|cookie| desk.tokens.digest(cookie)) else { return Ok(None) };
    let found = desk.blocking(move |desk| Ok(desk.ledger()?.0.login(&digest, Utc::now())?)).await?;
    Ok(found.map(|Login { digest, who, .. }| Visitor { who, login: Some(digest) }))
}

/// The user whom a reverse proxy names.
fn of_proxy(parts: &Parts, desk: &Desk) -> Option<Visitor> {
    let header = desk.settings.user_header.as_deref()?;
    let peer = parts.extensions.get::<Peer>()?;
    if !desk.settings.proxies.contain(peer.address) {
        return None;
    }
    let mut values = parts.headers.get_all(header).iter();
    // Two values would let a client choose the one that the proxy did not set.
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let who = plain_word(value.to_str().ok()?.trim())?;
    Some(Visitor { who: who.chars().take(NAME).collect(), login: None })
}

/// The address from which a person reaches the desk: of the last one that a listed proxy names, else of the connection.
pub fn client_address(desk: &Desk, peer: &Peer, headers: &HeaderMap) -> IpAddr {
    if !desk.settings.proxies.contain(peer.address) {
        return peer.address;
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    last.unwrap_or(peer.address)
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(of, _)| *of == name).map(|(_, value)| value)
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("text/html");
    accept.contains("text/html")
}

/// Whether a request may come from a page of another site.
pub fn is_cross_site(desk: &Desk, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    let site = text(header::HeaderName::from_static("sec-fetch-site"));
    site.is_some_and(|site| site != "same-origin")
        || text(header::ORIGIN).is_some_and(|origin| !desk.settings.is_own_origin(origin, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_cookie_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=1; xopsctl=2;opsctl=3".parse().unwrap());
        headers.append(header::COOKIE, "b=4".parse().unwrap());
        assert_eq!(cookie(&headers, "opsctl"), Some("3"));
        assert_eq!(cookie(&headers, "b"), Some("4"));
        assert_eq!(cookie(&headers, "c"), None);
    }
}
