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
    use super::*;

    #[test]
    fn forwards_only_what_the_client_sends() {
        let route = |request: &str| {
            let (method, path) = request.split_once(' ').unwrap();
            of(&method.parse().unwrap(), path).map(|route| (route.needs_key, route.costs))
        };
        assert_eq!(route("POST /v1/messages"), Some((true, true)));
        assert_eq!(route("POST /v1/messages/count_tokens"), Some((true, false)));
        assert_eq!(route("GET /v1/models"), Some((true, false)));
        assert_eq!(route("HEAD /api/hello"), Some((false, false)));
        for request in [
            "GET /v1/messages",
            "POST /v1/messages/",
            "POST /v1/messages/batches",
            "POST //v1/messages",
            "POST /v1/messages/../files",
            "POST /v1/%6dessages",
            "POST /V1/messages",
            "POST /v1/files",
            "POST /v1/complete",
            "GET /v1/organizations/usage_report/messages",
            "POST /v1/organizations/api_keys",
            "GET /api/oauth/profile",
            "DELETE /v1/messages",
            "CONNECT /",
            "POST /",
        ] {
            assert_eq!(route(request), None, "{request}");
        }
    }
}
