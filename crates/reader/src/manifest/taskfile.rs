//! Taskfiles: the commands of a task and of its dependencies.

use std::collections::BTreeMap;

use super::Commands;
use super::value::{Map, Value};

/// Maximum number of tasks that are followed.
const MOST_TASKS: usize = 64;
/// What an expression becomes that is not followed: a variable of the shell that is not set.
const EXPRESSION: &str = "${TASK_EXPRESSION}";

type Variables = BTreeMap<String, String>;

/// What `task` runs for its words: tasks, and `NAME=value`; without a task, `default`. `rest` are the words after `--`.
pub fn commands(text: &str, words: &[&str], rest: &str) -> Commands {
    let file: Option<Value> = serde_saphyr::from_str(text).ok();
    let Some(file) = file.as_ref().and_then(Value::as_map) else {
        return Commands { is_partial: true, ..Commands::default() };
    };
    let mut variables = Variables::from([("CLI_ARGS".to_owned(), rest.to_owned())]);
    add(&mut variables, file.get("vars"));
    let mut names = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((name, value)) => drop(variables.insert(name.to_owned(), value.to_owned())),
            None => names.push(*word),
        }
    }
    if names.is_empty() {
        names.push("default");
    }
    let mut found = Commands { is_partial: file.get("includes").is_some(), ..Commands::default() };
    found.environment = pairs(file.get("env"), &variables);
    let mut run = Run { tasks: file.get("tasks").and_then(Value::as_map), found, left: MOST_TASKS };
    for name in names {
        run.follow(name, &variables);
    }
    run.found
}

struct Run<'a> {
    tasks: Option<&'a Map>,
    found: Commands,
    left: usize,
}

impl Run<'_> {
    /// Adds the commands of a task, after those of its dependencies.
    fn follow(&mut self, name: &str, outer: &Variables) {
        let has_alias =
            |task: &Value| task.get("aliases").is_some_and(|all| all.texts().any(|one| one == name));
        let tasks = self.tasks;
        let task = tasks.and_then(|tasks| tasks.get(name)).or_else(|| {
            tasks.into_iter().flat_map(Map::iter).find(|(_, task)| has_alias(task)).map(|(_, task)| task)
        });
        let Some((task, left)) = task.zip(self.left.checked_sub(1)) else {
            self.found.is_partial = true;
            return;
        };
        self.left = left;
        let mut variables = outer.clone();
        add(&mut variables, task.get("vars"));
        // What a caller states counts more.
        variables.extend(outer.iter().map(|(name, value)| (name.clone(), value.clone())));
        variables.insert("TASK".to_owned(), name.to_owned());
        self.found.environment.extend(pairs(task.get("env"), &variables));
        let folder = task.get("dir").and_then(Value::as_str).map(|folder| filled(folder, &variables));
        let keys = ["deps", "preconditions", "status", "cmd", "cmds"];
        let stated = keys.into_iter().filter_map(|key| Some((key, task.get(key)?)));
        // A task may be just its commands.
        let own = Some(("cmds", task)).filter(|(_, task)| task.as_map().is_none());
        for (key, commands) in stated.chain(own) {
            let (items, is_list) =
                commands.as_list().map_or((std::slice::from_ref(commands), false), |list| (list, true));
            for item in items {
                self.item(item, is_list && key == "deps", &variables, folder.as_deref());
            }
        }
    }

    /// Adds one command, which may be a task.
    fn item(&mut self, item: &Value, is_task: bool, variables: &Variables, folder: Option<&str>) {
        if let Some(text) = item.as_str() {
            if is_task {
                return self.follow(text, variables);
            }
            let command = filled(text, variables);
            self.found.scripts.push(match folder {
                Some(folder) => format!("cd '{folder}' && {{ {command}\n}}"),
                None => command,
            });
            return;
        }
        let mut rounds = vec![variables.clone()];
        match item.get("for") {
            Some(Value::List(values)) => {
                let with = |value: &Value| {
                    let mut own = variables.clone();
                    own.insert("ITEM".to_owned(), value.as_str().unwrap_or(EXPRESSION).to_owned());
                    own
                };
                rounds = values.iter().map(with).collect();
            }
            Some(_) => self.found.is_partial = true,
            None => {}
        }
        for mut own in rounds.into_iter().take(MOST_TASKS) {
            add(&mut own, item.get("vars"));
            if let Some(name) = item.get("task").and_then(Value::as_str) {
                self.follow(&filled(name, &own), &own);
            }
            for key in ["cmd", "sh", "defer"] {
                if let Some(inner) = item.get(key) {
                    self.item(inner, false, &own, folder);
                }
            }
        }
    }
}

/// Adds variables, each with its text or with the output of a script.
fn add(variables: &mut Variables, stated: Option<&Value>) {
    for (name, value) in stated.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        let text = match (value.as_str(), value.get("sh").and_then(Value::as_str)) {
            (Some(text), _) => filled(text, variables),
            (None, Some(script)) => format!("$({})", filled(script, variables)),
            (None, None) => EXPRESSION.to_owned(),
        };
        variables.insert(name.to_owned(), text);
    }
}

fn pairs(stated: Option<&Value>, variables: &Variables) -> Vec<(String, String)> {
    let entries = stated.and_then(Value::as_map).into_iter().flat_map(Map::iter);
    entries.filter_map(|(name, value)| Some((name.to_owned(), filled(value.as_str()?, variables)))).collect()
}

/// The text with the values of `{{.NAME}}` and `{{.NAME | default "value"}}`.
fn filled(text: &str, variables: &Variables) -> String {
    super::filled(text, |expression| {
        let (name, change) =
            expression.split_once('|').map_or((expression, ""), |(name, change)| (name, change.trim()));
        let known = name.trim().strip_prefix('.').and_then(|name| variables.get(name));
        let default = change.strip_prefix("default").map(|value| value.trim().trim_matches(['"', '\'', '`']));
        match (known, default) {
            (Some(value), _) if change.is_empty() || default.is_some() => value,
            (None, Some(value)) => value,
            _ => EXPRESSION,
        }
    })
}
