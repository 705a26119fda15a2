//! The headers of forwarded requests and responses.

use axum::http::HeaderMap;
use axum::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};

use super::credential::Credential;

/// The client's id of the session.
const SESSION: HeaderName = HeaderName::from_static("x-claude-code-session-id");
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// What the API demands beside a token of a subscription.
const OAUTH_BETA: &str = "oauth-2025-04-20";

/// Headers of one connection (RFC 9110, 7.6.1). `Content-Length` is not one, and is kept with the body as it was sent.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The longest id of a session that is stored.
const LONGEST_SESSION: usize = 64;

/// The headers of a request to the API: those of the client without its credentials, and with the guard's if it is given.
pub fn of_request(client: &HeaderMap, host: &HeaderValue, credential: Option<&Credential>) -> HeaderMap {
    let mut headers = without_hops(client);
    for name in [&API_KEY, &AUTHORIZATION, &COOKIE, &EXPECT, &HOST, &ACCEPT_ENCODING] {
        headers.remove(name);
    }
    headers.insert(HOST, host.clone());
    // The usage is read from the response.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    match credential {
        None => {}
        Some(Credential::Key(key)) => {
            headers.insert(API_KEY, key.clone());
        }
        Some(Credential::Token(token)) => {
            headers.insert(AUTHORIZATION, token.clone());
            let has_beta = headers
                .get_all(BETA)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .any(|value| value.contains(OAUTH_BETA));
            if !has_beta {
                headers.append(BETA, HeaderValue::from_static(OAUTH_BETA));
            }
        }
    }
    headers
}

/// The headers of a response to the client. Cookies are for the guard's connection.
pub fn of_response(upstream: &HeaderMap) -> HeaderMap {
    let mut headers = without_hops(upstream);
    headers.remove(SET_COOKIE);
    headers
}

/// The session that a request belongs to; empty if it names none.
pub fn session(client: &HeaderMap) -> String {
    let named = client.get(SESSION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_id = named.len() <= LONGEST_SESSION
        && named.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if is_id { named.to_owned() } else { String::new() }
}

/// The stated length of a body; `None` if there is none or it is not a number.
pub fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The headers that are not about the connection. `Connection` may name further ones that are.
fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut kept = headers.clone();
    for name in HOP_BY_HOP.iter().chain(&named) {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::guard::process::api::rows;

    type Lines = Vec<(String, String)>;

    fn headers(lines: &Lines) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[derive(serde::Deserialize)]
    struct Row {
        client: Lines,
        key: Option<String>,
        token: Option<String>,
        sent: Lines,
    }

    #[test]
    fn credentials_of_the_client_are_replaced_and_hop_by_hop_headers_dropped() {
        for Row { client, key, token, sent } in rows::of::<Vec<Row>>("headers") {
            let key = key.map(|key| Credential::Key(key.parse().unwrap()));
            let credential = key.or_else(|| token.map(|token| Credential::Token(token.parse().unwrap())));
            let host = HeaderValue::from_static("api.example.org");
            assert_eq!(of_request(&headers(&client), &host, credential.as_ref()), headers(&sent));
        }
    }

    #[test]
    fn a_session_id_is_plain() {
        for (id, is_stored) in rows::of::<BTreeMap<String, bool>>("sessions") {
            let client = headers(&vec![("x-claude-code-session-id".into(), id.clone())]);
            assert_eq!(session(&client), if is_stored { &id } else { "" });
        }
        assert_eq!(session(&HeaderMap::new()), "");
    }
}
