//! Files that state what a tool does: makefiles, `package.json`, justfiles, Taskfiles, tasks of mise, settings of git and units state commands, playbooks,
//! compose files and Kubernetes manifests targets. Each module turns the text of such a file into lines of shell or names, and opens nothing.

pub mod compose;
pub mod git;
pub mod host_rights;
pub mod just;
pub mod kubernetes;
pub mod make;
pub mod mise;
pub mod package;
pub mod playbook;
pub mod taskfile;
mod toml;
pub mod unit;
pub mod value;

/// The commands that a tool runs for what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// Shell scripts in the order in which they run, each in a shell of its own.
    pub scripts: Vec<String>,
    /// Variables that the file adds to their environment.
    pub environment: Vec<(String, String)>,
    /// True where the file may run more than these: it includes other files, or a name in it is not found.
    pub is_partial: bool,
}

/// A text with the value of each expression in double braces.
fn filled<'t>(text: &'t str, value: impl Fn(&'t str) -> &'t str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((expression, after)) = after.split_once("}}") else { break };
        out.push_str(value(expression));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Commands, compose, git, just, kubernetes, make, mise, package, playbook, taskfile, unit};

    #[derive(serde::Deserialize)]
    struct Row {
        tool: String,
        text: String,
        /// For words, what the file states for them, one line each; the last one is `…` where it may be more.
        finds: BTreeMap<String, Vec<String>>,
    }

    fn found(tool: &str, text: &str, words: &[&str]) -> Commands {
        let first = words.first().copied().unwrap_or_default();
        let lines = |scripts| Commands { scripts, ..Commands::default() };
        match tool {
            "make" => make::commands(text, words, &[("HOST".to_owned(), "ie01".to_owned())]),
            "just" => just::commands(text, words),
            "task" => taskfile::commands(text, words, ""),
            "mise" => mise::commands(text, first, words.get(1..).unwrap_or_default().join(" ").as_str())
                .unwrap_or(Commands { is_partial: true, ..Commands::default() }),
            "package" => {
                package::commands(text, first, words.get(1..).unwrap_or_default().join(" ").as_str())
            }
            "unit" => Commands { is_partial: !unit::runs_once(text), ..lines(unit::commands(text)) },
            "alias" => lines(git::alias(text, first).into_iter().collect()),
            "hooks" => lines(git::hooks_folder(text).into_iter().collect()),
            "service" => lines(playbook::service(text).into_iter().collect()),
            "managed" => lines(playbook::managed(text)),
            "workloads" => {
                lines(kubernetes::workloads(&[text.to_owned()]).iter().map(ToString::to_string).collect())
            }
            "class" => {
                let class = kubernetes::class(&[text.to_owned()]);
                lines(
                    class
                        .map(|(class, object)| format!("{}: {object}", class.as_str()))
                        .into_iter()
                        .collect(),
                )
            }
            "units" => lines(vec![playbook::manages_unit(text, first).to_string()]),
            _ => {
                let files: Vec<String> = text.split("---\n").map(str::to_owned).collect();
                let project = compose::project(&files, &[]);
                let services =
                    project.services.iter().map(|(name, own)| format!("{name}: {}", own.join(" ")));
                lines(project.name.clone().into_iter().chain(services).collect())
            }
        }
    }

    #[test]
    fn a_file_states_what_its_tool_does() {
        let rows: Vec<Row> = crate::languages::cases::rows("manifests");
        for Row { tool, text, finds } in rows {
            for (words, expected) in finds {
                let found = found(&tool, &text, &words.split_whitespace().collect::<Vec<_>>());
                assert!(found.scripts.iter().all(|line| line.len() <= 32 * 1024), "{text}");
                let more = found.is_partial.then(|| "…".to_owned());
                let lines: Vec<String> =
                    found.scripts.into_iter().filter(|line| line.len() < 1_000).chain(more).collect();
                assert_eq!(lines, expected, "{tool} {words}\n{text}");
            }
        }
    }
}
