//! An engine that records what it receives, and a gate before it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, through};

/// The ID of the container `name` of the fake engine.
pub fn id_of(name: &str) -> String {
    let sum = name.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    // So that beginnings differ.
    format!("{:016x}", sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)).repeat(4)
}

/// The name of a container that is to replace this one of the fake engine.
pub fn twin_of(name: &str) -> String {
    format!("{}_{name}", &id_of(name)[..12])
}

/// A request that the engine has received.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An engine that knows these containers.
#[derive(Clone)]
pub struct FakeEngine {
    pub received: Arc<Mutex<Vec<Received>>>,
    /// The names of the containers, by ID.
    names: Arc<BTreeMap<String, String>>,
}

impl FakeEngine {
    pub fn listen(path: PathBuf, names: &[String]) -> Self {
        let names = names.iter().map(|name| (id_of(name), name.clone())).collect();
        let engine = Self { received: Arc::default(), names: Arc::new(names) };
        let (listener, own) = (UnixListener::bind(path).unwrap(), engine.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        engine
    }

    /// The requests with this method whose target ends so.
    pub fn count(&self, method: &str, end: &str) -> usize {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .filter(|own| own.method == method && own.target.split('?').next().unwrap().ends_with(end))
            .count()
    }

    fn serve(&self, stream: UnixStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut writer = stream;
        loop {
            let received = read(&mut reader)?;
            self.received.lock().unwrap().push(received.clone());
            let path = received.target.split('?').next().unwrap().to_owned();
            if path.ends_with("/events") {
                writer
                    .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
                    .ok()?;
                // Open until the gate closes it.
                let _ = reader.read(&mut [0]);
                return None;
            }
            if received.headers.iter().any(|(name, value)| name == "upgrade" && value == "tcp") {
                writer
                    .write_all(b"HTTP/1.1 101 UPGRADED\r\nX-Engine: 1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
                    .ok()?;
                // Everything that comes, only when its end has come: as `sort` does.
                let mut all = Vec::new();
                reader.read_to_end(&mut all).ok()?;
                writer.write_all(&all).ok()?;
                return None;
            }
            if let Some(path) = archived(&received) {
                let head = format!(
                    "HTTP/1.1 200 X\r\nX-Engine: 1\r\nX-Docker-Container-Path-Stat: {}\r\n",
                    stat(&path)
                );
                writer.write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()).ok()?;
                continue;
            }
            let has_other_volume = received.target.contains("volume") && received.target.contains("shared");
            let (status, body) = if path.ends_with("/containers/json") && has_other_volume {
                (200, json!([{"Id": id_of("k1")}]).to_string())
            } else {
                self.answer(&received.method, &path)
            };
            let head = format!(
                "HTTP/1.1 {status} X\r\nX-Engine: 1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let head = if status == 204 { "HTTP/1.1 204 X\r\nX-Engine: 1\r\n\r\n".to_owned() } else { head };
            writer.write_all(head.as_bytes()).ok()?;
            writer.write_all(body.as_bytes()).ok()?;
        }
    }

    fn name_of(&self, id: &str) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    fn answer(&self, method: &str, path: &str) -> (u16, String) {
        let parts: Vec<&str> = path.split('/').filter(|part| !is_prefix(part)).collect();
        match (method, parts.as_slice()) {
            // As Podman, which needs a version here.
            ("GET", ["", "containers", id, "json"])
                if path.contains("/v4.0.0/libpod/") && self.name_of(id) == Some("needs-database") =>
            {
                (200, json!({"Dependencies": [id_of("media_database")]}).to_string())
            }
            ("GET", ["", "containers", id, "json"])
                if path.contains("/v4.0.0/libpod/") && self.name_of(id) == Some("needs-unknown") =>
            {
                (404, "Not Found".to_owned())
            }
            // As an engine that has no such interface.
            ("GET", _) if path.contains("/v4.0.0/libpod/") => {
                (404, json!({"message": "page not found"}).to_string())
            }
            ("GET", ["", "containers", name, "json"]) => {
                let id = id_of(name);
                let of_id =
                    || self.names.range((*name).to_owned()..).next().filter(|(id, _)| id.starts_with(name));
                let found = self.names.get_key_value(&id).or_else(of_id).map(|(_, name)| name);
                found.map_or((404, json!({"message": "No such container"}).to_string()), |found| {
                    (200, description(found).to_string())
                })
            }
            ("GET", ["", "images", name, "json"]) => {
                let id = if *name == "base:1" { "sha256:1" } else { "sha256:2" };
                let program = match *name {
                    "finder:1" => json!(["find", "/"]),
                    "tini:1" => json!(["/usr/bin/tini", "-g", "--", "find", "/"]),
                    "starter:1" => json!(["docker-entrypoint.sh"]),
                    _ => json!(null),
                };
                let words =
                    if *name == "long:1" { vec!["x".repeat(5_000); 200] } else { vec!["sh".to_owned()] };
                let config = json!({"Entrypoint": program, "Cmd": words, "Env": ["PATH=/bin"]});
                (200, json!({"Id": id, "Config": config}).to_string())
            }
            ("GET", ["", "volumes", name]) => volume(name),
            ("GET", ["", "pods", _, "json"]) => {
                let container = json!({"Id": id_of("media_database"), "Name": "media_database"});
                (200, json!({"Id": id_of("pod"), "Containers": [container]}).to_string())
            }
            ("GET", ["", "containers", _, "top"]) => {
                (200, json!({"Processes": [["1", "sleep --password hunter3hunter3"]]}).to_string())
            }
            ("POST", [.., "exec" | "create"]) => (201, json!({"Id": id_of("new")}).to_string()),
            ("POST" | "DELETE", _) => (204, String::new()),
            _ => (200, "[]".to_owned()),
        }
    }
}

fn is_prefix(part: &str) -> bool {
    part == "libpod"
        || part.strip_prefix('v').is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// The path of a request for what the engine states of a file.
fn archived(received: &Received) -> Option<String> {
    let (path, query) = received.target.split_once('?')?;
    let is_it = received.method == "HEAD" && path.ends_with("/archive");
    query.strip_prefix("path=").filter(|_| is_it).map(|path| path.replace("%2F", "/"))
}

/// What the engine states of a file: names with a dot are files, `link` leads to a secret, others are folders.
fn stat(path: &str) -> String {
    let (mode, target) = match path {
        "/opt/link" => (1_u32 << 27, "/run/secrets/tok.txt"),
        path if path.rsplit('/').next().unwrap().contains('.') => (0o644, ""),
        _ => (1 << 31, ""),
    };
    let text = json!({"name": path, "size": 1, "mode": mode, "mtime": "", "linkTarget": target}).to_string();
    data_encoding::BASE64.encode(text.as_bytes())
}

/// What the engine states of a volume.
fn volume(name: &str) -> (u16, String) {
    let bound = |folder: &str| json!({"type": "none", "o": "bind", "device": folder});
    let (driver, options) = match name {
        "around" => ("local", bound("/srv")),
        "engine" => ("local", bound("/run")),
        "inner" => ("local", bound("/srv/x/keys")),
        "keys" => ("local", bound("/opt/keys")),
        "disk" => ("local", json!({"type": "ext4", "device": "/dev/sda1"})),
        "films" => ("local", json!({"type": "nfs", "o": "addr=10.0.0.9,ro", "device": ":/films"})),
        "plugin" => ("rclone", json!({"remote": "x"})),
        "gone" | "unused" => {
            return (404, json!({"message": format!("get {name}: no such volume")}).to_string());
        }
        _ => ("local", json!(null)),
    };
    let mountpoint = format!("/var/lib/docker/volumes/{name}/_data");
    (200, json!({"Name": name, "Driver": driver, "Mountpoint": mountpoint, "Options": options, "Scope": "local"}).to_string())
}

/// The mounts of the containers whose places are compared with those of `k0`, the guard's own one in some tests.
fn mounts(name: &str) -> Value {
    let bind = |source: &str, there: &str| json!({"Type": "bind", "Source": source, "Destination": there, "RW": true});
    let volume = |name: &str, there: &str| {
        let source = format!("/var/lib/docker/volumes/{name}/_data");
        json!({"Type": "volume", "Name": name, "Source": source, "Destination": there, "Driver": "local", "RW": true})
    };
    if let Some(volume_name) = name.strip_prefix("has-") {
        return json!([volume(volume_name, "/vol"), volume("plain", "/plain")]);
    }
    match name {
        "k1" | "client" | "pidhost" | "nethost" | "disks" | "privileged" => json!([]),
        "above" => json!([bind("/srv", "/data")]),
        "within" => json!([bind("/srv/x/keys", "/keys")]),
        "byname" => json!([bind("/var/lib/docker/volumes", "/volumes")]),
        "sock" => json!([bind("/var/run/docker.sock", "/tmp/engine")]),
        "sockdir" => json!([bind("/run", "/hostrun")]),
        "rootfs" => json!([bind("/", "/host")]),
        "apart" => json!([
            bind("/opt/keys", "/config"),
            bind("/proc", "/host/proc"),
            bind("/srv/apart", "/opt/thing.d/x")
        ]),
        _ => json!([
            bind("/srv/x", "/x"),
            {"Type": "volume", "Name": "guard-state", "Source": "/var/lib/docker/volumes/guard-state/_data", "Destination": "/state", "RW": true},
        ]),
    }
}

fn description(name: &str) -> Value {
    let mut description = json!({
        "Id": id_of(name),
        "Name": format!("/{name}"),
        "Image": "sha256:1",
        "Config": {"Image": "base:1", "Labels": {}, "Env": ["DB_PASSWORD=hunter2hunter2", "TZ=UTC", "PATH=/bin"], "Cmd": ["sleep", "--password", "hunter3hunter3"]},
        "HostConfig": {"Binds": ["/srv/x:/x"], "NetworkMode": "media", "Privileged": false, "PidsLimit": null, "ShmSize": 67_108_864, "IpcMode": "private", "LogConfig": {"Type": "json-file"}},
        "NetworkSettings": {"Networks": {"media": {"NetworkID": "0123", "Aliases": ["database"]}}},
        "Mounts": mounts(name),
    });
    if name == "apart" {
        description["Config"]["WorkingDir"] = json!("/config");
    }
    let config = match name {
        "pidhost" => json!({"PidMode": "host"}),
        "nethost" => json!({"NetworkMode": "host"}),
        "disks" => json!({"Devices": [{"PathOnHost": "/dev/sda", "PathInContainer": "/dev/sda"}]}),
        "privileged" => json!({"Privileged": true}),
        _ => json!({}),
    };
    description["HostConfig"].as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    if name == "client" {
        description["Config"]["Env"] = json!(["DOCKER_HOST=tcp://proxy:2375"]);
    }
    if name == "pg-prod" {
        let labels = json!({"com.docker.compose.service": "shop", "homepage.widget.key": "hunter4"});
        let check = json!({"Test": ["CMD", "redis-cli", "-a", "hunter5", "ping"]});
        description["Config"]["Labels"] = labels;
        description["Config"]["Healthcheck"] = check;
        description["Config"]["Env"] = json!([
            "PASS=hunter2",
            "adminPw=hunter3",
            "TZ=UTC",
            "SMTP_LOGIN=joe:hunter7",
            "DATABASE=hunter8.example.org",
            "LOG_LEVEL=info",
            "SIGNUPS_ALLOWED=false",
            "WORKERS=12",
            "LC_TIME=de_DE.UTF-8",
            "NGINX_VERSION=1.27.0",
        ]);
        description["Config"]["CreateCommand"] = json!([
            "podman",
            "run",
            "-e",
            "SMTP_LOGIN=joe:hunter7",
            "-deSMTP_LOGIN=joe:hunter7",
            "-ieadminPw=hunter3"
        ]);
        description["Path"] = json!("mysqladmin");
        description["Args"] = json!(["-phunter6", "ping"]);
    }
    description
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<UnixStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header =
        |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    if header("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut part = vec![0; length + 2];
            reader.read_exact(&mut part).ok()?;
            if length == 0 {
                break;
            }
            body.extend(&part[..length]);
        }
    }
    Some(Received { method, target, headers, body })
}

/// A gate before an engine.
pub struct Gated {
    pub sandbox: Sandbox,
    process: Option<Child>,
    options: Vec<String>,
    /// The file that is `/etc/hostname` for the gate.
    container: Option<String>,
}

impl Gated {
    /// A gate before a fake engine with the containers `media_database`, `k0`, `k1` and `pg-prod`, and `new`, which it has created.
    pub fn before_fake(tier: u8, options: &[&str]) -> (Self, FakeEngine) {
        let sandbox = Sandbox::new();
        let known = ["media_database", "k0", "k1", "new", "pg-prod"];
        let related = [
            "above",
            "within",
            "byname",
            "sock",
            "sockdir",
            "rootfs",
            "apart",
            "client",
            "pidhost",
            "nethost",
            "disks",
            "privileged",
            "has-around",
            "has-engine",
            "has-inner",
            "has-keys",
            "has-disk",
            "has-films",
            "has-plugin",
            "has-gone",
            "needs-database",
            "needs-unknown",
        ];
        let twin = twin_of("media_database");
        let names = known.into_iter().chain(related).chain([twin.as_str()]);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let engine = FakeEngine::listen(sandbox.path("engine.sock"), &names);
        let path = sandbox.path("engine.sock");
        (Self::before(sandbox, &path, tier, options), engine)
    }

    /// A gate in a container of the fake engine before which it is: `k0`, as the mounts of a container state it.
    pub fn in_container(tier: u8) -> (Self, FakeEngine) {
        let (mut gated, engine) = Self::before_fake(tier, &[]);
        gated.kill();
        std::fs::remove_file(gated.socket()).unwrap();
        gated.sandbox.write(&format!("{}/hostname", id_of("k0")), "k0\n");
        gated.container = Some(format!("{}/hostname", id_of("k0")));
        gated.start();
        (gated, engine)
    }

    /// A gate before a fake engine with these containers, of which each may be restarted so often.
    pub fn before_many(names: &[String], limit: usize) -> (Self, FakeEngine) {
        let sandbox = Sandbox::new();
        let engine = FakeEngine::listen(sandbox.path("engine.sock"), names);
        let path = sandbox.path("engine.sock");
        let gated = Self::before(sandbox, &path, 2, &[]);
        gated.allow(limit);
        (gated, engine)
    }

    /// Adds an entry to the policy.
    pub fn policy(&self, entry: &str) {
        let hosts = self.sandbox.read("hosts.yaml").replace("policy: {", &format!("policy: {{{entry}, "));
        self.sandbox.write("hosts.yaml", &hosts);
    }

    /// Sets the budget of restarts.
    pub fn allow(&self, limit: usize) {
        let budget = format!("{{tier: 2, restart: {{limit: {limit}, window: 4h}}}}");
        self.sandbox.write("hosts.yaml", &self.sandbox.read("hosts.yaml").replace("{tier: 2}", &budget));
    }

    /// A gate before the engine at this socket.
    pub fn before(sandbox: Sandbox, engine: &std::path::Path, tier: u8, options: &[&str]) -> Self {
        let services = "services:\n  database: {containers: [media_database]}\n  jellyfin: {}\n  shop: {}\n";
        sandbox.write("hosts.yaml", &format!("domain: example.org\n{services}policy: {{tier: {tier}}}\n"));
        let options = options.iter().map(|option| (*option).to_owned());
        let engine = format!("unix:{}", engine.display());
        let options = ["--engine".to_owned(), engine].into_iter().chain(options).collect();
        let mut gated = Self { sandbox, process: None, options, container: None };
        gated.start();
        gated
    }

    pub fn socket(&self) -> PathBuf {
        self.sandbox.path("gate.sock")
    }

    pub fn start(&mut self) {
        self.begin();
        let began = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the gate does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Starts the gate, and does not wait for its socket.
    pub fn begin(&mut self) {
        let listen = format!("unix:{}", self.socket().display());
        let mut command = self.sandbox.command(&["gate", "engine", "--listen", &listen]);
        command.args(&self.options);
        if let Some(file) = &self.container {
            let script =
                format!("mount --bind {} /etc/hostname; exec \"$@\"", self.sandbox.path(file).display());
            let outer = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", &script, "sh"];
            command = through(&outer, &command);
        }
        self.process = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Ends the gate with SIGTERM.
    pub fn end(&mut self) -> Option<i32> {
        let mut process = self.process.take().unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&process),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        process.wait().unwrap().code()
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// A connection to the gate.
    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own, and reads until the gate closes it.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A gate that closes early may reset the connection.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request with a body of JSON: its status and its answer.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> (u16, String) {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let length = if body.is_empty() { String::new() } else { length };
        let answer = self.raw(format!("{head}{length}\r\n{body}").as_bytes());
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.kill();
    }
}
