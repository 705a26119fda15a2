//! The settings of the desk, from environment variables.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::access::addresses::{AddressError, Addresses};

/// The settings of the desk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `CLAUDEOPS_DESK_TOKEN_FILE`: the file with the token for login; without it, one is created in the state folder.
    pub token_file: Option<PathBuf>,
    /// `CLAUDEOPS_DESK_USER_HEADER`: the header in which a reverse proxy names its user, in lower case.
    pub user_header: Option<String>,
    /// `CLAUDEOPS_DESK_PROXY`: the addresses of reverse proxies.
    pub proxies: Addresses,
    /// `CLAUDEOPS_DESK_URL`: the address at which browsers reach the desk.
    pub url: Option<DeskUrl>,
    /// `CLAUDEOPS_METRICS_TOKEN_FILE`: the file with the bearer token for `/metrics` and `/healthz`.
    pub metrics_token_file: Option<PathBuf>,
}

/// The address at which browsers reach the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskUrl {
    /// Scheme, host and port, as in an `Origin` header.
    pub origin: String,
    /// The host without the port, in lower case.
    pub host: String,
    /// Whether browsers use HTTPS.
    pub is_https: bool,
}

/// Why the desk does not start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Every machine of the network could try tokens and read them on their way.
    #[error(
        "--listen {0} is not a loopback address, so other machines can reach the desk; choose its token with CLAUDEOPS_DESK_TOKEN_FILE, or name the header of a reverse proxy with CLAUDEOPS_DESK_USER_HEADER"
    )]
    NoLogin(SocketAddr),
    /// Any process that reaches the desk could name a user.
    #[error(
        "CLAUDEOPS_DESK_USER_HEADER is set without CLAUDEOPS_DESK_PROXY; name the addresses from which the reverse proxy connects"
    )]
    NoProxy,
    /// The name of the header is not valid.
    #[error("CLAUDEOPS_DESK_USER_HEADER is `{0}`, not the name of a header such as Remote-User")]
    Header(String),
    /// An address is not valid.
    #[error("CLAUDEOPS_DESK_PROXY: {0}")]
    Proxy(AddressError),
    /// The URL is not valid.
    #[error("CLAUDEOPS_DESK_URL is `{0}`, not an address such as https://desk.example.org without a path")]
    Url(String),
}

impl Settings {
    /// Reads the variables through `get`. An empty variable counts as unset.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().trim().to_owned());
        let proxies = text("CLAUDEOPS_DESK_PROXY").map(|list| list.parse().map_err(SettingsError::Proxy));
        let settings = Self {
            token_file: set("CLAUDEOPS_DESK_TOKEN_FILE").map(PathBuf::from),
            user_header: text("CLAUDEOPS_DESK_USER_HEADER").map(header).transpose()?,
            proxies: proxies.transpose()?.unwrap_or_default(),
            url: text("CLAUDEOPS_DESK_URL").map(|url| DeskUrl::read(&url)).transpose()?,
            metrics_token_file: set("CLAUDEOPS_METRICS_TOKEN_FILE").map(PathBuf::from),
        };
        if settings.user_header.is_some() && settings.proxies.is_empty() {
            return Err(SettingsError::NoProxy);
        }
        Ok(settings)
    }

    /// Checks whether the desk may listen at this address.
    pub fn check(&self, listen: SocketAddr) -> Result<(), SettingsError> {
        let has_login = self.token_file.is_some() || self.user_header.is_some();
        if has_login || listen.ip().is_loopback() { Ok(()) } else { Err(SettingsError::NoLogin(listen)) }
    }

    /// Whether people log in with a token: always, unless only a reverse proxy logs them in.
    pub const fn has_token(&self) -> bool {
        self.token_file.is_some() || self.user_header.is_none()
    }

    /// Whether a request may name this host: an IP address, `localhost`, or the host of `CLAUDEOPS_DESK_URL`. Any other
    /// name may be one that another site lets point here.
    pub fn accepts_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || self.url.as_ref().is_some_and(|url| url.host == name)
    }

    /// Whether a page of this origin is the desk itself, when the request names this host.
    pub fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        self.url.as_ref().is_some_and(|url| url.origin.eq_ignore_ascii_case(origin))
            || origin.strip_prefix("http://").is_some_and(|of| of.eq_ignore_ascii_case(host))
    }

    /// Whether browsers reach the desk through HTTPS.
    pub fn is_https(&self) -> bool {
        self.url.as_ref().is_some_and(|url| url.is_https)
    }
}

impl DeskUrl {
    fn read(text: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::Url(text.to_owned());
        let url = url::Url::parse(text).map_err(|_| wrong())?;
        let is_whole = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || !is_whole || has_user {
            return Err(wrong());
        }
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            host: url.host_str().ok_or_else(wrong)?.to_ascii_lowercase(),
            is_https: url.scheme() == "https",
        })
    }
}

fn header(name: String) -> Result<String, SettingsError> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let taken = ["cookie", "host", "origin", "authorization"];
    let lower = name.to_ascii_lowercase();
    if is_name && !taken.contains(&lower.as_str()) { Ok(lower) } else { Err(SettingsError::Header(name)) }
}

/// The host of a `Host` header.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A bare IPv6 address contains colons, and no port.
            if name.contains(':') && !name.starts_with('[') { host } else { name }
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "DESK_USER_HEADER=Remote-User";
    const PROXY: &str = "DESK_PROXY=10.0.0.0/8, ::1";
    const TOKEN: &str = "DESK_TOKEN_FILE=/t";
    const URL: &str = "DESK_URL=https://Desk.example.org";

    /// Reads variables, whose names are without their prefix.
    fn read(variables: &[&str]) -> Result<Settings, SettingsError> {
        Settings::from_variables(|name| {
            let pairs = variables.iter().filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|(known, _)| name == format!("CLAUDEOPS_{known}"));
            values.next().map(|(_, value)| value.into())
        })
    }

    #[test]
    fn refuses_variables_that_are_not_valid() {
        let refused = |variable: &str| read(&[variable, PROXY]).unwrap_err();
        for name in ["Remote User", "Cookie", "x:y"] {
            assert_eq!(refused(&format!("DESK_USER_HEADER={name}")), SettingsError::Header(name.into()));
        }
        for url in ["desk.example.org", "ftp://x", "https://x/desk", "https://x/?a", "https://a:b@x"] {
            assert_eq!(refused(&format!("DESK_URL={url}")), SettingsError::Url(url.into()));
        }
        assert!(matches!(refused("DESK_PROXY=proxy"), SettingsError::Proxy(_)));
        assert_eq!(read(&[HEADER]), Err(SettingsError::NoProxy));
        let is_https = |url: &str| read(&[url]).unwrap().is_https();
        assert!(is_https("DESK_URL=https://x/") && !is_https("DESK_URL=http://x:8080"));
    }

    #[test]
    fn people_log_in_with_a_token_unless_only_a_proxy_logs_them_in() {
        assert_eq!(read(&[HEADER, PROXY]).unwrap().user_header.as_deref(), Some("remote-user"));
        for (variables, has_token, listens_anywhere) in [
            (&[][..], true, false),
            (&[TOKEN], true, true),
            (&[HEADER, PROXY], false, true),
            (&[HEADER, PROXY, TOKEN], true, true),
        ] {
            let settings = read(variables).unwrap();
            assert_eq!(settings.has_token(), has_token, "{variables:?}");
            for listen in ["127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080", "192.168.1.2:80", "[::]:80"] {
                let listen: SocketAddr = listen.parse().unwrap();
                let is_allowed = listens_anywhere || listen.ip().is_loopback();
                let expected = if is_allowed { Ok(()) } else { Err(SettingsError::NoLogin(listen)) };
                assert_eq!(settings.check(listen), expected, "{variables:?}");
            }
        }
    }

    #[test]
    fn only_addresses_localhost_and_the_own_name_are_accepted_as_host() {
        let accepted = |host: &&str| read(&[URL]).unwrap().accepts_host(host);
        let own = "127.0.0.1 127.0.0.1:8080 [::1]:8080 [::1] ::1 localhost:8080 desk.example.org DESK.example.org:443";
        assert_eq!(own.split(' ').find(|host| !accepted(host)), None);
        let others = " evil.example desk.example.org.evil.example 127.0.0.1.evil.example:80 localhost.evil";
        assert_eq!(others.split(' ').find(accepted), None);
    }

    #[test]
    fn only_pages_of_the_desk_have_its_origin() {
        let is_own = |origin: &&str| read(&[URL]).unwrap().is_own_origin(origin, "127.0.0.1:8080");
        assert!(is_own(&"https://desk.example.org") && is_own(&"http://127.0.0.1:8080"));
        let others = "null https://evil.example http://127.0.0.1:9090 https://127.0.0.1:8080 ";
        assert_eq!(others.split(' ').find(is_own), None);
    }
}
