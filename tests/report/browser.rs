//! A real browser without a window and without a network, led through its debugging pipe.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The timeout of an answer, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The display settings of a browser.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub name: &'static str,
    pub scheme: &'static str,
    pub width: u32,
}

pub const LOOKS: [Look; 4] = [
    Look { name: "desktop-light", scheme: "light", width: 1280 },
    Look { name: "desktop-dark", scheme: "dark", width: 1280 },
    Look { name: "phone-light", scheme: "light", width: 390 },
    Look { name: "phone-dark", scheme: "dark", width: 390 },
];

/// The browser with one page.
pub struct Browser {
    process: Child,
    folder: TempDir,
    to: File,
    from: Receiver<Value>,
    session: String,
    calls: u64,
    events: Vec<Value>,
}

impl Browser {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for pipe in ["in", "out"] {
            assert!(Command::new("mkfifo").arg(path(pipe)).status().unwrap().success());
        }
        // It reads commands from descriptor 3 and answers on 4, each JSON and a NUL.
        let browser = "ip link set lo up; exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
             --no-first-run --hide-scrollbars --user-data-dir=profile --remote-debugging-pipe 3<in 4>out";
        let process = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "sh", "-c", browser])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(path("stderr")).unwrap())
            .spawn()
            .expect("unshare is missing: run tests/setup");
        // Open at both ends, so that neither side waits for the other to come.
        let open = |name: &str| OpenOptions::new().read(true).write(true).open(path(name)).unwrap();
        let (to, out) = (open("in"), open("out"));
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0) {
                let Ok(message) = message.map(|it| serde_json::from_slice(&it).unwrap()) else { return };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let session = String::new();
        let mut browser = Self { process, folder, to, from, session, calls: 0, events: vec![] };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session =
            browser.call("Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Network", "Runtime", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.call("Page.bringToFront", &json!({}));
        browser
    }

    fn next(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let words = std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
            panic!("chromium does not answer; is it installed (tests/setup)? It said: {words}")
        })
    }

    /// A command of the `DevTools` protocol, and its result.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.next();
            if answer["id"] == json!(self.calls) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page with these display settings, and waits until it is loaded.
    pub fn open(&mut self, page: &Path, look: Look) {
        self.media("", look.scheme);
        let phone = look.width < 600;
        let metrics = json!({"width": look.width, "height": 800, "deviceScaleFactor": 1, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.events.clear();
        self.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Whether it is shown on a screen (the empty word) or printed, and in which scheme of colours.
    pub fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"media": media, "features": features}));
    }

    /// Evaluates an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].take()
    }

    /// All visible text.
    pub fn text(&mut self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// The requests since the page was opened, except for the page.
    pub fn requests(&self, page: &Path) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let addresses = asked.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned());
        addresses.filter(|address| *address != format!("file://{}", page.display())).collect()
    }

    /// Errors of the browser, and violations of the page's policy.
    pub fn complaints(&self) -> Vec<String> {
        let said = |event: &&Value| {
            ["Log.entryAdded", "Runtime.exceptionThrown"].iter().any(|method| event["method"] == *method)
        };
        self.events.iter().filter(said).map(ToString::to_string).collect()
    }

    /// Writes a screenshot of the whole page below `target/`.
    pub fn screenshot(&mut self, name: &str) -> PathBuf {
        use std::io::Read as _;
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", &asked);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        let mut decode = Command::new("base64")
            .arg("--decode")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let encoded = picture["data"].as_str().unwrap().to_owned();
        let mut stdin = decode.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(encoded.as_bytes()).unwrap());
        let mut bytes = Vec::new();
        decode.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        writer.join().unwrap();
        assert!(decode.wait().unwrap().success() && bytes.starts_with(b"\x89PNG"), "no picture");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // `unshare` has become the browser, whose children end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
