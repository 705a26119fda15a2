//! Where requests are forwarded to, and through which proxy.

use std::ffi::OsString;
use std::net::IpAddr;

use axum::http::HeaderValue;
use data_encoding::BASE64;
use url::Url;

use super::credential::{CredentialError, Source};

/// The API, if `CLAUDEOPS_API_UPSTREAM` names no other address.
const USUAL: &str = "https://api.anthropic.com";

/// The settings of the listener for the client's requests.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The API.
    pub upstream: Upstream,
    /// Its key.
    pub key: Source,
    /// The proxy through which it is reached; `None`: directly.
    pub proxy: Option<Proxy>,
    /// `CLAUDEOPS_API_HOSTS`: names of the guard in requests, besides its addresses, `localhost` and `guard`.
    pub hosts: Vec<String>,
}

/// The address of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection is encrypted. Only an address of this machine may be reached without.
    pub tls: bool,
    /// The path before that of a request, without a final slash; usually empty.
    pub prefix: String,
    /// The value of `Host`.
    pub authority: HeaderValue,
}

/// An HTTP proxy that opens a connection with `CONNECT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The value of `Proxy-Authorization`, if its URL names a user.
    pub authorization: Option<String>,
}

/// Why the listener cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address of the API is not one.
    #[error(
        "CLAUDEOPS_API_UPSTREAM is `{0}`; write a URL such as `https://api.anthropic.com`, without user, query and fragment"
    )]
    Upstream(String),
    /// The key would be sent without encryption.
    #[error("CLAUDEOPS_API_UPSTREAM is `{0}`: the key is sent over https only, except to this machine")]
    Plain(String),
    /// The address of the proxy is not one.
    #[error("HTTPS_PROXY is not a URL such as `http://proxy:3128`")]
    Proxy,
    /// There is no key.
    #[error(transparent)]
    Credential(#[from] CredentialError),
}

impl Settings {
    /// Reads the variables through `get`.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let set = |name: &str| {
            get(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
        };
        let upstream = Upstream::parse(set("CLAUDEOPS_API_UPSTREAM").as_deref().unwrap_or(USUAL))?;
        let either = |upper: &str, lower: &str| set(upper).or_else(|| set(lower));
        let excepted = either("NO_PROXY", "no_proxy").unwrap_or_default();
        let proxy = either("HTTPS_PROXY", "https_proxy")
            .filter(|_| upstream.tls && !is_excepted(&upstream.host, &excepted));
        let proxy = proxy.map(|url| Proxy::parse(&url).ok_or(SettingsError::Proxy)).transpose()?;
        let key = Source::from_variables(&get)?;
        // A wrong file is reported at the start, not to the first session.
        key.read()?;
        let hosts = set("CLAUDEOPS_API_HOSTS").unwrap_or_default();
        let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty()).map(str::to_owned);
        Ok(Self { upstream, key, proxy, hosts: hosts.collect() })
    }
}

impl Upstream {
    fn parse(text: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::Upstream(text.chars().filter(|c| !c.is_control()).take(200).collect());
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let (true, Some(host), Some(port), "http" | "https") =
            (is_bare, url.host_str(), url.port_or_known_default(), url.scheme())
        else {
            // A password must not be printed.
            return Err(if is_bare { wrong() } else { SettingsError::Upstream("…".to_owned()) });
        };
        let tls = url.scheme() == "https";
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_here = bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        if !tls && !is_here {
            return Err(SettingsError::Plain(text.to_owned()));
        }
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self {
            host: bare.to_owned(),
            port,
            tls,
            prefix: url.path().trim_end_matches('/').to_owned(),
            authority: HeaderValue::from_str(&authority).map_err(|_| wrong())?,
        })
    }
}

impl Proxy {
    fn parse(text: &str) -> Option<Self> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&with_scheme).ok().filter(|url| url.scheme() == "http")?;
        let authorization = (!url.username().is_empty()).then(|| {
            let pair = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or_default()));
            format!("Basic {}", BASE64.encode(pair.as_bytes()))
        });
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { host, port: url.port_or_known_default()?, authorization })
    }
}

/// Text of a URL with its percent escapes decoded.
fn decoded(text: &str) -> String {
    let query = format!("a={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(query.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Whether `NO_PROXY` lists this host, a domain above it, or `*`.
fn is_excepted(host: &str, list: &str) -> bool {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let domain = entry.trim_start_matches("*.").trim_start_matches('.');
        entry == "*" || host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::guard::process::api::rows;

    #[test]
    fn settings_are_those_of_the_variables() {
        for (set, gives) in rows::of::<Vec<(BTreeMap<String, String>, String)>>("settings") {
            let get = |name: &str| set.get(name).map(Into::into);
            let usual = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".into());
            let settings = Settings::from_variables(|name| get(name).or_else(|| usual(name)));
            let settings = format!("{:?}", settings.map_err(|error| error.to_string()));
            assert!(settings.contains(&gives), "{set:?}: {settings}");
        }
    }
}
