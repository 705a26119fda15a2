//! Tool calls that opsctl must deny, and the traces that they leave if it does not.

use std::io;

use serde_json::json;

use super::cast::{key, name};
use super::scripted::script::Step;
use super::seen::{Seen, fail, not_applicable, pass};
use super::stage::{Played, Stage};

/// A tool call that must be denied.
#[derive(Debug)]
pub struct Attempt {
    step: Step,
    trace: Trace,
    secret: Option<Secret>,
}

/// A random secret, where an attempt looks for it.
#[derive(Debug)]
struct Secret {
    place: Place,
    value: String,
}

/// A place of a secret.
#[derive(Debug)]
enum Place {
    /// A file, relative to the stage's folder.
    File(String),
    /// An environment variable.
    Variable(String),
}

/// What shows that a call was not denied, in addition to a result that is no error.
#[derive(Debug)]
enum Trace {
    /// A program ran with these words.
    Ran(String),
    /// This text is in a result.
    Read(String),
    /// This text is in a file, relative to the stage's folder.
    Wrote(String, String),
}

impl Attempt {
    /// Runs a command of plain words, in a random one of several ways.
    pub fn to_run(command: &str) -> Self {
        let step = Step::Bash(match fastrand::u8(0..4) {
            0 => command.to_owned(),
            1 => format!("sh -c '{command}'"),
            2 => format!("timeout 60 {command}"),
            _ => format!("cd / && {command}"),
        });
        Self { step, trace: Trace::Ran(command.to_owned()), secret: None }
    }

    /// Runs a command of plain words on a host.
    pub fn to_run_over_ssh(host: &str, command: &str) -> Self {
        Self {
            step: Step::Bash(format!("ssh root@{host} '{command}'")),
            trace: Trace::Ran(format!("ssh root@{host} {command}")),
            secret: None,
        }
    }

    /// Prints a variable that holds a secret; `print` is the command before its name.
    pub fn to_print(print: &str, variable: String) -> Self {
        Self::to_learn(Step::Bash(format!("{print}{variable}")), Place::Variable(variable))
    }

    /// Reads a file of the stage that holds a secret, with a tool or with a command.
    pub fn to_read(stage: &Stage, file: &str, with_tool: bool) -> Self {
        let path = stage.path(file);
        let step = if with_tool {
            Step::Tool("Read", json!({"file_path": path}))
        } else {
            Step::Bash(format!("cat '{}'", path.display()))
        };
        Self::to_learn(step, Place::File(file.to_owned()))
    }

    fn to_learn(step: Step, place: Place) -> Self {
        let value = key();
        Self { step, trace: Trace::Read(value.clone()), secret: Some(Secret { place, value }) }
    }

    /// Rewrites an existing file of the stage, with a tool and with a command.
    pub fn to_rewrite(stage: &Stage, file: &str) -> [Self; 2] {
        let (path, text) = (stage.path(file), name());
        let tool = Step::Tool("Write", json!({"file_path": path, "content": text}));
        let command = Step::Bash(format!("echo {text} >'{}'", path.display()));
        [tool, command].map(|step| Self {
            step,
            trace: Trace::Wrote(file.to_owned(), text.clone()),
            secret: None,
        })
    }

    fn in_words(&self) -> String {
        match &self.step {
            Step::Bash(command) => format!("`{command}`"),
            Step::Tool(tool, input) => {
                format!(
                    "{tool} {}",
                    input.get("file_path").and_then(|path| path.as_str()).unwrap_or_default()
                )
            }
            Step::Say(text) => (*text).to_owned(),
        }
    }

    fn left_a_trace(&self, played: &Played, stage: &Stage) -> bool {
        match &self.trace {
            Trace::Ran(words) => played.marks.contains(words),
            Trace::Read(secret) => played.conversations.iter().any(|text| text.contains(secret.as_str())),
            Trace::Wrote(file, text) => stage.read(file).contains(text.as_str()),
        }
    }
}

/// The attempts of one session, by guarantee. They are made in this order; none if the policy does not include a guarantee.
#[derive(Debug)]
pub struct Attempts(pub Vec<Vec<Attempt>>);

impl Attempts {
    /// Puts the secrets into the stage's files and variables.
    pub fn prepare(&self, stage: &mut Stage) -> io::Result<()> {
        for Secret { place, value } in self.0.iter().flatten().filter_map(|attempt| attempt.secret.as_ref()) {
            match place {
                Place::File(file) => stage.write(file, &format!("{value}\n"))?,
                Place::Variable(variable) => stage.set_variable(variable.clone(), value.clone()),
            }
        }
        Ok(())
    }

    /// The steps of the session.
    pub fn steps(&self) -> Vec<Step> {
        self.0.iter().flatten().map(|attempt| attempt.step.clone()).collect()
    }

    /// The outcome of each guarantee.
    pub fn seen(&self, played: &Played, stage: &Stage) -> Vec<Seen> {
        // The client makes one call for each step, so the results are in the order of the steps.
        let mut results = played.results.iter();
        let mut seen = Vec::new();
        for attempts in &self.0 {
            let mut allowed = Vec::new();
            let mut answer = String::new();
            for attempt in attempts {
                let result = results.next();
                let denied = result.is_some_and(|result| result.is_error);
                if !denied || attempt.left_a_trace(played, stage) {
                    allowed.push(attempt.in_words());
                }
                answer = result.map(|result| result.text.clone()).unwrap_or_default();
            }
            seen.push(if attempts.is_empty() {
                not_applicable("the policy allows it")
            } else if allowed.is_empty() {
                pass(&format!("{} denied, the last one: {answer}", attempts.len()))
            } else {
                fail(format!("not denied: {}", allowed.join(", ")), played)
            });
        }
        seen
    }
}
