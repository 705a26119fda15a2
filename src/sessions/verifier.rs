//! The verification by a model: a client of tier 1 with the verification prompt, after a session that acted.
//!
//! Settings of a project contain this prompt as an agent hook, for clients that opsctl does not start. Managed settings leave
//! the verification to this module: the client would ask the hook at the end of every turn, also after a session that did nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::child::Ended;
use super::output::stream::Account;
use crate::machine::client::refusals;

/// The form of its answer, as a JSON schema.
pub const SCHEMA: &str = r#"{"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}, "reason": {"type": "string"}}}"#;

/// The verifier of a session.
pub struct Verifier {
    /// Its model.
    pub model: String,
    /// The client's arguments for tier 1, with [`SCHEMA`].
    pub limits: Vec<String>,
    /// The verification prompt.
    pub prompt: String,
    /// The timeout of one verification.
    pub deadline: Duration,
}

impl Verifier {
    /// The prompt for a session, as the client completes that of an agent hook.
    pub fn prompt(&self, session: &str, projects: &Path, project: &Path, words: &str) -> String {
        let input = json!({
            "session_id": session,
            "transcript_path": refusals::transcripts(projects, session).find(|path| path.exists()),
            "cwd": project,
            "hook_event_name": "Stop",
            "last_assistant_message": words,
        });
        self.prompt.replace("$ARGUMENTS", &input.to_string())
    }
}

/// What a verifier found: the reason of an objection, or `None` if nothing is unhealthy. The error is why there is no answer.
pub fn objection(account: Option<&Account>, ended: &io::Result<Ended>) -> Result<Option<String>, String> {
    let Some(verdict) = account.and_then(|account| account.verdict.as_ref()) else {
        return Err(match (ended, account) {
            (Err(error), _) => error.to_string(),
            (Ok(Ended::Deadline), _) => "it did not end in time".to_owned(),
            (_, Some(account)) => account.words.clone(),
            (_, None) => "the client ended without a result".to_owned(),
        });
    };
    let reason = || verdict.reason.clone().unwrap_or_else(|| "it gave no reason".to_owned());
    Ok((!verdict.ok).then(reason))
}
