//! A real browser without a window and without a network, led through its debugging pipe.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

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

pub const LOOKS: [Look; 6] = [
    Look { name: "desktop-light", scheme: "light", width: 1440 },
    Look { name: "desktop-dark", scheme: "dark", width: 1440 },
    Look { name: "tablet-light", scheme: "light", width: 768 },
    Look { name: "tablet-dark", scheme: "dark", width: 768 },
    Look { name: "phone-light", scheme: "light", width: 390 },
    Look { name: "phone-dark", scheme: "dark", width: 390 },
];

/// Every text that can be seen with less contrast than WCAG 2 asks for (AA: 4.5, large text 3), and every mark with less
/// than 3; and the number of checked elements.
pub const CONTRAST: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const over = ([r, g, b, a], [x, y, z]) => [[r, x], [g, y], [b, z]].map(([up, down]) => up * a / 255 + down * (1 - a / 255)).concat(255);
  const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [hi, lo] = [light(a), light(b)].sort((x, y) => y - x); return (hi + 0.05) / (lo + 0.05); };
  const ground = element => { const layers = []; for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor)); return layers.reverse().reduce((down, up) => over(up, down), rgba(getComputedStyle(document.body).backgroundColor)); };
  const low = []; let seen = 0;
  const judge = (element, colour, least, what) => { seen++; const on = ground(element.matches('.dot') ? element.parentElement : element); const found = ratio(over(rgba(colour), on), on); if (found < least) low.push(`${what}: ${found.toFixed(2)}`); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || element.closest('title') || !element.checkVisibility() || element.closest('.unseen')) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    judge(element, element.closest('svg') ? style.fill : style.color, size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5, text);
  }
  for (const mark of document.querySelectorAll('.mark, .sign, .dot, .bar .filled, .column'))
    if (mark.checkVisibility()) judge(mark, mark.matches('.dot') ? getComputedStyle(mark).backgroundColor : mark.matches('rect') ? getComputedStyle(mark).fill : getComputedStyle(mark).color, 3, mark.outerHTML.slice(0, 80));
  return {low, seen};
})()";

/// Elements outside the width of the page that cannot be scrolled into view.
pub const OUTSIDE: &str = "[...document.querySelectorAll('body *')].filter(it => it.checkVisibility() && !it.closest('.scroll, .unseen, .skip, svg') \
     && (it.getBoundingClientRect().right > innerWidth + 1 || it.getBoundingClientRect().left < -1)).map(it => it.outerHTML.slice(0, 100))";

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
                if answer["error"]["message"].as_str().is_some_and(|why| why.contains("target navigated")) {
                    // The page was just being left; the next one answers.
                    return self.call(method, params);
                }
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file with these display settings, and waits until it is loaded.
    pub fn open(&mut self, page: &Path, look: Look) {
        self.visit(&format!("file://{}", page.display()), look);
    }

    /// Opens an address with these display settings, and waits until it is loaded.
    pub fn visit(&mut self, address: &str, look: Look) {
        self.media("", look.scheme);
        let phone = look.width < 600;
        let metrics = json!({"width": look.width, "height": 800, "deviceScaleFactor": 1, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.events.clear();
        self.call("Page.navigate", &json!({"url": address}));
        self.wait_for_page();
    }

    /// Evaluates an expression that leads to another page, and waits until that is loaded.
    pub fn follow(&mut self, expression: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        // The answer to the call comes before the page is left.
        self.evaluate(&format!("void setTimeout(() => {{ {expression} }}, 0)"));
        self.wait_for_page();
    }

    fn wait_for_page(&mut self) {
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Waits until an expression is true.
    pub fn wait_until(&mut self, expression: &str) {
        let started = std::time::Instant::now();
        while self.evaluate(expression) != true {
            assert!(started.elapsed() < PATIENCE, "never: {expression}, in {}", self.text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The process whose network the browser has.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// All addresses that were asked for since the page was opened.
    pub fn asked_for(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
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
        self.picture(name, &json!({"format": "png", "captureBeyondViewport": true}))
    }

    /// Writes a picture of the page, taken as asked, below `target/`.
    pub fn picture(&mut self, name: &str, asked: &Value) -> PathBuf {
        use std::io::Read as _;
        let picture = self.call("Page.captureScreenshot", asked);
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(format!("{name}.png"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
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
