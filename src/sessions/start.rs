//! Starts of the client: for a session, when it goes on, and for its verifier.

use std::io;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::Command;
use tokio::sync::mpsc::Receiver;

use super::child::{self, Ended, Heard};
use super::session::Session;
use super::{credentials, pinned};
use crate::machine::notify::session_socket;
use opsctl_machine::held_variables::variable;
use opsctl_policy::model::rights::policy::Tier;

/// A start of the client.
pub struct Start<'a> {
    /// The tier.
    pub tier: Tier,
    /// The id of the session.
    pub id: String,
    /// Whether the session goes on.
    pub is_resumed: bool,
    /// The arguments of layers 1 and 2.
    pub limits: &'a [String],
    /// The prompt.
    pub prompt: String,
    /// Whether it is the verifier of another session.
    pub is_verifier: bool,
}

impl Start<'_> {
    /// Runs it to its end, and passes every line to `hear`. `socket` is that of deliveries; a signal that is `asked` ends it.
    pub async fn run(
        &self,
        session: &Session<'_>,
        socket: &str,
        deadline: Duration,
        asked: &mut Receiver<Signal>,
        hear: impl FnMut(Heard),
    ) -> io::Result<Ended> {
        let Session { environment, runner, .. } = session;
        let mut arguments: Vec<String> =
            ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).to_vec();
        arguments.push(if self.is_resumed { "--resume" } else { "--session-id" }.to_owned());
        arguments.push(self.id.clone());
        arguments.extend(self.limits.iter().cloned());
        let number = self.tier.number().to_string();
        let mut variables = vec![
            ("CLAUDEOPS_TIER", number.as_str()),
            ("CLAUDE_SESSION_ID", self.id.as_str()),
            (session_socket::VARIABLE, socket),
        ];
        if self.is_verifier {
            // It is asked for no report.
            variables.push(("CLAUDE_SESSION_MODE", ""));
        }
        let get = |name: &str| variable(name)?.into_string().ok();
        arguments.push("--settings".to_owned());
        arguments.push(pinned::settings(get, &variables, session.settings, session.hooks.clone()));
        let mut command = Command::new(&runner.client);
        command.args(arguments).envs(variables).current_dir(&environment.project_dir);
        child::run(command, credentials::of(get)?, self.prompt.clone(), deadline, asked, hear).await
    }
}
