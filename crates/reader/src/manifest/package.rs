//! `package.json`: the scripts of a package.

use serde::Deserialize;

use super::Commands;
use super::value::{Map, Value};

#[derive(Deserialize)]
struct PackageWire {
    #[serde(default)]
    scripts: Map,
}

/// What `npm run NAME` runs: the script before it, the script, and the one after it. `arguments` is text for a shell that
/// follows the script.
pub fn commands(text: &str, name: &str, arguments: &str) -> Commands {
    let Ok(PackageWire { scripts }) = serde_saphyr::from_str(text.trim_start_matches('\u{feff}')) else {
        return Commands { is_partial: true, ..Commands::default() };
    };
    let script = |name: &str| scripts.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut names = vec![name];
    // Without a script of its own, a restart stops and starts.
    if name == "restart" && script(name).is_none() {
        names = vec!["stop", "restart", "start"];
    }
    let mut found = Vec::new();
    let mut is_partial = true;
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
