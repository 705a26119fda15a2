//! Which requests are meant for this listener: those that name it, and that no page of a browser sends.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;

use crate::guard::process::connections::Peer;

/// The name of the guard's container in the compose files of opsctl.
const GUARD: &str = "guard";

/// Why a request is refused; `None` if it is not. `hosts` are the names that `CLAUDEOPS_API_HOSTS` lists.
pub fn objection(head: &Parts, peer: &Peer, hosts: &[String]) -> Option<&'static str> {
    if head.headers.contains_key(ORIGIN) {
        return Some("requests of web pages are not forwarded (`Origin`)");
    }
    let mut stated = head.headers.get_all(HOST).iter();
    let named = match (stated.next(), stated.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let authority = head.uri.authority().map(Authority::as_str);
    let is_meant = |host: &str| is_own(host, peer.local, hosts);
    if named.is_some_and(is_meant) && authority.is_none_or(is_meant) {
        None
    } else {
        Some("`Host` names another server; list the names of the guard in CLAUDEOPS_API_HOSTS")
    }
}

fn is_own(authority: &str, local: Option<IpAddr>, hosts: &[String]) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || Some(address.to_canonical()) == local,
        Err(_) => [GUARD, "localhost"]
            .into_iter()
            .chain(hosts.iter().map(String::as_str))
            .any(|own| host.eq_ignore_ascii_case(own)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::is_own;
    use crate::guard::process::api::rows;

    #[test]
    fn the_guard_is_named_by_its_address_or_its_names() {
        for (host, own) in rows::of::<BTreeMap<String, bool>>("hosts") {
            assert_eq!(is_own(&host, "10.0.0.5".parse().ok(), &["ops.lan".to_owned()]), own, "{host}");
        }
    }
}
