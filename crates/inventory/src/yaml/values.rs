//! Texts that are checked while they are read.

use std::marker::PhantomData;

use opsctl_policy::model::rights::policy::is_model;
use opsctl_policy::paths::file_entry;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use crate::check::values::{is_dns_name, is_host_address, is_http_url, is_variable};

/// A text that the rule accepts.
#[derive(Debug, Clone)]
pub struct Text<R>(pub String, PhantomData<R>);

/// What a text must be.
pub trait Rule {
    /// What a text is not, and the remedy behind `; `; `None` for a valid text.
    fn problem(text: &str) -> Option<String>;
}

impl<'de, R: Rule> Deserialize<'de> for Text<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match R::problem(&text) {
            Some(problem) => Err(D::Error::custom(problem)),
            None => Ok(Self(text, PhantomData)),
        }
    }
}

impl<R> Serialize for Text<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The texts of a list.
pub fn texts<R>(list: Vec<Text<R>>) -> Vec<String> {
    list.into_iter().map(|text| text.0).collect()
}

/// Defines rules: the condition of a valid text, and what another text is not.
macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident: $is_valid:expr, $problem:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone)]
        pub struct $name;

        impl Rule for $name {
            fn problem(text: &str) -> Option<String> {
                let is_valid: fn(&str) -> bool = $is_valid;
                (!is_valid(text)).then(|| $problem.to_owned())
            }
        }
    )+};
}

rules! {
    /// A DNS domain.
    Domain: is_dns_name, "is not a DNS name; write a domain such as `example.net`";
    /// The address of a host.
    HostAddress: is_host_address,
        "is neither an IP address nor a host name; write an address such as `192.168.1.10`, `fd00::10` or `nas.lan`";
    /// The URL of a health check.
    HealthUrl: is_http_url, "is not an HTTP URL; write one such as `https://nas.lan/health`";
    /// The URL of a hook.
    HookUrl: is_http_url, "is not an HTTP URL; write one such as `http://127.0.0.1:8080/hook`";
    /// The name of a model.
    Model: is_model, "is not a model name; write one such as `haiku` or `claude-opus-4-1`";
    /// A tool of the client, of an MCP server (`mcp__SERVER__TOOL`), or all tools of a server (`mcp__SERVER`). Specifiers
    /// such as `Bash(git:*)` are refused: the client would apply them, opsctl would not.
    Tool: |tool| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        tool.starts_with(|c: char| c.is_ascii_alphabetic()) && tool.len() <= 128 && tool.chars().all(plain)
    }, "is not a tool name; write one such as `Bash`, `Read` or `mcp__docker__list`; put command prefixes under `deny`";
    /// A prompt file.
    Prompt: is_not_empty, "is not a path; write one such as `/app/prompts/tier1.md`";
    /// A text of a hook.
    NotEmpty: is_not_empty, "is not valid text; write text that is not empty, or remove the key";
    /// A folder with data.
    DataFolder: |folder| folder.starts_with(['/', '~']), "is not an absolute path; write one such as `/tank/media`";
    /// A folder with programs.
    ProgramFolder: |folder| folder.starts_with('/') && !folder.contains([':', '\0', '\n']),
        "is not an absolute path; write one such as `/usr/local/bin`";
    /// The name of an environment variable.
    EnvironmentName: is_variable,
        "is not the name of an environment variable; write its name without `$`, such as `GITEA_TOKEN`";
}

fn is_not_empty(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0')
}

/// A path or glob of context files.
#[derive(Debug, Clone)]
pub struct FileEntry;

impl Rule for FileEntry {
    fn problem(text: &str) -> Option<String> {
        let error = file_entry::check(text).err()?;
        let remedy = "write a path or a glob such as `docs/network.md`, `runbooks/**/*.md` or `${PROJECT_PATH}/CLAUDE.md`";
        Some(format!("is not a valid file entry: {error}; {remedy}"))
    }
}
