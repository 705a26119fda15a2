//! Definitions of MCP servers: the files that list them, and what of a repository's definition is used.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::machine::programs;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;

/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The prefix of variables that `opsctl mcp run` passes on without it. Under their own names, they would also apply to
/// opsctl: `LD_PRELOAD`.
pub const PASSED_ON: &str = "OPSCTL_MCP_";

/// Environment variables that every server of a repository gets, if they are set.
pub const COMMON: [&str; 9] = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER"];

/// Why the servers of a file are left out. No text quotes the file, which may hold secrets.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum ServersError {
    #[error("{0} bytes are more than 1 MiB")]
    TooLarge(u64),
    #[error("the file cannot be read ({0})")]
    Unreadable(io::Error),
    #[error("invalid JSON at line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("no object `mcpServers`")]
    NoServers,
    #[error("`{}` is not a valid server name", .0.escape_debug())]
    Name(String),
    #[error("server `{0}` has neither `command` nor `url`")]
    Neither(String),
}

/// Why the server of a repository is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum DefinitionError {
    #[error("its key `{}` is not supported in a repository; remove it, or define the server in the baseline", .0.escape_debug())]
    Key(String),
    #[error("the value of its key `{0}` has the wrong type; correct it")]
    Type(&'static str),
    #[error(
        "it uses the variable `{}`; add this name to `env` of the server in hosts.yaml, or remove it from the definition",
        .0.escape_debug()
    )]
    Variable(String),
}

/// The servers in a file; `None` if it does not exist.
pub fn servers(file: &Path) -> Result<Option<Map<String, Value>>, ServersError> {
    let text = match plain_file::read_no_link(file, MAX_BYTES) {
        Ok(Content::Bytes(text)) => text,
        Ok(Content::TooLarge(bytes)) => return Err(ServersError::TooLarge(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(ServersError::Unreadable(error)),
    };
    let mut whole: Value = serde_json::from_slice(&text)
        .map_err(|error| ServersError::NotJson { line: error.line(), column: error.column() })?;
    let Some(Value::Object(servers)) = whole.get_mut("mcpServers").map(Value::take) else {
        return Err(ServersError::NoServers);
    };
    for (name, server) in &servers {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(ServersError::Name(name.clone()));
        }
        let text = |key: &str| server.get(key).is_some_and(Value::is_string);
        if !text("command") && !text("url") {
            return Err(ServersError::Neither(name.clone()));
        }
    }
    Ok(Some(servers))
}

/// The content of a file with these servers.
pub fn in_file(servers: &Map<String, Value>) -> String {
    format!("{:#}\n", json!({"mcpServers": servers}))
}

/// The definition that the client gets for a server of a repository: a program starts through `opsctl mcp run`, which
/// gives it only the variables of [`COMMON`], of `env`, and of its own definition.
pub fn isolated(server: &Value, env: &[String], opsctl: &str) -> Result<Value, DefinitionError> {
    let Some(server) = server.as_object() else { return Err(DefinitionError::Type("mcpServers")) };
    if let Some(name) = variables(server).into_iter().find(|name| !env.contains(name)) {
        return Err(DefinitionError::Variable(name));
    }
    let is_program = server.contains_key("command");
    let known: &[&str] =
        if is_program { &["type", "command", "args", "env"] } else { &["type", "url", "headers"] };
    if let Some(key) = server.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(DefinitionError::Key(key.clone()));
    }
    if !is_program {
        texts_of(server, "headers")?;
        return Ok(Value::Object(server.clone()));
    }
    let command = server.get("command").and_then(Value::as_str).ok_or(DefinitionError::Type("command"))?;
    let given = server.get("args").map_or(Ok(vec![]), Vec::<&str>::deserialize);
    let given = given.map_err(|_| DefinitionError::Type("args"))?;
    let mut args = vec!["mcp", "run"];
    args.extend(env.iter().flat_map(|name| ["--env", name.as_str()]));
    args.extend(["--", command]);
    args.extend(given);
    let own: Map<String, Value> = texts_of(server, "env")?
        .into_iter()
        .map(|(name, value)| (format!("{PASSED_ON}{name}"), json!(value)))
        .collect();
    Ok(json!({"type": "stdio", "command": opsctl, "args": args, "env": own}))
}

/// The program of a server if it is not installed. `None` also if that cannot be determined: for a relative path, and where
/// the client expands a variable.
pub fn missing_program(server: &Value) -> Option<String> {
    let known = |value: &Value| value.as_str().filter(|text| !text.contains("${")).map(str::to_owned);
    let program = server.get("command").and_then(known)?;
    let is_installed = if Path::new(&program).is_absolute() {
        programs::is_program(Path::new(&program))
    } else if program.contains('/') {
        true
    } else {
        let path = match server.get("env").and_then(|env| env.get("PATH")) {
            Some(path) => OsString::from(known(path)?),
            None => std::env::var_os("PATH")?,
        };
        programs::find(&program, &path).is_some()
    };
    (!is_installed).then_some(program)
}

/// The entries of a key whose value is a map of texts; empty without the key.
fn texts_of<'a>(
    server: &'a Map<String, Value>,
    key: &'static str,
) -> Result<Vec<(&'a str, &'a str)>, DefinitionError> {
    let wrong = || DefinitionError::Type(key);
    let Some(value) = server.get(key) else { return Ok(vec![]) };
    let entries = value.as_object().ok_or_else(wrong)?.iter();
    entries.map(|(name, value)| Ok((name.as_str(), value.as_str().ok_or_else(wrong)?))).collect()
}

/// The environment variables that the client would expand in a definition: `${NAME}` and `${NAME:-default}`.
fn variables(server: &Map<String, Value>) -> Vec<String> {
    fn of(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::String(text) => names.extend(text.split("${").skip(1).map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                rest.get(..end).unwrap_or_default().to_owned()
            })),
            Value::Array(values) => values.iter().for_each(|value| of(value, names)),
            Value::Object(values) => values.values().for_each(|value| of(value, names)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut names = Vec::new();
    server.values().for_each(|value| of(value, &mut names));
    names
}
