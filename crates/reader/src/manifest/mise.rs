//! Tasks of mise: the commands of a task and of those that it depends on.

use super::value::{Map, Value};
use super::{Commands, toml};

/// Maximum number of tasks that are followed.
const MOST_TASKS: usize = 64;

/// What `mise run` runs for a task; `None` where the file has no such task. `arguments` is text for a shell that follows the
/// last command.
pub fn commands(text: &str, name: &str, arguments: &str) -> Option<Commands> {
    let file = toml::read(text);
    let tasks = file.get("tasks")?;
    task(tasks, name)?;
    let mut found = Commands::default();
    for (name, value) in file.entries("env") {
        found.environment.extend(value.as_str().map(|value| (name.to_owned(), value.to_owned())));
    }
    follow(tasks, name, arguments, &mut found, &mut { MOST_TASKS });
    Some(found)
}

/// A task by its name or its other name.
fn task<'t>(tasks: &'t Value, name: &str) -> Option<&'t Value> {
    let is_alias = |task: &Value| texts(task.get("alias")).any(|alias| alias == name);
    let mut others = tasks.as_map().into_iter().flat_map(Map::iter);
    tasks.get(name).or_else(|| others.find(|(_, task)| is_alias(task)).map(|(_, task)| task))
}

fn follow(tasks: &Value, name: &str, arguments: &str, found: &mut Commands, left: &mut usize) {
    let Some((task, rest)) = task(tasks, name).zip(left.checked_sub(1)) else {
        found.is_partial = true;
        return;
    };
    *left = rest;
    let named = |key: &str| texts(task.get(key)).map(|name| name.split_once(' ').unwrap_or((name, "")));
    named("depends").for_each(|(name, arguments)| follow(tasks, name, arguments, found, left));
    let runs = if task.as_map().is_some() { task.get("run") } else { Some(task) };
    let mut scripts: Vec<String> = texts(runs).map(|script| filled(script, arguments)).collect();
    scripts.extend(
        task.get("file")
            .and_then(Value::as_str)
            .map(|file| if file.contains('/') { file.to_owned() } else { format!("./{file}") }),
    );
    if let Some(last) = scripts.last_mut().filter(|_| !arguments.is_empty()) {
        last.push(' ');
        last.push_str(arguments);
    }
    // Another shell, and tasks in a list of commands.
    found.is_partial |=
        task.get("shell").is_some_and(|shell| !shell.as_str().is_some_and(|shell| shell.contains("sh")));
    if let Some(folder) = task.get("dir").and_then(Value::as_str) {
        scripts = scripts.iter().map(|script| format!("cd '{folder}' && {{ {script}\n}}")).collect();
    }
    found.scripts.extend(scripts);
    for item in runs.and_then(Value::as_list).unwrap_or_default() {
        for name in texts(item.get("task")).chain(texts(item.get("tasks"))) {
            follow(tasks, name, "", found, left);
        }
    }
    named("depends_post").for_each(|(name, arguments)| follow(tasks, name, arguments, found, left));
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.into_iter().flat_map(Value::texts)
}

/// A script with its arguments in place of `{{arg(…)}}`; other expressions become a variable that is not set.
fn filled(script: &str, arguments: &str) -> String {
    super::filled(script, |expression| {
        let is_argument = expression.trim_start().starts_with("arg(");
        if is_argument && !arguments.is_empty() { arguments } else { "${MISE_EXPRESSION}" }
    })
}
