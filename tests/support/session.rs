//! One headless session of the real client, from its settings to what it left.

use super::client::{self, Run};
use super::finished::Finished;
use super::messages_api::OPERATORS;
use super::request::Request;
use super::script::{Script, Step};
use super::workspace::Workspace;
use super::{messages_api, namespace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Builds a session and runs it.
pub struct Session {
    workspace: Workspace,
    hosts_yaml: Option<String>,
    managed_settings: Option<Value>,
    operators_listen: bool,
    tools: String,
    prompt: String,
    client_arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    timeout: Duration,
    script: Arc<Mutex<Script>>,
}

impl Session {
    /// A session in a workspace of its own. It holds no guard until settings are given.
    pub fn new() -> Self {
        Self::continuing(Workspace::new())
    }

    /// A session in the workspace that an earlier one left, with its settings, stubs and state.
    pub fn continuing(workspace: Workspace) -> Self {
        Self {
            workspace,
            hosts_yaml: None,
            managed_settings: None,
            operators_listen: false,
            tools: "Bash,Read".to_owned(),
            prompt: "begin".to_owned(),
            client_arguments: Vec::new(),
            environment: BTreeMap::new(),
            timeout: Duration::from_mins(1),
            script: Arc::default(),
        }
    }

    /// The session is guarded by what `opsctl render` makes of this inventory.
    pub fn hosts_yaml(mut self, text: &str) -> Self {
        self.hosts_yaml = Some(text.to_owned());
        self
    }

    /// The session is guarded by these settings, written by hand.
    pub fn settings(self, settings: &Value) -> Self {
        self.workspace.write("project/.claude/settings.json", &settings.to_string());
        self
    }

    /// The machine's managed settings, which no project can override.
    pub fn managed_settings(mut self, settings: Value) -> Self {
        self.managed_settings = Some(settings);
        self
    }

    /// A file in the workspace, such as `state/cooldown.json`.
    pub fn file(self, inside: &str, content: &str) -> Self {
        self.workspace.write(inside, content);
        self
    }

    /// A program that leaves a mark and then does this piece of sh, such as `exit 1`; see [`Workspace::put_stub`].
    pub fn stub(self, program: &str, behaviour: &str) -> Self {
        self.workspace.put_stub(program, behaviour);
        self
    }

    /// The tier that the guard is told.
    pub fn tier(self, tier: u8) -> Self {
        self.env("CLAUDEOPS_TIER", &tier.to_string())
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The tools that exist and are allowed, separated by commas; `Bash,Read` when not given.
    pub fn tools(mut self, tools: &str) -> Self {
        tools.clone_into(&mut self.tools);
        self
    }

    pub fn prompt(mut self, prompt: &str) -> Self {
        prompt.clone_into(&mut self.prompt);
        self
    }

    /// The operators can be told: the real `apprise` is there, with one URL that leads to [`Finished::notifications`].
    pub fn operators_listen(mut self) -> Self {
        self.workspace.put_program("apprise", &client::apprise());
        self.operators_listen = true;
        self
    }

    /// More arguments for the client.
    pub fn client_arguments<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.client_arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What the session's agent does next. After its last step it says that it is done.
    pub fn step(self, step: Step) -> Self {
        self.script().main.push_back(step);
        self
    }

    /// What the agent does next, a command each.
    pub fn commands<'a>(self, commands: impl IntoIterator<Item = &'a str>) -> Self {
        self.script().main.extend(commands.into_iter().map(super::bash));
        self
    }

    /// What an agent hook's verifier does next; after its last step it has no objection.
    pub fn verifier(self, step: Step) -> Self {
        self.script().verifier.push_back(step);
        self
    }

    /// What the subagent does that was started with a prompt holding this text.
    pub fn subagent(self, prompt: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        let (prompt, mut steps) = (prompt.to_owned(), steps.into_iter().collect::<Vec<_>>().into_iter());
        self.answering(move |request| {
            let mine = request.opening().contains(&prompt);
            mine.then(|| steps.next().unwrap_or_else(|| super::text("the subagent is done")))
        })
    }

    /// A say in every answer, before the steps: `None` leaves it to the next.
    pub fn answering(self, answer: impl FnMut(&Request) -> Option<Step> + Send + 'static) -> Self {
        self.script().answers.push(Box::new(answer));
        self
    }

    /// Renders the settings if there is an inventory, runs the client to its end, and returns what it left.
    pub fn run(self) -> Finished {
        let client = client::path();
        self.render();
        let command = self.command(&client);
        // A thread of its own, since there is no way back from a namespace.
        let run = thread::scope(|scope| scope.spawn(|| self.in_namespace(command)).join());
        let run = run.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let script = std::mem::take(&mut *self.script());
        Finished::of(self.workspace, script, run)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    fn render(&self) {
        let Some(hosts_yaml) = &self.hosts_yaml else { return };
        let hosts = self.workspace.path("hosts.yaml");
        fs::write(&hosts, hosts_yaml).unwrap();
        let mut render = Command::new(env!("CARGO_BIN_EXE_opsctl"));
        render.arg("render").arg("--hosts").arg(hosts).arg("--out").arg(self.workspace.project());
        let output = render.env_clear().envs(self.environment()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`opsctl render`: {} {complaint}", output.status);
    }

    fn command(&self, client: &Path) -> Command {
        let mut command = Command::new(client);
        command.args(["-p", &self.prompt, "--model", "haiku", "--output-format", "stream-json", "--verbose"]);
        command.args(["--tools", &self.tools, "--allowedTools", &self.tools, "--permission-mode", "dontAsk"]);
        command.args(&self.client_arguments).current_dir(self.workspace.project());
        command.env_clear().envs(self.environment());
        command
    }

    /// Nothing of the developer's own environment gets in.
    fn environment(&self) -> BTreeMap<String, String> {
        let path = |inside| self.workspace.path(inside).display().to_string();
        let mut environment = BTreeMap::from(
            [
                ("PATH", self.workspace.search_path()),
                ("HOME", path("home")),
                ("TMPDIR", path("tmp")),
                ("LANG", "C.UTF-8".to_owned()),
                ("TZ", "UTC".to_owned()),
                ("ANTHROPIC_API_KEY", "not-a-key".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                ("CLAUDEOPS_HOSTS", path("hosts.yaml")),
                ("CLAUDEOPS_STATE_DIR", path("state")),
                ("CLAUDEOPS_RESULTS_DIR", path("results")),
                ("CLAUDEOPS_REPOS_DIR", path("repos")),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        environment.extend(self.environment.clone());
        environment
    }

    fn in_namespace(&self, mut command: Command) -> Run {
        namespace::enter();
        let managed = self.managed_settings.as_ref().map(Value::to_string);
        namespace::manage(managed.as_deref(), &self.workspace.path("machine"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            command.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
            if self.operators_listen {
                command.env("CLAUDEOPS_APPRISE_URLS", format!("json://{address}{OPERATORS}"));
            }
            let api = messages_api::router(Arc::clone(&self.script));
            tokio::spawn(async move { axum::serve(listener, api).await });
            let output = self.workspace.path("tmp");
            client::wait(client::start(&mut command, &output), &output, self.timeout).await
        });
        namespace::kill_the_rest();
        run
    }
}
