//! Removes the places of the guard's own files from what it answers: they are of no use to the agent's side.

use std::path::Path;

use serde_json::Value;

use crate::machine::environment::Environment;
use crate::machine::link::message::{Reply, SessionFacts};

/// Paths of the guard that no answer contains.
#[derive(Debug, Default)]
pub struct Veil(Vec<String>);

impl Veil {
    /// For a caller with this session. A folder that has the same path on its side is not hidden.
    pub fn new(own: &Environment, facts: &SessionFacts) -> Self {
        let key = own.approval_key_file();
        let ledger = own.ledger.file();
        let folders = [Some(own.state_dir.as_path()), ledger.and_then(Path::parent), key.parent()];
        let folders = folders.into_iter().flatten().map(|folder| folder.to_string_lossy().into_owned());
        let mut folders: Vec<String> =
            folders.filter(|folder| folder.len() > 1 && *folder != facts.state_dir).collect();
        // A folder before the one that contains it.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        folders.dedup();
        Self(folders)
    }

    /// An answer as JSON.
    pub fn answer(&self, reply: &Reply) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(reply)?;
        self.hide(&mut value);
        Ok(value)
    }

    /// A text.
    pub fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, folder| {
            text.replace(&format!("{folder}/"), "guard:").replace(folder, "the folder of the guard")
        })
    }

    fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.0.iter().any(|folder| text.contains(folder)) => {
                *text = self.text(text);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide(value)),
            Value::Object(entries) => entries.values_mut().for_each(|value| self.hide(value)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_guard_are_replaced_in_every_part_of_an_answer() {
        let own = Environment::from_variables(|name| match name {
            "CLAUDEOPS_STATE_DIR" => Some("/guard/state".into()),
            "CLAUDEOPS_DB_PATH" => Some("/guard/db/l.db".into()),
            _ => None,
        });
        let facts = SessionFacts { state_dir: "/state".into(), ..SessionFacts::default() };
        let reply = Reply::Output {
            code: 1,
            stdout: "/guard/state/desk-token, /state/x".into(),
            stderr: "in /guard/db: /guard/db/l.db".into(),
        };
        let text = Veil::new(&own, &facts).answer(&reply).unwrap().to_string();
        for part in ["guard:desk-token, /state/x", "in the folder of the guard: guard:l.db"] {
            assert!(text.contains(part), "{text}");
        }
        let same = SessionFacts { state_dir: "/guard/state".into(), ..SessionFacts::default() };
        let text = Veil::new(&own, &same).answer(&reply).unwrap().to_string();
        assert!(text.contains("/guard/state/desk-token"), "{text}");
    }
}
