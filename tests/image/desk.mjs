// Answers the open question on the desk as a person does, in a real browser:
//   node tests/image/desk.mjs URL TOKEN_FILE WIDTH approve|refuse NOTE
// Prints the outcome that the page shows. The browser's home stays in TMPDIR: its processes may write after its end.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [url, tokenFile, width, decision, note] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "desk-"));
const browser = spawn("chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
  "--disable-background-networking", `--user-data-dir=${home}`, "--remote-debugging-pipe",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: { ...process.env, HOME: home } });
const [, , , commands, answers] = browser.stdio;

browser.on("exit", (code, signal) => {
  console.error(`chromium ended with ${code ?? signal}`);
  process.exit(1);
});

const waiting = new Map();
let rest = "", calls = 0, session;
answers.setEncoding("utf8").on("data", text => {
  const messages = (rest + text).split("\0");
  rest = messages.pop();
  for (const message of messages.map(it => JSON.parse(it))) {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  }
});

function call(method, params = {}) {
  const id = ++calls;
  commands.write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((done, fail) => waiting.set(id, ({ result, error }) => error ? fail(error) : done(result)));
}

async function value(expression) {
  const { result } = await call("Runtime.evaluate", { expression, returnByValue: true });
  return result.value;
}

// Waits until an expression is true, and returns its value.
async function seen(expression) {
  for (let tries = 0; tries < 150; tries++) {
    const found = await value(expression).catch(() => undefined);
    if (found) return found;
    await new Promise(done => setTimeout(done, 200));
  }
  throw new Error(`not seen: ${expression}\n${await value("document.body.innerText")}`);
}

async function write(selector, text) {
  await seen(`document.querySelector('${selector}') && (document.querySelector('${selector}').focus(), true)`);
  await call("Input.insertText", { text });
}

async function click(selector) {
  const { x, y } = await seen(`(() => { const it = document.querySelector('${selector}'); if (!it) return;
    it.scrollIntoView({block: 'center'}); const at = it.getBoundingClientRect();
    return {x: at.x + at.width / 2, y: at.y + at.height / 2}; })()`);
  for (const type of ["mousePressed", "mouseReleased"])
    await call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
}

try {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  ({ sessionId: session } = await call("Target.attachToTarget", { targetId, flatten: true }));
  const mobile = Number(width) < 600;
  await call("Emulation.setDeviceMetricsOverride", { width: Number(width), height: 800, deviceScaleFactor: 1, mobile });
  await call("Page.navigate", { url });
  await write("#token", readFileSync(tokenFile, "utf8").trim());
  await click(".login button.approve");
  await write("article.open input[name=note]", note);
  const id = await value("document.querySelector('article.open').id");
  if (await value("document.documentElement.scrollWidth > innerWidth")) throw new Error("the page is wider than the screen");
  await click(`#${id} button.${decision}`);
  console.log(`${id}: ${await seen("document.querySelector('.flash, .outcome')?.innerText")}`);
} finally {
  browser.kill("SIGKILL");
}
process.exit(0);
