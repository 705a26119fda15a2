//! TLS of a gate, with certificates of its clients.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// Accepts clients that have a certificate of one of the authorities in the file `clients`. All files are PEM.
pub fn acceptor(certificate: &Path, key: &Path, clients: &Path) -> io::Result<TlsAcceptor> {
    let own = certificates(certificate)?;
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| fail(key, "is not a private key in PEM", &error))?;
    let mut roots = RootCertStore::empty();
    for root in certificates(clients)? {
        roots.add(root).map_err(|error| fail(clients, "has a certificate that cannot be used", &error))?;
    }
    let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build();
    let verifier =
        verifier.map_err(|error| fail(clients, "cannot be used for certificates of clients", &error))?;
    let config = ServerConfig::builder().with_client_cert_verifier(verifier).with_single_cert(own, key);
    let mut config = config.map_err(|error| fail(certificate, "does not fit its key", &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|error| fail(path, "is not a certificate in PEM", &error))
}

fn fail(path: &Path, what: &str, error: &dyn std::fmt::Display) -> io::Error {
    let text = format!("{} {what} ({error}); correct the file, or state another one", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
