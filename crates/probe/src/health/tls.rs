//! TLS connections with the certificates that this machine trusts.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::finding::{Finding, State};

/// Starts TLS on a connection. `insecure` accepts any certificate.
pub async fn over(
    stream: TcpStream,
    host: &str,
    insecure: bool,
    ends: Instant,
) -> Result<TlsStream<TcpStream>, Finding> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| Finding::new(State::TlsName, "its name cannot be in a certificate"))?;
    let config =
        if insecure { any_certificate() } else { trusted_here() }.map_err(|error| failure(&error))?;
    match timeout_at(ends, TlsConnector::from(config).connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(handshake_failure(&error)),
        Err(_) => Err(Finding::new(State::Timeout, "it accepts connections, but does not answer")),
    }
}

/// The configuration with trusted certificates, loaded once.
pub fn trusted_here() -> Result<Arc<ClientConfig>, Error> {
    static TRUSTED: OnceLock<Result<Arc<ClientConfig>, Error>> = OnceLock::new();
    TRUSTED
        .get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Arc::new(config))
        })
        .clone()
}

fn any_certificate() -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The finding for a failed handshake.
fn handshake_failure(error: &io::Error) -> Finding {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        Some(cause) => failure(cause),
        None => Finding::new(State::Closed, "it closed the connection during the TLS handshake"),
    }
}

fn failure(error: &Error) -> Finding {
    use CertificateError as Bad;
    let untrusted = "its certificate is not signed by a trusted authority; set SSL_CERT_FILE to trust further certificates";
    let (state, detail) = match error {
        Error::InvalidCertificate(bad) => match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => (State::TlsExpired, "its certificate has expired"),
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                (State::TlsNotYetValid, "its certificate is not valid yet")
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                (State::TlsName, "its certificate is for other names")
            }
            Bad::Revoked => (State::TlsUntrusted, "its certificate is revoked"),
            _ => (State::TlsUntrusted, untrusted),
        },
        Error::InvalidMessage(_) => (State::TlsFailed, "it does not speak TLS"),
        other => return Finding::new(State::TlsFailed, format!("the TLS handshake failed ({other})")),
    };
    Finding::new(state, detail)
}

/// Accepts any certificate, for endpoints that `hosts.yaml` marks as insecure. The handshake is still verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
