//! An HTTP server on loopback, where apprise's `json://` delivers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::Value;

/// How the target answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It takes what it is sent.
    Takes,
    /// It answers with this HTTP status.
    Refuses(u16),
    /// It reads and says nothing until its manner changes.
    IsSilent,
}

/// A target, until the test ends.
pub struct Target {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    manner: Mutex<Manner>,
    changed: Condvar,
    received: Mutex<Vec<(String, Value)>>,
}

impl Target {
    pub fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Shared { manner: Mutex::new(manner), changed: Condvar::new(), received: Mutex::default() };
        let shared = Arc::new(shared);
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(stream));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        self.url_at("operators")
    }

    pub fn url_at(&self, path: &str) -> String {
        format!("json://{}/{path}", self.address)
    }

    pub fn now(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
        self.shared.changed.notify_all();
    }

    /// Everything that arrived, taken or not.
    pub fn received(&self) -> Vec<Value> {
        self.shared.received.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// The titles that arrived, in the order of arrival.
    pub fn titles(&self) -> Vec<String> {
        self.received().iter().map(|body| body["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The paths that were asked for, sorted.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> =
            self.shared.received.lock().unwrap().iter().map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let Some((path, body)) = read(&stream) else { return };
        self.received.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap_or_default()));
        let mut manner = self.manner.lock().unwrap();
        while *manner == Manner::IsSilent {
            manner = self.changed.wait(manner).unwrap();
        }
        let status = match *manner {
            Manner::Refuses(status) => status,
            _ => 204,
        };
        // The client may have closed the connection.
        let _ =
            write!(stream, "HTTP/1.1 {status} Scripted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

/// The path and the body of a request.
fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.trim_matches('/').to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let header = line.trim_end().to_lowercase();
        if header.is_empty() {
            break;
        }
        length =
            header.strip_prefix("content-length:").map_or(length, |length| length.trim().parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}
