//! One run of a program in a workspace, in namespaces of its own.

use super::messages_api::{self, OPERATORS};
use super::request::{Request, Role};
use super::script::{Script, Step};
use super::workspace::Workspace;
use super::{installed, namespace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// How long a delivery is waited for after the end of a program: longer than its three attempts of ten seconds and the pauses
/// between them.
const DELIVERY: Duration = Duration::from_mins(1);

/// The time between two looks at the condition of [`Program::ended_when`].
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The port on which the scripted API answers, too.
const HOOKS_PORT: u16 = 8080;

type Condition = Box<dyn Fn(&Workspace) -> bool + Send + Sync>;

/// Builds the run and runs it.
pub struct Program<'a> {
    workspace: &'a Workspace,
    command: Command,
    stdin: String,
    managed_settings: Option<String>,
    more_managed_settings: Option<String>,
    operators_listen: bool,
    timeout: Duration,
    script: Arc<Mutex<Script>>,
    ended_when: Option<Condition>,
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// `None`: it was still running at the deadline, and was killed.
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    /// The time from the signal of [`Program::ended_when`] to the end; `None` if no signal was sent.
    pub ended_after: Option<Duration>,
    /// The notifications that the operators received.
    pub notifications: Vec<Value>,
}

impl<'a> Program<'a> {
    /// A program that starts in the project folder, with nothing of the developer's own environment.
    pub fn new(workspace: &'a Workspace, program: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(workspace.project()).env_clear().envs(workspace.environment());
        Self {
            workspace,
            command,
            stdin: String::new(),
            managed_settings: None,
            more_managed_settings: None,
            operators_listen: false,
            timeout: Duration::from_mins(1),
            script: Arc::default(),
            ended_when: None,
        }
    }

    /// The loop that the container runs, around the real client.
    pub fn entrypoint(workspace: &'a Workspace) -> Self {
        workspace.put_program("claude", &installed::client());
        Self::opsctl(workspace)
            .args(["launch", concat!(env!("CARGO_MANIFEST_DIR"), "/entrypoint")])
            .env("CLAUDE_PROJECT_DIR", workspace.project().to_str().unwrap())
            .env("ANTHROPIC_API_KEY", "not-a-key")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
    }

    /// What the model does, in order, in the sessions whose prompt is that of this tier.
    pub fn at_tier(self, tier: u8, steps: impl IntoIterator<Item = Step>) -> Self {
        let (heading, mut steps) =
            (format!("# Tier {tier}:"), steps.into_iter().collect::<Vec<_>>().into_iter());
        self.script.lock().unwrap().answers.push(Box::new(move |request| {
            // A session with a structured result has the tool of a verifier.
            let mine = request.role() != Role::Errand && request.opening().contains(&heading);
            mine.then(|| steps.next().unwrap_or_else(|| super::text("the session is done")))
        }));
        self
    }

    /// What the verifier of a model does, in order; after that, it finds nothing unhealthy.
    pub fn verifier(self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.script.lock().unwrap().verifier.extend(steps);
        self
    }

    /// Sends SIGTERM as soon as this condition is met.
    pub fn ended_when(mut self, holds: impl Fn(&Workspace) -> bool + Send + Sync + 'static) -> Self {
        self.ended_when = Some(Box::new(holds));
        self
    }

    /// All requests to the model so far.
    pub fn asked(&self) -> Asked {
        Asked(Arc::clone(&self.script))
    }

    /// The guard itself, as a hook or by hand.
    pub fn opsctl(workspace: &'a Workspace) -> Self {
        Self::new(workspace, Path::new(env!("CARGO_BIN_EXE_opsctl")))
    }

    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it finds on its standard input; nothing when not given.
    pub fn stdin(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdin);
        self
    }

    /// The machine's managed settings; see [`super::Session::managed_settings`].
    pub fn managed_settings(mut self, settings: &Value) -> Self {
        self.managed_settings = Some(settings.to_string());
        self
    }

    /// A second file of managed settings, in the folder of those that are added.
    pub fn more_managed_settings(mut self, settings: &Value) -> Self {
        self.more_managed_settings = Some(settings.to_string());
        self
    }

    /// Configures notifications: the real `apprise`, with one URL that leads to [`Ran::notifications`].
    pub fn operators_listen(mut self) -> Self {
        self.workspace.put_program("apprise", &installed::apprise());
        self.operators_listen = true;
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The model that it finds behind `ANTHROPIC_BASE_URL`.
    pub(super) fn script(mut self, script: &Arc<Mutex<Script>>) -> Self {
        self.script = Arc::clone(script);
        self
    }

    /// Runs it to its end, and everything that it leaves running.
    pub fn run(self) -> Ran {
        // A thread of its own, since there is no way back from a namespace.
        let ran = thread::scope(|scope| scope.spawn(|| self.run_here()).join());
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn run_here(mut self) -> Ran {
        namespace::enter();
        namespace::manage(
            self.managed_settings.as_deref(),
            self.more_managed_settings.as_deref(),
            &self.workspace.path("machine"),
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ran = runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            self.command.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
            if self.operators_listen {
                self.command.env("CLAUDEOPS_APPRISE_URLS", format!("json://{address}{OPERATORS}"));
            }
            let api = messages_api::router(Arc::clone(&self.script));
            tokio::spawn(async move { axum::serve(listener, api).await });
            // The address for hooks of type `http`, which cannot be configured.
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, HOOKS_PORT)).await.unwrap();
            let api = messages_api::router(Arc::clone(&self.script));
            tokio::spawn(async move { axum::serve(listener, api).await });
            let mut ran = self.run_to_its_end().await;
            // A notification is delivered by a process that outlives the one that raised it: a hook, for which a client
            // that ends does not wait.
            let deadline = Instant::now() + DELIVERY;
            // In this order: a hook that ends between the two checks has started its delivery.
            let is_pending = || {
                self.operators_listen && namespace::may_hold(&["opsctl", "hook"])
                    || namespace::may_hold(&["notify", "--deliver"])
            };
            while is_pending() && Instant::now() < deadline {
                // Each look reads all of `/proc`, on the thread that receives the notification.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            ran.notifications = std::mem::take(&mut self.script.lock().unwrap().notifications);
            ran
        });
        namespace::kill_the_rest();
        ran
    }

    /// Waits while the scripted model, on the same thread, answers.
    async fn run_to_its_end(&mut self) -> Ran {
        // Files, not pipes: a straggler that keeps a pipe open would hold us up.
        let streams = TempDir::new_in(self.workspace.path("streams")).unwrap();
        let [stdin, stdout, stderr] = ["stdin", "stdout", "stderr"].map(|name| streams.path().join(name));
        fs::write(&stdin, &self.stdin).unwrap();
        self.command.stdin(File::open(stdin).unwrap());
        self.command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());

        let started = Instant::now();
        let program = self.command.spawn().unwrap();
        let (exit_code, signalled) = self.wait(program, started + self.timeout).await;
        let elapsed = started.elapsed();
        let ended_after = signalled.map(|at| at.elapsed());
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Ran {
            exit_code,
            stdout: read(stdout),
            stderr: read(stderr),
            elapsed,
            ended_after,
            notifications: vec![],
        }
    }

    async fn wait(&self, mut program: Child, deadline: Instant) -> (Option<i32>, Option<Instant>) {
        let mut signalled = None;
        let mut looks = Instant::now();
        loop {
            if let Some(status) = program.try_wait().unwrap() {
                return (Some(status.code().unwrap_or(-1)), signalled); // by a signal
            }
            // A condition may start a program, such as sqlite3.
            let is_due = signalled.is_none() && Instant::now() >= looks;
            if is_due {
                looks = Instant::now() + BETWEEN_LOOKS;
            }
            if is_due && self.ended_when.as_ref().is_some_and(|holds| holds(self.workspace)) {
                kill_process(Pid::from_child(&program), Signal::TERM).unwrap();
                signalled = Some(Instant::now());
            }
            if Instant::now() > deadline {
                program.kill().unwrap();
                program.wait().unwrap();
                return (None, signalled);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The requests to the model, to be read after the run.
pub struct Asked(Arc<Mutex<Script>>);

impl Asked {
    /// Everything that the first request to the model contains, except the system prompt.
    pub fn first_request(&self) -> String {
        let script = self.0.lock().unwrap();
        let first = script.asked.iter().find(|request| request.role() == Role::Agent);
        first.expect("the model was never asked").conversation()
    }

    /// The conversations of all requests in this role, in order.
    pub fn of(&self, role: Role) -> Vec<String> {
        let script = self.0.lock().unwrap();
        script.asked.iter().filter(|request| request.role() == role).map(Request::conversation).collect()
    }

    /// The first message of each session of an agent, in order: its prompt, with any text before it.
    pub fn prompts(&self) -> Vec<String> {
        let script = self.0.lock().unwrap();
        let mut prompts: Vec<String> = Vec::new();
        for request in script.asked.iter().filter(|request| request.role() == Role::Agent) {
            let opening = request.opening();
            if prompts.last() != Some(&opening) {
                prompts.push(opening);
            }
        }
        prompts
    }
}

impl Workspace {
    /// Writes `hosts.yaml`, and what `opsctl render` makes of it into the project folder.
    #[track_caller]
    pub fn render(&self, hosts_yaml: &str) {
        self.write("hosts.yaml", hosts_yaml);
        let [hosts, project] = [self.path("hosts.yaml"), self.project()];
        let render = Program::opsctl(self)
            .args(["render", "--empty", "--hosts"])
            .args([hosts])
            .args(["--out"])
            .args([project]);
        let ran = render.run();
        assert_eq!(ran.exit_code, Some(0), "`opsctl render`: {}", ran.stderr);
    }
}
