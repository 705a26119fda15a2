//! The shape of health checks.

use crate::spanned::Spanned;
use serde::Deserialize;

use super::values::{HealthUrl, Text};
use opsctl_policy::model::installation::checks::Place;
use opsctl_policy::model::rights::policy::Window;

/// An HTTP health check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthWire {
    /// Endpoint. Default: `https://SERVICE.DOMAIN/health`.
    pub url: Option<Text<HealthUrl>>,
    /// Status codes that mean healthy. Default: `[200]`.
    pub status: Option<Vec<Spanned<u16>>>,
    /// Timeout of one check, at most `5m`. Default: `10s`.
    pub timeout: Option<Spanned<Window>>,
    /// Whether redirects are followed, except those whose status code is listed in `status`. Default: `true`.
    pub follow: Option<bool>,
    /// Whether any TLS certificate is accepted. Default: `false`.
    pub insecure: Option<bool>,
}

/// A DNS check.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsWire {
    /// Name that must resolve; `dns: NAME` sets only this key. Default: SERVICE.DOMAIN.
    pub name: Option<Spanned<String>>,
    /// IP address that must be among the resolved addresses.
    pub address: Option<Spanned<String>>,
    /// DNS server to query, an IP address or one of `hosts`. Default: the resolver of the system.
    pub server: Option<Spanned<String>>,
}

/// A command that checks the service. It runs at every tier and may be repeated, so it must not change anything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandCheckWire {
    /// Program and arguments. No shell reads them; write `[sh, -c, …]` for one.
    pub command: Spanned<Vec<Spanned<String>>>,
    /// Exit code that means healthy, 0 to 254. Default: 0.
    pub expect: Option<Spanned<u8>>,
    /// Machine that runs it: the service's host through its `ssh`, or this machine if it has none (`host`), or always this machine (`local`). Default: `host`.
    #[serde(rename = "where")]
    pub place: Option<Place>,
    /// Timeout of one run, at most `5m`. Default: `10s`.
    pub timeout: Option<Spanned<Window>>,
}
