//! The hooks as a library, with a clock that the test sets.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use opsctl::hooks as hook;
use opsctl::hooks::answer::Answer;
use opsctl::machine::environment::Environment;
use opsctl::machine::request::Request;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A sandbox, one session, and the time of day.
pub struct Clock {
    pub sandbox: Sandbox,
    pub now: DateTime<Utc>,
    pub session: &'static str,
}

pub fn request(sandbox: &Sandbox, now: DateTime<Utc>) -> Request {
    let folder: PathBuf = sandbox.path("");
    let environment = Environment::from_variables(|name| match name {
        "CLAUDEOPS_STATE_DIR" | "CLAUDE_PROJECT_DIR" => Some(folder.clone().into_os_string()),
        "CLAUDEOPS_HOSTS" => Some(folder.join("hosts.yaml").into_os_string()),
        _ => sandbox.variable(name),
    });
    Request::here(environment, now)
}

/// The answer of a hook, after it has been recorded.
pub fn served(stdin: &[u8], event: Option<&str>, request: &Request) -> Answer {
    let mut answer = Answer::default();
    hook::serve(stdin, event, request, |delivered| answer = delivered);
    answer
}

impl Clock {
    pub fn new() -> Self {
        Self::in_sandbox(Sandbox::new())
    }

    pub fn in_sandbox(sandbox: Sandbox) -> Self {
        if !sandbox.path("hosts.yaml").exists() {
            sandbox.write("hosts.yaml", "policy: {}\n");
        }
        Self { sandbox, now: "2026-03-21T14:00:00Z".parse().unwrap(), session: "s1" }
    }

    pub fn minutes(&mut self, minutes: i64) {
        self.now += TimeDelta::minutes(minutes);
    }

    pub fn tell(&self, event: &str, id: Option<&str>, command: &str, more: &Value) -> Answer {
        let mut input =
            json!({"session_id": self.session, "tool_use_id": id, "tool_input": {"command": command}});
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        self.sandbox.set_clock_of_ledger(self.now);
        served(input.to_string().as_bytes(), Some(event), &request(&self.sandbox, self.now))
    }

    /// The denial; `None` if the command is allowed.
    pub fn ask(&self, id: &str, command: &str) -> Option<String> {
        self.tell("pre-tool-use", Some(id), command, &Value::Null).denial
    }

    pub fn done(&self, id: &str, command: &str) {
        accepted(&self.tell("post-tool-use", Some(id), command, &Value::Null));
    }

    pub fn failed(&self, id: &str, command: &str) {
        let why = json!({"error": "Exit code 1"});
        accepted(&self.tell("post-tool-use-failure", Some(id), command, &why));
    }

    /// Runs the hooks before and after an allowed command.
    pub fn run(&self, id: &str, command: &str) {
        assert_eq!(self.ask(id, command), None, "{command}");
        self.done(id, command);
    }

    /// The end of a message with a call that the client has refused.
    pub fn refuse(&self, id: &str) {
        let result = "Permission to use Bash with command docker restart jellyfin has been denied.";
        let calls = json!([{"tool_name": "Bash", "tool_use_id": id, "tool_response": result}]);
        accepted(&self.tell("post-tool-batch", None, "", &json!({"tool_calls": calls})));
    }

    pub fn end_session(&self) {
        accepted(&self.tell("session-end", None, "", &Value::Null));
    }

    /// The number of recorded actions of a service in the ledger.
    pub fn settled(&self, service: &str) -> usize {
        self.sandbox
            .sql(&format!("SELECT count(*) FROM cooldown_actions WHERE service = '{service}'"))
            .parse()
            .unwrap()
    }
}

fn accepted(answer: &Answer) {
    assert_eq!(answer.denial, None);
    assert!(answer.warnings.iter().all(|warning| !warning.to_string().contains("cannot be")), "{answer:?}");
}

/// Asserts that the denial states a used-up budget of two restarts, and the next allowed time.
pub fn is_used_up(denial: Option<String>, next: &str) {
    let denial = denial.expect("the budget is used up and the command was let through");
    assert!(denial.contains("2/2 restarts in last 4h. Next allowed at "), "{denial}");
    assert!(denial.contains(next), "{denial}");
}
