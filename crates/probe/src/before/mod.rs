//! What tools state of a target before an action, and the command that returns to it. It is never run.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::health::programs::run;
use crate::health::{Rights, Way, quoted};
use crate::runtime;

/// The list of what tools state.
static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("before.yaml")).unwrap_or_default());

/// How long all looks may take together: the action waits for them.
const LIMIT: Duration = Duration::from_secs(3);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    r#for: Vec<String>,
    verb: Option<String>,
    finds: Option<String>,
    look: String,
    json: Option<String>,
    #[serde(default)]
    is: BTreeMap<String, String>,
    #[serde(default)]
    state: String,
    undo: String,
}

/// An action that is about to run.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its command, with the target as its last word.
    pub command: String,
    /// What it does: `stop`, `deploy`.
    pub verb: &'static str,
    /// The namespace of the target.
    pub namespace: Option<String>,
    /// The way to its host.
    pub way: Way,
}

/// The state before an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// In words: `running`, `3 replicas`.
    pub state: String,
    /// The command that returns to it.
    pub undo: String,
}

/// Whether a tool states what is before this command, which does this: `stop`, `deploy`.
pub fn is_known(command: &str, verb: &str) -> bool {
    Look::of(command, verb, None).is_some()
}

/// The states before these actions; `None` where no tool states one, or not in time.
pub fn look(asked: Vec<Asked>) -> Vec<Option<Before>> {
    let count = asked.len();
    let looks = async {
        let mut found = vec![None; count];
        let mut looks = JoinSet::new();
        for (index, asked) in asked.into_iter().enumerate() {
            looks.spawn(async move { (index, timeout(LIMIT, before(&asked)).await.ok().flatten()) });
        }
        while let Some(looked) = looks.join_next().await {
            if let Ok((index, before)) = looked
                && let Some(slot) = found.get_mut(index)
            {
                *slot = before;
            }
        }
        found
    };
    runtime::run(looks).unwrap_or_else(|_| vec![None; count])
}

async fn before(asked: &Asked) -> Option<Before> {
    Look::of(&asked.command, asked.verb, asked.namespace.as_deref())?.before(&asked.way).await
}

/// A row with the words of a command.
struct Look<'a> {
    row: &'static Row,
    program: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
}

impl<'a> Look<'a> {
    /// The row of a command whose target is a plain name.
    fn of(command: &'a str, verb: &str, namespace: Option<&'a str>) -> Option<Self> {
        let (before, name) = command.rsplit_once(' ')?;
        let is_of = |row: &&Row| {
            row.r#for.iter().any(|start| {
                before
                    .strip_prefix(start.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(" -"))
            })
        };
        let row = ROWS.iter().find(is_of)?;
        if row.verb.as_ref().is_some_and(|only| only != verb) {
            return None;
        }
        let (program, _) = command.split_once(' ')?;
        (is_name(name) && namespace.is_none_or(is_name)).then_some(Self { row, program, name, namespace })
    }

    /// A text of the row with its words, each replaced as a whole, so that no value can be taken for a placeholder.
    fn words(&self, text: &str, before: &str) -> Vec<String> {
        let namespace = self.namespace.map(|namespace| format!("--namespace={namespace}"));
        let (image, _) = before.split_once('@').unwrap_or((before, ""));
        let filled = |word: &str| match word {
            "NAMESPACE" => namespace.clone(),
            "PROGRAM" => Some(self.program.to_owned()),
            "NAME" => Some(self.name.to_owned()),
            "IMAGE" => before.split_once('@').map(|(_, name)| name.to_owned()),
            "BEFORE" | "CONTAINER" => Some(image.to_owned()),
            word => Some(match word.rsplit_once('=') {
                Some((front, "NAME")) => format!("{front}={}", self.name),
                Some(("NAME", "BEFORE")) => format!("{}={image}", self.name),
                Some((front, "BEFORE")) => format!("{front}={image}"),
                _ => word.to_owned(),
            }),
        };
        text.split(' ').filter_map(filled).collect()
    }

    async fn before(&self, way: &Way) -> Option<Before> {
        let container = match &self.row.finds {
            None => String::new(),
            Some(finds) => self.said(&self.words(finds, ""), way).await?.lines().next()?.to_owned(),
        };
        let said = self.said(&self.words(&self.row.look, &container), way).await?;
        self.read(&said)
    }

    async fn said(&self, words: &[String], way: &Way) -> Option<String> {
        let (words, rights) = match words.split_first() {
            Some((program, rest)) if program == "kubectl" => {
                ([way.kubectl(), rest.to_vec()].concat(), Rights::Own)
            }
            _ => (words.to_vec(), Rights::Root),
        };
        let said = run(&words, rights, way, LIMIT).await.ok()?;
        // `systemctl is-active` ends with a failure for what is inactive.
        Some(said.stdout.trim().to_owned()).filter(|said| !said.is_empty())
    }

    /// The state in what the tool has printed.
    fn read(&self, said: &str) -> Option<Before> {
        let value = match &self.row.json {
            None => said.to_owned(),
            Some(at) => match serde_json::from_str::<Value>(said).ok()?.pointer(at)? {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        };
        let state = if self.row.is.is_empty() {
            // An image is named with its digest.
            is_name(&value.replace(['@', '+'], "")).then(|| self.words(&self.row.state, &value).join(" "))
        } else {
            self.row.is.get(&value).cloned()
        };
        let undo = self.words(&self.row.undo, &value);
        let undo = undo.iter().map(|word| if word == "&&" { word.clone() } else { quoted(word) });
        Some(Before { state: state?, undo: undo.collect::<Vec<_>>().join(" ") })
    }
}

/// Whether a word is a name, and no option.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_with_the_command_that_returns_to_them() {
        for (command, said, expected) in [
            ("docker stop jellyfin", "running", Some(("running", "docker start jellyfin"))),
            ("docker stop jellyfin", "exited", None),
            ("podman kill a_b-1", "running", Some(("running", "podman start a_b-1"))),
            ("docker start jellyfin", "exited", Some(("stopped", "docker stop jellyfin"))),
            ("docker restart jellyfin", "running", None),
            ("docker rm -f jellyfin", "running", None),
            ("docker service scale web", "3", Some(("3 replicas", "docker service scale web=3"))),
            ("docker service scale web", "x; reboot", None),
            ("systemctl stop nginx.service", "active", Some(("active", "systemctl start nginx.service"))),
            ("systemctl start nginx", "failed", Some(("failed", "systemctl stop nginx"))),
            (
                "kubectl scale deploy/web",
                "2",
                Some(("2 replicas", "kubectl --namespace=media scale deploy/web --replicas=2")),
            ),
            (
                "kubectl set image deploy/web",
                "7",
                Some(("revision 7", "kubectl --namespace=media rollout undo deploy/web --to-revision=7")),
            ),
            (
                "helm upgrade web",
                r#"[{"revision": 4}]"#,
                Some(("revision 4", "helm --namespace=media rollback web 4")),
            ),
            ("helm upgrade web", "Error: release: not found", None),
            ("qm shutdown 101", "status: running", Some(("running", "qm start 101"))),
            (
                "docker compose up web",
                "sha256:0123abcd@nginx:1.27",
                Some((
                    "image sha256:0123abcd",
                    "docker tag sha256:0123abcd nginx:1.27 && docker compose up -d --pull never web",
                )),
            ),
        ] {
            let look = Look::of(command, "deploy", Some("media"));
            let found = look.and_then(|look| look.read(said)).map(|Before { state, undo }| (state, undo));
            let expected = expected.map(|(state, undo)| (state.to_owned(), undo.to_owned()));
            assert_eq!(found, expected, "{command}: {said}");
        }
        assert!(!is_known("docker compose up web", "start") && is_known("docker compose up web", "deploy"));
        for command in ["docker stop $(docker ps)", "docker stop --help", "docker stop a;b", "docker stop"] {
            assert!(!is_known(command, "stop"), "{command}");
        }
    }

    #[test]
    fn each_row_states_what_it_looks_for() {
        assert!(!ROWS.is_empty());
        for row in ROWS.iter() {
            assert_eq!(row.is.is_empty(), row.undo.contains("BEFORE"), "{:?}", row.r#for);
            assert_eq!(row.is.is_empty(), !row.state.is_empty(), "{:?}", row.r#for);
        }
    }
}
