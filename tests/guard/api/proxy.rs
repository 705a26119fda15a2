//! The guard under test, and a client of the tests' own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::upstream::dechunked;

/// The key that only the guard has.
pub const KEY: &str = "sk-ant-of-the-guard-0123456789";

/// A running `opsctl serve --api`.
pub struct Proxy {
    pub folder: TempDir,
    pub port: u16,
    pub child: Child,
    variables: Vec<(String, String)>,
}

impl Proxy {
    /// Forwards to this URL, with this policy.
    pub fn start(upstream: &str, policy: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("hosts.yaml"),
            format!("hosts: {{}}\nservices: {{}}\npolicy: {policy}\n"),
        )
        .unwrap();
        std::fs::write(folder.path().join("key"), KEY).unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        let mut all = vec![
            ("CLAUDEOPS_API_UPSTREAM".to_owned(), upstream.to_owned()),
            ("CLAUDEOPS_API_KEY_FILE".to_owned(), folder.path().join("key").display().to_string()),
        ];
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let (child, port) = spawn(&folder, &all);
        Self { folder, port, child, variables: all }
    }

    /// Kills the guard without a chance to end, and starts it again on the same state.
    pub fn kill_and_start(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.child, self.port) = spawn(&self.folder, &self.variables);
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("state/claudeops.db")
    }

    /// The rows of a query, read by `sqlite3`.
    pub fn rows(&self, query: &str) -> Vec<Value> {
        let mut sqlite3 = Command::new("sqlite3");
        let read = sqlite3
            .args(["-cmd", ".timeout 10000", "-json", "-readonly"])
            .arg(self.ledger())
            .arg(query)
            .output()
            .unwrap();
        assert!(read.status.success(), "{read:?}");
        if read.stdout.is_empty() { vec![] } else { serde_json::from_slice(&read.stdout).unwrap() }
    }

    /// Waits until a query has this many rows, and returns them.
    #[track_caller]
    pub fn wait_for(&self, count: usize, query: &str) -> Vec<Value> {
        for _ in 0..200 {
            let rows = if self.ledger().exists() { self.rows(query) } else { vec![] };
            if rows.len() == count {
                return rows;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not {count} rows of {query}: {:?}", self.rows(query));
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// A message from another address of this machine.
    pub fn message_from(&self, address: &str) -> Response {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let at = |text: &str, port: u16| std::net::SocketAddr::new(text.parse().unwrap(), port);
        socket.bind(&at(address, 0).into()).unwrap();
        socket.connect(&at("127.0.0.1", self.port).into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request("POST /v1/messages?beta=true", &[], "{}").as_bytes()).unwrap();
        Response::read(&mut BufReader::new(stream))
    }

    /// Sends a request and reads the whole response.
    pub fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = self.connect();
        stream.write_all(request(line, headers, body).as_bytes()).unwrap();
        Response::read(&mut BufReader::new(stream))
    }

    /// A message of a session.
    pub fn message(&self, session: &str) -> Response {
        self.ask("POST /v1/messages?beta=true", &[("x-claude-code-session-id", session)], "{}")
    }

    /// The most memory that the guard has had, without its code, which a development build has much of, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let kib = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        kib("VmHWM") - kib("RssFile")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &TempDir, variables: &[(String, String)]) -> (Child, u16) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_opsctl"));
    command.args(["serve", "--api", "127.0.0.1:0"]).current_dir(folder.path()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("CLAUDEOPS_STATE_DIR", folder.path().join("state"));
    command.env("CLAUDEOPS_HOSTS", folder.path().join("hosts.yaml"));
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Some((_, port)) = line.trim_end().rsplit_once(':') else {
        let mut why = String::new();
        child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
        panic!("the guard did not start: {line}{why}");
    };
    (child, port.parse().unwrap())
}

/// A request as text, on a connection that ends with it.
pub fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "{line} HTTP/1.1\r\nhost: guard\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A response as the client receives it.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(reader: &mut impl BufRead) -> Self {
        let (status, headers) = head(reader);
        let header =
            |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let body = if header("transfer-encoding").is_some() {
            dechunked(reader).unwrap_or_default()
        } else {
            let mut body = vec![];
            reader.read_to_end(&mut body).unwrap();
            body
        };
        Self { status, headers, body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Asserts that it is an error in the form of the API, and returns its type and its message.
    #[track_caller]
    pub fn error(&self) -> (String, String) {
        assert!(self.status >= 400, "{self:?}");
        assert!(!self.text().contains("of-the-guard"), "the key is in {self:?}");
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(body["type"], "error", "{body}");
        let text = |key: &str| body["error"][key].as_str().unwrap().to_owned();
        (text("type"), text("message"))
    }
}

/// Reads the status and the headers of a response.
pub fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the connection ended after {lines:?}");
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &String| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_lowercase(), value.trim().to_owned())
    };
    (status, lines[1..].iter().map(header).collect())
}
