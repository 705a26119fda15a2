//! One headless session of the real client, from its settings to what it left.

use super::finished::Finished;
use super::installed;
use super::program::Program;
use super::request::Request;
use super::script::{Script, Step};
use super::workspace::Workspace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Builds a session and runs it.
pub struct Session {
    workspace: Workspace,
    managed_settings: Option<Value>,
    more_managed_settings: Option<Value>,
    operators_listen: bool,
    tools: String,
    limits: Option<Vec<String>>,
    prompt: String,
    client: Option<PathBuf>,
    client_arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    timeout: Duration,
    script: Arc<Mutex<Script>>,
}

impl Session {
    /// A session in a separate workspace, without a guard until settings are given.
    pub fn new() -> Self {
        Self::continuing(Workspace::new())
    }

    /// A session in the workspace that an earlier one left, with its settings, stubs and state.
    pub fn continuing(workspace: Workspace) -> Self {
        Self {
            workspace,
            managed_settings: None,
            more_managed_settings: None,
            operators_listen: false,
            tools: "Bash,Read".to_owned(),
            limits: None,
            prompt: "begin".to_owned(),
            client: None,
            client_arguments: Vec::new(),
            environment: BTreeMap::new(),
            timeout: Duration::from_mins(1),
            script: Arc::default(),
        }
    }

    /// The folders that it will run in.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The session is guarded by what `opsctl render` makes of this inventory.
    pub fn hosts_yaml(self, text: &str) -> Self {
        self.workspace.render(text);
        self
    }

    /// The settings that were rendered.
    pub fn rendered(&self) -> Value {
        serde_json::from_str(&self.workspace.read("project/.claude/settings.json")).unwrap()
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

    /// A second file of managed settings, in the folder of those that are added.
    pub fn more_managed_settings(mut self, settings: Value) -> Self {
        self.more_managed_settings = Some(settings);
        self
    }

    /// A file in the workspace, such as `state/cooldown.json`.
    pub fn file(self, inside: &str, content: &str) -> Self {
        self.workspace.write(inside, content);
        self
    }

    /// A program that leaves a mark and then runs this shell script, such as `exit 1`; see [`Workspace::put_stub`].
    pub fn stub(self, program: &str, behaviour: &str) -> Self {
        self.workspace.put_stub(program, behaviour);
        self
    }

    /// The session runs at this tier as an operator starts it: with the arguments of `opsctl tier N --args`.
    pub fn run_at_tier(mut self, tier: u8) -> Self {
        let ran =
            Program::opsctl(&self.workspace).args(["tier", &tier.to_string(), "--args", "--null"]).run();
        assert_eq!(ran.exit_code, Some(0), "`opsctl tier`: {}", ran.stderr);
        self.limits = Some(ran.stdout.split_terminator('\0').map(str::to_owned).collect());
        self.tier(tier)
    }

    /// The tier of the session.
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

    /// Configures notifications: the real `apprise`, with one URL that leads to [`Finished::notifications`].
    pub fn operators_listen(mut self) -> Self {
        self.operators_listen = true;
        self
    }

    /// Another release of the client than the pinned one.
    pub fn client(mut self, client: &Path) -> Self {
        self.client = Some(client.to_owned());
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

    /// The next steps of the agent. After the last step, it ends its turn.
    pub fn step(self, step: Step) -> Self {
        self.script().main.push_back(step);
        self
    }

    /// The next commands of the agent.
    pub fn commands<'a>(self, commands: impl IntoIterator<Item = &'a str>) -> Self {
        self.script().main.extend(commands.into_iter().map(super::bash));
        self
    }

    /// The next steps of an agent hook's verifier; after the last step, it accepts the work.
    pub fn verifier(self, step: Step) -> Self {
        self.script().verifier.push_back(step);
        self
    }

    /// The steps of the subagent whose prompt contains this text.
    pub fn subagent(self, prompt: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        let (prompt, mut steps) = (prompt.to_owned(), steps.into_iter().collect::<Vec<_>>().into_iter());
        self.answering(move |request| {
            let mine = request.opening().contains(&prompt);
            mine.then(|| steps.next().unwrap_or_else(|| super::text("the subagent is done")))
        })
    }

    /// A function that may give any answer, before the steps; `None` leaves it to the next one.
    pub fn answering(self, answer: impl FnMut(&Request) -> Option<Step> + Send + 'static) -> Self {
        self.script().answers.push(Box::new(answer));
        self
    }

    /// The session continues with this id of the client. `calls` is the number of tool calls that it has made.
    pub fn resuming(self, id: &str, calls: usize) -> Self {
        self.script().tool_uses = calls;
        let session = self.client_arguments(["--resume", id]);
        Self { prompt: String::new(), ..session }
    }

    /// Runs the client to its end, and returns what it left.
    pub fn run(self) -> Finished {
        let client = self.client.clone().unwrap_or_else(installed::client);
        let limits = self.limits.clone().unwrap_or_else(|| {
            [
                "--tools",
                &self.tools,
                "--allowedTools",
                &self.tools,
                "--permission-mode",
                "dontAsk",
                "--model",
                "haiku",
            ]
            .map(str::to_owned)
            .to_vec()
        });
        let mut program = Program::new(&self.workspace, &client)
            .args(["-p", &self.prompt, "--output-format", "stream-json", "--verbose"])
            .args(&limits)
            .args(&self.client_arguments)
            .env("ANTHROPIC_API_KEY", "not-a-key")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .timeout(self.timeout)
            .script(&self.script);
        for (name, value) in &self.environment {
            program = program.env(name, value);
        }
        if let Some(settings) = &self.managed_settings {
            program = program.managed_settings(settings);
        }
        if let Some(settings) = &self.more_managed_settings {
            program = program.more_managed_settings(settings);
        }
        if self.operators_listen {
            program = program.operators_listen();
        }
        let ran = program.run();
        let asked = std::mem::take(&mut self.script().asked);
        let calls = self.script().tool_uses;
        Finished::of(self.workspace, asked, calls, ran)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}
