//! The requests that are forwarded: those that the client sends to the API, and no others.

use axum::http::Method;

/// A request that is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Whether the key is added.
    pub needs_key: bool,
    /// Whether it costs money, so that the spending limits apply.
    pub costs: bool,
}

/// The route of a request; `None`: it is not forwarded. Paths are compared as they were sent.
pub fn of(method: &Method, path: &str) -> Option<Route> {
    let free = Route { needs_key: true, costs: false };
    match (method.as_str(), path) {
        ("POST", "/v1/messages") => Some(Route { needs_key: true, costs: true }),
        ("POST", "/v1/messages/count_tokens") | ("GET", "/v1/models") => Some(free),
        // The client's check whether the API can be reached.
        ("HEAD" | "GET", "/" | "/api/hello") => Some(Route { needs_key: false, costs: false }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::guard::process::api::rows;

    #[test]
    fn forwards_only_what_the_client_sends() {
        for (request, route) in rows::of::<BTreeMap<String, String>>("routes") {
            let (method, path) = request.split_once(' ').unwrap();
            assert_eq!(format!("{:?}", of(&method.parse().unwrap(), path)), route, "{request}");
        }
    }
}
