//! The kubeconfig of the guard: the address of the API server, and the credentials for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::HeaderValue;
use data_encoding::BASE64;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::gates::proxy::upstream::{Io, Upstream};
use opsctl_machine::plain_file;

/// Why a kubeconfig cannot be used. The text names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("the kubeconfig {} cannot be used: {why}", file.display())]
pub struct ConfigError {
    file: PathBuf,
    why: String,
}

/// A cluster and the credentials for it.
pub struct Kubeconfig {
    /// The API server.
    pub upstream: Arc<Upstream>,
    /// The token for it, if it takes one.
    pub token: Option<Token>,
}

/// A token.
#[derive(Debug)]
pub enum Token {
    /// This one.
    Fixed(String),
    /// The one in a file, which may change.
    File(PathBuf),
}

impl Token {
    /// The header with the token; an error if it cannot be read.
    pub fn header(&self) -> Result<HeaderValue, String> {
        let token = match self {
            Self::Fixed(token) => token.clone(),
            Self::File(path) => plain_file::text(path)
                .map_err(|error| format!("the token in {} cannot be read ({error})", path.display()))?,
        };
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.trim()))
            .map_err(|_| "the token for the API server has characters that no token has".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    contexts: Vec<Entry>,
    #[serde(default)]
    clusters: Vec<Entry>,
    #[serde(default)]
    users: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    context: Option<Context>,
    cluster: Option<Cluster>,
    user: Option<User>,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    #[serde(default)]
    user: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
    tls_server_name: Option<String>,
    proxy_url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    username: Option<String>,
    exec: Option<serde_json::Value>,
    auth_provider: Option<serde_json::Value>,
}

impl Kubeconfig {
    /// Reads the current context of a kubeconfig, or the one with this name.
    pub fn load(file: &Path, context: Option<&str>) -> Result<Self, ConfigError> {
        let fail = |why: String| ConfigError { file: file.to_owned(), why };
        let text = plain_file::text(file).map_err(|error| fail(error.to_string()))?;
        let options = serde_saphyr::options! { with_snippet: false };
        let parsed: File = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|error| fail(format!("it is no kubeconfig ({error})")))?;
        Self::of(parsed, context, file.parent().unwrap_or(Path::new("."))).map_err(fail)
    }

    fn of(file: File, context: Option<&str>, folder: &Path) -> Result<Self, String> {
        let context = context.unwrap_or(&file.current_context);
        let named = |entries: Vec<Entry>, name: &str| entries.into_iter().find(|entry| entry.name == name);
        let chosen = named(file.contexts, context).and_then(|entry| entry.context);
        let chosen =
            chosen.ok_or_else(|| format!("it has no context `{context}`; name one with --context"))?;
        let cluster = named(file.clusters, &chosen.cluster).and_then(|entry| entry.cluster);
        let cluster = cluster.ok_or_else(|| format!("it has no cluster `{}`", chosen.cluster))?;
        let user = named(file.users, &chosen.user).and_then(|entry| entry.user).unwrap_or_default();
        if user.exec.is_some() || user.auth_provider.is_some() || user.username.is_some() {
            return Err(format!(
                "the user `{}` has credentials of an exec plugin, a provider or a password; create a ServiceAccount and use its token, or a client certificate",
                chosen.user
            ));
        }
        let token = match (&user.token, &user.token_file) {
            (_, Some(path)) => Some(Token::File(folder.join(path))),
            (Some(token), None) => Some(Token::Fixed(token.clone())),
            (None, None) => None,
        };
        Ok(Self { upstream: upstream(&cluster, &user, folder)?, token })
    }
}

/// The server of a cluster. Connections use TLS, with its authority and the certificate of the user.
fn upstream(cluster: &Cluster, user: &User, folder: &Path) -> Result<Arc<Upstream>, String> {
    let address = Url::parse(&cluster.server).map_err(|error| format!("`server` is no address ({error})"))?;
    if address.scheme() != "https" || address.path() != "/" || cluster.proxy_url.is_some() {
        return Err("`server` is not `https://HOST:PORT`, or there is a `proxy-url`: the gate connects directly, with TLS".to_owned());
    }
    if cluster.insecure_skip_tls_verify {
        return Err("`insecure-skip-tls-verify` is set; state the `certificate-authority` instead".to_owned());
    }
    let (host, port) =
        address.host_str().zip(address.port_or_known_default()).ok_or("`server` has no host")?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = cluster.tls_server_name.clone().unwrap_or_else(|| host.clone());
    let name = ServerName::try_from(name).map_err(|error| format!("the name of the server: {error}"))?;
    let authority =
        pem(cluster.certificate_authority_data.as_ref(), cluster.certificate_authority.as_ref(), folder)?
            .ok_or("there is no `certificate-authority`; state the authority of the API server")?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&authority) {
        let certificate = certificate.map_err(|error| format!("`certificate-authority`: {error}"))?;
        roots.add(certificate).map_err(|error| format!("`certificate-authority`: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let certificate = pem(user.client_certificate_data.as_ref(), user.client_certificate.as_ref(), folder)?;
    let key = pem(user.client_key_data.as_ref(), user.client_key.as_ref(), folder)?;
    let config = match certificate.zip(key) {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<Vec<_>, _>>();
            let chain = chain.map_err(|error| format!("`client-certificate`: {error}"))?;
            let key =
                PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("`client-key`: {error}"))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("`client-certificate`: {error}"))?
        }
    };
    let connector = TlsConnector::from(Arc::new(config));
    let authority = HeaderValue::try_from(address.authority()).map_err(|error| error.to_string())?;
    Ok(Upstream::new(authority, move || {
        let (connector, name, host) = (connector.clone(), name.clone(), host.clone());
        async move {
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            let stream = connector.connect(name, stream).await?;
            io::Result::Ok(Box::new(stream) as Box<dyn Io>)
        }
    }))
}

/// Data in PEM: in the kubeconfig in base64, or in a file beside it.
fn pem(data: Option<&String>, file: Option<&PathBuf>, folder: &Path) -> Result<Option<Vec<u8>>, String> {
    match (data, file) {
        (Some(data), _) => {
            let decoded = BASE64.decode(data.trim().as_bytes());
            decoded.map(Some).map_err(|error| format!("a value in base64 cannot be read ({error})"))
        }
        (None, Some(file)) => {
            let path = folder.join(file);
            plain_file::bytes(&path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
        }
        (None, None) => Ok(None),
    }
}
