//! The egress proxy of the image: the real tinyproxy with the allow-list of a `hosts.yaml`, on loopback.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const HOSTS: &str = "hosts: {here: {address: 127.0.0.1}}\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// `image/egress` with this `hosts.yaml`.
fn egress(folder: &TempDir, hosts: &str) -> Command {
    fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_opsctl"));
    let search = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.parent().unwrap().display());
    let mut command = Command::new(root().join("image/egress"));
    command
        .env_clear()
        .env("PATH", search)
        .env("TMPDIR", folder.path())
        .env("CLAUDEOPS_HOSTS", folder.path().join("hosts.yaml"));
    command
}

/// A running proxy, killed on drop.
struct Proxy {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Proxy {
    fn start(ports: &str) -> Self {
        let folder = TempDir::new().unwrap();
        // Free until the proxy listens on it.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = egress(&folder, HOSTS);
        command
            .env("CLAUDEOPS_EGRESS_LISTEN", address.to_string())
            .env("CLAUDEOPS_EGRESS_PORTS", ports)
            .env("CLAUDEOPS_EGRESS_HOSTS", "registry.example");
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let proxy = Self { child, address, _folder: folder };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "no proxy; run tests/setup");
            thread::sleep(Duration::from_millis(50));
        }
        proxy
    }

    /// The status of the response to a request line.
    fn status(&self, request: &str) -> u16 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{request} HTTP/1.0\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("{request}: {line:?}"))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server on loopback that sends this text, and returns the first line that it receives.
fn server(text: &'static str) -> (u16, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line).unwrap();
        // The rest of the request, so that the response is not lost when the connection is closed.
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let _ = stream.read(&mut [0; 4096]);
        line
    });
    (port, received)
}

#[test]
fn the_proxy_forwards_requests_to_hosts_of_the_inventory_only() {
    let proxy = Proxy::start("443 22");
    let (port, _) = server("HTTP/1.0 204 No Content\r\n\r\n");
    assert_eq!(proxy.status(&format!("GET http://127.0.0.1:{port}/")), 204);
    let (port, _) = server("HTTP/1.0 204 No Content\r\n\r\n");
    for denied in [
        // The address of an allowed host under another name.
        format!("GET http://localhost:{port}/"),
        // Names that contain an allowed one, or differ in a character that means any character.
        format!("GET http://127.0.0.1.evil.example:{port}/"),
        format!("GET http://x127.0.0.1:{port}/"),
        "CONNECT evil.example:443".to_owned(),
        "CONNECT api.anthropic.com.evil.example:443".to_owned(),
        "CONNECT apixanthropic.com:443".to_owned(),
        "CONNECT registryxexample:443".to_owned(),
    ] {
        assert_eq!(proxy.status(&denied), 403, "{denied}");
    }
}

#[test]
fn tunnels_reach_the_listed_ports_only() {
    let (port, _) = server("");
    let closed = Proxy::start("443 22");
    assert_eq!(closed.status(&format!("CONNECT 127.0.0.1:{port}")), 403);
    let open = Proxy::start(&format!("443 {port}"));
    assert_eq!(open.status(&format!("CONNECT 127.0.0.1:{port}")), 200);
    let (port, _) = server("");
    assert_eq!(open.status(&format!("CONNECT 127.0.0.1:{port}")), 403);
}

/// What ssh reports with the configuration of the image, for a port of this machine.
fn ssh(port: u16, proxy: &str) -> String {
    let stderr = tempfile::NamedTempFile::new().unwrap();
    let mut ssh = Command::new("timeout");
    ssh.args(["10", "ssh", "-F"]).arg(root().join("image/egress-ssh.conf"));
    ssh.args(["-o", "BatchMode=yes", "-p", &port.to_string(), "root@127.0.0.1", "true"]);
    // A file: the proxy command may hold a pipe open after ssh has ended.
    ssh.env("CLAUDEOPS_EGRESS_PROXY", proxy).stdin(Stdio::null()).stderr(stderr.reopen().unwrap());
    ssh.status().unwrap();
    fs::read_to_string(stderr.path()).unwrap()
}

#[test]
fn ssh_goes_through_the_proxy() {
    let (port, received) = server("SSH-2.0-test\r\n");
    let proxy = Proxy::start(&format!("443 {port}"));
    let ran = ssh(port, &proxy.address.to_string());
    let started = Instant::now();
    while !received.is_finished() {
        assert!(started.elapsed() < Duration::from_secs(5), "{}", ran);
        thread::sleep(Duration::from_millis(50));
    }
    let banner = received.join().unwrap();
    assert!(banner.starts_with("SSH-2.0-OpenSSH"), "{banner:?}");

    let (port, received) = server("SSH-2.0-test\r\n");
    let denied = ssh(port, &proxy.address.to_string());
    assert!(denied.contains("403") && !received.is_finished(), "{denied}");
}

#[test]
fn the_allow_list_is_that_of_the_inventory_and_the_listed_hosts() {
    let folder = TempDir::new().unwrap();
    let mut check = egress(&folder, include_str!("../../templates/starter/hosts.yaml"));
    let ran = check.arg("--check").env("CLAUDEOPS_EGRESS_HOSTS", "ghcr.io").output().unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    for name in [r"^api\.anthropic\.com$", r"^192\.168\.1\.10$", r"^jellyfin\.home\.example$", r"^ghcr\.io$"]
    {
        assert!(lines.contains(&name), "{stdout}");
    }
}

#[test]
fn the_proxy_does_not_start_with_an_invalid_list() {
    let folder = TempDir::new().unwrap();
    let ran = egress(&folder, HOSTS).env("CLAUDEOPS_EGRESS_HOSTS", "ghcr.io .*").output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("lists `.*`, which is no host name"), "{stderr}");
    let ran = egress(&folder, "hosts: 3\n").output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn the_agent_has_no_network_but_that_of_the_proxy() {
    let text = include_str!("../../templates/starter/egress.yaml");
    let compose: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    let [agent, proxy] = ["claude-ops", "egress"].map(|service| &compose["services"][service]);
    assert_eq!(agent["networks"], serde_json::json!(["inside"]));
    assert_eq!(compose["networks"]["inside"]["internal"], true);
    assert_eq!(agent["environment"]["HTTPS_PROXY"], "http://egress:8888");
    // The proxy is as hardened as the agent, and gets no keys.
    assert_eq!((&proxy["read_only"], proxy.get("env_file")), (&true.into(), None));
    assert_eq!(proxy["cap_drop"], serde_json::json!(["ALL"]));
    assert_eq!(proxy["security_opt"], serde_json::json!(["no-new-privileges:true"]));
}
