//! The results of a session: what the model was shown, and the files on disk.

use super::program::Ran;
use super::request::{Request, Role, flat};
use super::workspace::Workspace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Deref;
use std::time::Duration;

/// A session that has ended. When a test fails it prints what the model was shown.
#[derive(Debug)]
pub struct Finished {
    workspace: Option<Workspace>,
    requests: Vec<Request>,
    notifications: Vec<Value>,
    tool_results: Vec<ToolResult>,
    tool_calls: usize,
    pub exit_code: i32,
    pub stream: Vec<Value>,
    pub stderr: String,
    pub elapsed: Duration,
}

/// A tool call, and what the model was shown for it.
#[derive(Clone, Debug)]
pub struct ToolResult {
    pub tool: String,
    pub input: Value,
    pub shown: String,
    pub is_error: bool,
}

impl ToolResult {
    /// Asserts that it ran without an error.
    #[track_caller]
    pub fn assert_ran(&self) {
        assert!(!self.is_error, "{} {} did not run well: {}", self.tool, self.input, self.shown);
    }

    /// It was refused, with this text for the model.
    #[track_caller]
    pub fn assert_refused(&self, telling: &str) {
        assert!(self.is_error, "{} {} was not refused: {}", self.tool, self.input, self.shown);
        assert!(self.shown.contains(telling), "the model got `{}`, which lacks `{telling}`", self.shown);
    }
}

impl Finished {
    pub(super) fn of(workspace: Workspace, requests: Vec<Request>, tool_calls: usize, ran: Ran) -> Self {
        let Ran { exit_code, stdout, stderr, elapsed, notifications, .. } = ran;
        let finished = Self {
            workspace: Some(workspace),
            tool_calls,
            tool_results: tool_results(requests.iter().filter(|request| request.role() == Role::Agent)),
            requests,
            notifications,
            exit_code: exit_code.unwrap_or(-1),
            stream: stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            stderr,
            elapsed,
        };
        assert!(exit_code.is_some(), "the session did not end within {elapsed:?}, and was killed");
        finished
    }

    /// All requests of the agent and its subagents to the model, in order.
    pub fn agent_requests(&self) -> Vec<&Request> {
        self.requests_of(Role::Agent)
    }

    /// All requests of the verifiers of agent hooks to the model, in order.
    pub fn verifier_requests(&self) -> Vec<&Request> {
        self.requests_of(Role::Verifier)
    }

    /// All requests to the model, those of the client itself included.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    fn requests_of(&self, role: Role) -> Vec<&Request> {
        self.requests.iter().filter(|request| request.role() == role).collect()
    }

    /// What the model saw before its first step, the prompt included.
    pub fn shown_at_start(&self) -> String {
        self.agent_requests().first().expect("the model was never asked").conversation()
    }

    /// The whole conversation, as the model last saw it.
    pub fn shown_at_end(&self) -> String {
        self.agent_requests().last().expect("the model was never asked").conversation()
    }

    /// The tool calls of the agent and its subagents that the model was shown a result for, in order.
    pub fn tool_results(&self) -> &[ToolResult] {
        &self.tool_results
    }

    #[track_caller]
    pub fn tool_result(&self, nth: usize) -> &ToolResult {
        let seen = self.tool_results.len();
        self.tool_results.get(nth).unwrap_or_else(|| panic!("no tool result {nth}: the model saw {seen}"))
    }

    /// The notifications that the operators received: objects with `title`, `message` and `type`.
    pub fn notifications(&self) -> &[Value] {
        &self.notifications
    }

    /// How many tool calls the model has made, in this session and those that it continues.
    pub const fn tool_calls(&self) -> usize {
        self.tool_calls
    }

    /// The client's id of this session, which hooks get.
    pub fn session_id(&self) -> &str {
        let id = self.stream.iter().find_map(|line| line["session_id"].as_str());
        id.expect("the client named no session")
    }

    /// The client's messages about itself: everything on its stream that is neither the model's nor a tool's.
    pub fn notices(&self) -> String {
        let notices = self.stream.iter().filter(|line| line["type"] == "system");
        notices.map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The last message of the session.
    pub fn result(&self) -> String {
        let result = self.stream.iter().rev().find(|line| line["type"] == "result");
        result.map(|line| flat(&line["result"])).unwrap_or_default()
    }

    /// The folders, for another session in them.
    pub fn into_workspace(mut self) -> Workspace {
        self.workspace.take().unwrap()
    }

    fn transcript(&self) -> String {
        let mut transcript = String::new();
        for (who, requests) in [("agent", self.agent_requests()), ("verifier", self.verifier_requests())] {
            if let Some(last) = requests.last() {
                writeln!(transcript, "--- what the {who} was shown\n{}", last.conversation()).unwrap();
            }
        }
        let marks = self.workspace.as_ref().map(Workspace::all_marks).unwrap_or_default();
        writeln!(transcript, "--- marks\n{marks:?}").unwrap();
        writeln!(transcript, "--- exit {}, stderr\n{}", self.exit_code, self.stderr).unwrap();
        transcript
    }
}

impl Deref for Finished {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        self.workspace.as_ref().unwrap()
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.transcript());
        }
    }
}

/// Every request repeats the conversation so far, so results are identified by the id of the call.
fn tool_results<'a>(requests: impl Iterator<Item = &'a Request>) -> Vec<ToolResult> {
    let mut calls = BTreeMap::new();
    let mut results = Vec::new();
    let blocks =
        requests.flat_map(Request::messages).filter_map(|message| message["content"].as_array()).flatten();
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_use") => {
                calls.entry(block["id"].as_str()).or_insert(Some(block));
            }
            Some("tool_result") => {
                let call = calls.get_mut(&block["tool_use_id"].as_str()).and_then(Option::take);
                results.extend(call.map(|call| ToolResult {
                    tool: flat(&call["name"]),
                    input: call["input"].clone(),
                    shown: flat(&block["content"]),
                    is_error: block["is_error"] == true,
                }));
            }
            _ => {}
        }
    }
    results
}
