//! A minimal HTTP/1.1 server for the scripted model on loopback.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The maximum size of a request body, in bytes.
const MAX_BODY: u64 = 64 * 1024 * 1024;
/// The maximum length of a header line, in bytes.
const MAX_HEAD: u64 = 64 * 1024;
/// The timeout of a connection.
const IDLE: Duration = Duration::from_mins(3);

/// A request.
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A response.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The media type.
    pub content_type: &'static str,
    /// The whole body.
    pub body: String,
}

/// A server on a free loopback port, stopped on drop.
pub struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server that answers requests with `answer`, with one thread per connection.
    pub fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let (answer, stop) = (Arc::new(answer), Arc::clone(&stopping));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let answer = Arc::clone(&answer);
                // The client handles connection errors.
                thread::spawn(move || stream.and_then(|stream| serve(stream, &*answer)));
            }
        });
        Ok(Self { address, stopping })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Wakes the accepting thread; if this fails, it has ended already.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, answer: &dyn Fn(&Request) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader)? {
        let Response { status, content_type, body } = answer(&request);
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        writer.write_all(head.as_bytes())?;
        writer.write_all(body.as_bytes())?;
        writer.flush()?;
    }
    Ok(())
}

/// Reads the next request; `None` if the connection is closed.
fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let (mut length, mut chunked) = (0, false);
    while let Some(header) = line(reader)?.filter(|line| !line.is_empty()) {
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(|_| bad("content-length"))?,
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), body }))
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.take(MAX_HEAD).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end().to_owned()))
}

fn read_exactly(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(bad("content-length"));
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader)?.ok_or(ErrorKind::UnexpectedEof)?;
        let size = size.split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(|_| bad("chunk"))?;
        let left = MAX_BODY.saturating_sub(u64::try_from(body.len()).unwrap_or(MAX_BODY));
        if size > left {
            return Err(bad("chunk"));
        }
        body.extend(read_exactly(reader, size)?);
        line(reader)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a request with a bad {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(request: &str) -> Option<String> {
        read(&mut request.as_bytes()).unwrap().map(|request| String::from_utf8(request.body).unwrap())
    }

    #[test]
    fn reads_bodies_with_content_length_or_chunks() {
        let counted = "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(body(counted).as_deref(), Some("hello"));
        let chunked =
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
        assert_eq!(body(chunked).as_deref(), Some("hello"));
        assert_eq!(body("HEAD / HTTP/1.1\r\n\r\n").as_deref(), Some(""));
        assert_eq!(body(""), None);
    }

    #[test]
    fn rejects_bodies_that_are_too_large() {
        let request = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", u64::MAX);
        assert!(read(&mut request.as_bytes()).is_err());
        let request = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        assert!(read(&mut request.as_bytes()).is_err());
    }
}
