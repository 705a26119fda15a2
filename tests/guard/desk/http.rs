//! A client for HTTP that sends what a test states, and nothing else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of the hidden field of this name in the first form that has it.
    pub fn field(&self, name: &str) -> String {
        let (_, rest) = self.body.split_once(&format!("name=\"{name}\" value=\"")).expect(&self.body);
        rest.split('"').next().unwrap().to_owned()
    }

    /// The cookie that it sets.
    pub fn cookie(&self) -> String {
        self.header("set-cookie").expect(&self.head).split(';').next().unwrap().to_owned()
    }
}

/// Sends a request with these headers. A request with a body is a form.
pub fn send(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: {to}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    if method == "POST" {
        request +=
            &format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", body.len());
    }
    answer_to(to, &format!("{request}\r\n{body}"))
}

/// The answer to a request as it is.
pub fn answer_to(to: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    // A server that refuses a large body closes the connection while it is sent.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Fields as the body of a form.
pub fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
