//! Servers on loopback, some of them faulty. Each connection is answered in a separate thread.

use crate::support::Lan;
use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Serves `behaviour` on a port of 127.0.0.1, which is returned.
pub fn serve(behaviour: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    serve_at("127.0.0.1:0", behaviour)
}

/// Serves `behaviour` at this address; returns the port.
pub fn serve_at(address: &str, behaviour: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    let behaviour = Arc::new(behaviour);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behaviour = Arc::clone(&behaviour);
            thread::spawn(move || behaviour(stream));
        }
    });
    port
}

/// An HTTP server that answers every request with this text, headers included.
pub fn answering(text: impl Into<String>) -> u16 {
    let text = text.into();
    serve(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(text.as_bytes()); // the other side may have gone
    })
}

/// Reads until the empty line that ends a request's headers; returns its first line.
pub fn read_request(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|length| length == 1) {
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned()
}

pub const HEALTHY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A server that accepts connections and stays silent.
pub fn silent() -> u16 {
    serve(|_stream| thread::sleep(Duration::from_mins(10)))
}

/// Certificates of a homelab: a trusted authority, and the certificates that it has signed.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, as a server presents it.
pub struct Presented {
    chain: Vec<rustls::pki_types::CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    /// A new authority. Its certificate is written to the file `ca.pem` of the test.
    pub fn new(lan: &Lan) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "An authority of the tests");
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        lan.write("ca.pem", &certificate.pem());
        Self { issuer: Issuer::new(params, key) }
    }

    /// A certificate for this name, valid from 1 January of `from` to 31 December of `until`.
    pub fn sign(&self, name: &str, from: i32, until: i32) -> Presented {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Presented {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }
}

/// A self-signed certificate.
pub fn self_signed(name: &str) -> Presented {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    Presented {
        chain: vec![cert.der().clone()],
        key: PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap(),
    }
}

/// An HTTPS server with this certificate.
pub fn https(presented: Presented, text: &'static str) -> u16 {
    https_at("127.0.0.1:0", presented, text)
}

/// An HTTPS server with this certificate at this address.
pub fn https_at(address: &str, presented: Presented, text: &'static str) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(presented.chain, presented.key).unwrap();
    let config = Arc::new(config);
    serve_at(address, move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        read_request(&mut stream);
        let _ = stream.write_all(text.as_bytes()); // a client that refuses the certificate has gone
        stream.conn.send_close_notify();
        let _ = stream.flush();
    })
}
