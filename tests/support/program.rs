//! One run of a program in a workspace, in namespaces of its own.

use super::messages_api::{self, OPERATORS};
use super::script::Script;
use super::workspace::Workspace;
use super::{installed, namespace};
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

/// How long a delivery is waited for after the end of a program.
const DELIVERY: Duration = Duration::from_secs(30);

/// Builds the run and runs it.
pub struct Program<'a> {
    workspace: &'a Workspace,
    command: Command,
    stdin: String,
    managed_settings: Option<String>,
    operators_listen: bool,
    timeout: Duration,
    script: Arc<Mutex<Script>>,
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// `None`: it was still running at the deadline, and was killed.
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    /// What the operators were told, if they listened.
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
            operators_listen: false,
            timeout: Duration::from_mins(1),
            script: Arc::default(),
        }
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

    /// The operators can be told: the real `apprise` is there, with one URL that leads to [`Ran::notifications`].
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
        namespace::manage(self.managed_settings.as_deref(), &self.workspace.path("machine"));
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
            let mut ran = self.run_to_its_end().await;
            // A notification is delivered by a process that outlives the one that raised it.
            let deadline = Instant::now() + DELIVERY;
            while namespace::holds(&["notify", "--deliver"]) && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(5)).await;
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
        let exit_code = wait(self.command.spawn().unwrap(), started + self.timeout).await;
        let elapsed = started.elapsed();
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Ran { exit_code, stdout: read(stdout), stderr: read(stderr), elapsed, notifications: vec![] }
    }
}

impl Workspace {
    /// Writes `hosts.yaml`, and what `opsctl render` makes of it into the project folder.
    #[track_caller]
    pub fn render(&self, hosts_yaml: &str) {
        self.write("hosts.yaml", hosts_yaml);
        let [hosts, project] = [self.path("hosts.yaml"), self.project()];
        let render =
            Program::opsctl(self).args(["render", "--hosts"]).args([hosts]).args(["--out"]).args([project]);
        let ran = render.run();
        assert_eq!(ran.exit_code, Some(0), "`opsctl render`: {}", ran.stderr);
    }
}

async fn wait(mut program: Child, deadline: Instant) -> Option<i32> {
    loop {
        if let Some(status) = program.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1)); // by a signal
        }
        if Instant::now() > deadline {
            program.kill().unwrap();
            program.wait().unwrap();
            return None;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
