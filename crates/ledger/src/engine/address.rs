//! Where a ledger is: the path of a file, or the URL of a PostgreSQL server.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;

use opsctl_machine::plain_file;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, NamedGroup, RootCertStore, WantsVerifier};
use tokio_postgres::config::{Host, SslMode};
use url::form_urlencoded;

/// Where a ledger is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A SQLite file, which one machine uses.
    File(PathBuf),
    /// A database of a PostgreSQL server, which several machines share.
    Server(ServerAddress),
}

/// The URL of a server, as an operator states it. It is shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    url: String,
    password_file: Option<PathBuf>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("postgres", ""));
        // A password may contain `@` only in its encoded form.
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let user = user.split(':').next().unwrap_or("");
        // A parameter may be a password, too.
        let place = place.split('?').next().unwrap_or("");
        write!(f, "{scheme}://{user}{}{place}", if user.is_empty() { "" } else { "@" })
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerAddress({self})")
    }
}

/// How to connect to a server.
pub struct Access {
    /// What the client library needs, for each host of the URL.
    pub hosts: Vec<tokio_postgres::Config>,
    /// For connections with TLS.
    pub tls: ClientConfig,
}

impl ServerAddress {
    /// The server of this URL. `password_file` contains the password, if the URL does not.
    pub const fn new(url: String, password_file: Option<PathBuf>) -> Self {
        Self { url, password_file }
    }

    /// Whether the server is given a password.
    pub fn has_password(&self) -> bool {
        self.password_file.is_some()
            || self
                .access("")
                .is_ok_and(|access| access.hosts.iter().any(|host| host.get_password().is_some()))
    }

    /// The files with secrets: the password, and the key of a client certificate.
    pub fn secret_files(&self) -> Vec<PathBuf> {
        let (_, tls, _) = self.parts();
        // Without a file of its own, the key is with the certificate.
        let key = tls.get("sslkey").or_else(|| tls.get("sslcert"));
        self.password_file.iter().cloned().chain(key.map(PathBuf::from)).collect()
    }

    /// The URL without parameters, the parameters of TLS, which the client library does not know, and the others as they are
    /// written.
    fn parts(&self) -> (&str, TlsParameters, String) {
        let (place, query) = self.url.split_once('?').unwrap_or((&self.url, ""));
        // A `+` is no space in these URLs, unlike in forms.
        let query = query.replace('+', "%2B");
        let (mut tls, mut others) = (TlsParameters::new(), vec![]);
        for pair in query.split('&') {
            match form_urlencoded::parse(pair.as_bytes()).next() {
                Some((name, value)) if TLS.contains(&&*name) => drop(tls.insert(name.into(), value.into())),
                _ => others.push(pair),
            }
        }
        (place, tls, others.join("&"))
    }

    /// Reads the URL and its files. The server sees the name of the agent. An error names what is wrong, and no secret.
    pub fn access(&self, agent: &str) -> Result<Access, String> {
        let (place, parameters, others) = self.parts();
        let hosts: Result<Vec<_>, _> =
            of_each_host(place, &others).iter().map(|url| tokio_postgres::Config::from_str(url)).collect();
        let mut hosts = hosts.map_err(|error| format!("its URL is not valid: {}", whole_text(&error)))?;
        // Any mode but `disable` checks the certificate.
        let is_off = match parameters.get("sslmode").map(String::as_str) {
            Some("disable") => true,
            None | Some("allow" | "prefer" | "require" | "verify-ca" | "verify-full") => false,
            Some(other) => return Err(format!("its sslmode is `{other}`; use disable or verify-full")),
        };
        let is_unix = |host: &Host| matches!(host, Host::Unix(_));
        let is_local = hosts.iter().all(|config| config.get_hosts().iter().all(is_unix));
        for config in &mut hosts {
            config.ssl_mode(if is_off || is_local { SslMode::Disable } else { SslMode::Require });
            config.application_name(format!("opsctl {agent}"));
            if config.get_password().is_none()
                && let Some(file) = &self.password_file
            {
                let password = plain_file::text(file).map_err(|error| {
                    format!("the password file {} cannot be read: {error}", file.display())
                })?;
                let password = password.trim_end_matches(['\r', '\n']);
                // A command of the agent may contain it, and the audit has commands.
                opsctl_redact::learn(password);
                config.password(password);
            }
        }
        let tls = if is_off || is_local { without_roots()? } else { config(&parameters)? };
        Ok(Access { hosts, tls })
    }
}

/// A URL for each host of a URL. Hosts whose addresses are listed apart stay together.
fn of_each_host(place: &str, parameters: &str) -> Vec<String> {
    let whole = vec![format!("{place}?{parameters}")];
    let Some((scheme, rest)) = place.split_once("://") else { return whole };
    let user_ends = rest.rfind('@').map_or(0, |at| at + 1);
    let (user, rest) = rest.split_at(user_ends);
    let (hosts, database) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if hosts.is_empty() || parameters.contains("host=") || parameters.contains("hostaddr=") {
        return whole;
    }
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{database}?{parameters}")).collect()
}

/// The parameters of TLS.
const TLS: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

/// The values of [`TLS`] that a URL states.
type TlsParameters = HashMap<String, String>;

fn config(parameters: &TlsParameters) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match parameters.get("sslrootcert").filter(|roots| *roots != "system") {
        Some(file) => {
            for certificate in certificates(file)? {
                roots
                    .add(certificate)
                    .map_err(|error| format!("{file} has an invalid certificate: {error}"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = builder()?.with_root_certificates(roots);
    let Some(certificate) = parameters.get("sslcert") else { return Ok(builder.with_no_client_auth()) };
    let key = parameters.get("sslkey").unwrap_or(certificate);
    let own =
        PrivateKeyDer::from_pem_file(key).map_err(|error| format!("{key} is not a private key: {error}"))?;
    builder
        .with_client_auth_cert(certificates(certificate)?, own)
        .map_err(|error| format!("{certificate} and {key} cannot be used: {error}"))
}

fn without_roots() -> Result<ClientConfig, String> {
    Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Offers first the curve that servers before PostgreSQL 18 accept as they are installed: another offer would cost a way there
/// and back.
fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::secp256r1);
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let found = found.map_err(|error| format!("{file} cannot be read: {error}"))?;
    if found.is_empty() { Err(format!("{file} contains no certificate")) } else { Ok(found) }
}

/// An error with its causes.
pub fn whole_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let why = next.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_states_how_to_connect_and_is_shown_without_secrets() {
        #[derive(serde::Deserialize)]
        struct Case {
            url: String,
            password_file: Option<PathBuf>,
            shown: String,
            tls: Option<bool>,
            error: Option<String>,
        }
        let cases: Vec<Case> = serde_saphyr::from_str(include_str!("address.yaml")).unwrap();
        for Case { url, password_file, shown, tls, error } in cases {
            let address = ServerAddress::new(url, password_file);
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("s3cret"));
            let access = address.access("nas");
            let mode = access.as_ref().ok().map(|access| access.hosts[0].get_ssl_mode());
            assert_eq!(mode, tls.map(|on| if on { SslMode::Require } else { SslMode::Disable }), "{shown}");
            let found = access.err().unwrap_or_default();
            assert!(found.contains(&error.unwrap_or_default()) && !found.contains("s3cret"), "{found}");
        }
    }

    #[test]
    fn several_hosts_and_other_parameters_reach_the_client() {
        let parameters = "target_session_attrs=read-write&sslmode=disable&options=-c%20search_path%3Dops+1";
        let address = ServerAddress::new(format!("postgres://u:p@a:1,b:2/d?{parameters}"), None);
        let access = address.access("nas").unwrap();
        let hosts = access.hosts.iter().map(|host| (host.get_hosts().to_vec(), host.get_ports().to_vec()));
        let tcp = |name: &str| vec![Host::Tcp(name.to_owned())];
        assert_eq!(hosts.collect::<Vec<_>>(), [(tcp("a"), vec![1]), (tcp("b"), vec![2])]);
        for host in access.hosts {
            assert_eq!(host.get_options(), Some("-c search_path=ops+1"));
            assert_eq!(host.get_password(), Some("p".as_bytes()));
            assert_eq!(host.get_application_name(), Some("opsctl nas"));
        }
    }
}
