//! `package.json`: the scripts of a package.

use serde::Deserialize;

use super::Commands;
use super::value::{Map, Value};

#[derive(Deserialize)]
struct PackageWire {
    #[serde(default)]
    scripts: Map,
    /// Those of `deno.json`.
    #[serde(default)]
    tasks: Map,
}

/// What `npm run NAME` runs: the script before it, the script, and the one after it. `arguments` is text for a shell that
/// follows the script.
pub fn commands(text: &str, name: &str, arguments: &str) -> Commands {
    // Lines with a comment are a part of `deno.jsonc`.
    let text: String = text
        .trim_start_matches('\u{feff}')
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let Ok(PackageWire { scripts, tasks }) = serde_saphyr::from_str(&text) else {
        return Commands { is_partial: true, ..Commands::default() };
    };
    let of_task = |task: &Value| task.as_str().or_else(|| task.get("command")?.as_str()).map(str::to_owned);
    let script = |name: &str| {
        let script = scripts.get(name).and_then(Value::as_str).map(str::to_owned);
        script.or_else(|| tasks.get(name).and_then(of_task))
    };
    let mut names = vec![name];
    // Without a script of its own, a restart stops and starts.
    if name == "restart" && script(name).is_none() {
        names = vec!["stop", "restart", "start"];
    }
    let mut found = Vec::new();
    let mut is_partial = true;
    let before = tasks.get(name).and_then(|task| task.get("dependencies")?.as_list()).unwrap_or_default();
    found.extend(before.iter().filter_map(Value::as_str).filter_map(script));
    for name in names {
        found.extend(script(&format!("pre{name}")));
        if let Some(own) = script(name) {
            is_partial = false;
            found.push(if arguments.is_empty() { own } else { format!("{own} {arguments}") });
        }
        found.extend(script(&format!("post{name}")));
    }
    Commands { scripts: found, is_partial, ..Commands::default() }
}
