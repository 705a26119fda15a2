//! An API of the tests' own, which reads requests and writes responses byte by byte.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as the API receives it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The method, the path and the version.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is sent twice: {self:?}");
        first
    }
}

/// Answers a request on its connection. `false`: the connection is closed.
pub type Answer = dyn Fn(&Seen, &mut dyn Write) -> bool + Send + Sync;

/// The API, which serves until the test program ends.
pub struct Upstream {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    pub fn start(answer: impl Fn(&Seen, &mut dyn Write) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let (kept, answer): (_, Arc<Answer>) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || serve(&stream, &kept, &*answer));
            }
        });
        Self { port, seen, connections }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, kept: &Mutex<Vec<Seen>>, answer: &Answer) {
    let mut reader = BufReader::new(stream);
    stream.set_nodelay(true).unwrap();
    while let Some(seen) = read(&mut reader) {
        kept.lock().unwrap().push(seen.clone());
        if !answer(&seen, &mut &*stream) {
            return;
        }
    }
}

/// Reads a request with its body; `None` at the end of the connection.
pub fn read(reader: &mut impl BufRead) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 0 {
        let text = line.trim_end();
        match (seen.line.is_empty(), text.split_once(": ")) {
            _ if text.is_empty() => break,
            (true, _) => text.clone_into(&mut seen.line),
            (false, Some((name, value))) => seen.headers.push((name.to_lowercase(), value.to_owned())),
            (false, None) => panic!("a header without a value: {text}"),
        }
        line.clear();
    }
    if seen.line.is_empty() {
        return None;
    }
    if let Some(length) = seen.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        seen.body = body;
    } else if seen.header("transfer-encoding").is_some() {
        seen.body = dechunked(reader)?;
    }
    Some(seen)
}

/// Reads a body in chunks to its end.
pub fn dechunked(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        if reader.read_line(&mut size).ok()? == 0 {
            return None;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// A whole response with this status line and body.
pub fn whole(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The head of a streamed response.
pub const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// A chunk of a streamed response.
pub fn chunk(data: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// The event with which a message of this model begins.
pub fn message_start(model: &str, input: u64) -> String {
    format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"model\":\"{model}\",\"usage\":\
         {{\"input_tokens\":{input},\"output_tokens\":1}}}}}}\n\n"
    )
}

/// The events with which a message ends.
pub fn message_end(output: u64) -> String {
    format!(
        "event: message_delta\ndata: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":{output}}}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

/// Answers every message with a stream of this model and these tokens.
pub fn message(model: &str, input: u64, output: u64) -> impl Fn(&Seen, &mut dyn Write) -> bool + use<> {
    let body = [message_start(model, input), message_end(output)].concat();
    move |_, stream| {
        let written = [STREAM, &chunk(body.as_bytes()), b"0\r\n\r\n"].concat();
        stream.write_all(&written).is_ok()
    }
}
