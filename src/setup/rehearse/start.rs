//! How a client is started for a rehearsal: with a scripted model, all tools allowed, and no other restriction than its hooks.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::cast::key;
use crate::machine::client::clients::Client;

/// The tools of the agent.
const TOOLS: &str = "Bash,Read,Write,Task";

/// The prompt of the session.
const PROMPT: &str = "Check the services.";

/// Files in the home of the session that the client needs.
pub fn home_files(client: Client, bin: &Path) -> Vec<(&'static str, String)> {
    match client {
        Client::ClaudeCode => vec![],
        // Its commands run in a login shell, which sets the search path anew.
        Client::Codex => vec![
            ("home/.codex/version.json", "{}".to_owned()),
            ("home/.bash_profile", format!("PATH='{}':$PATH\n", bin.display())),
        ],
        Client::Gemini => {
            let settings = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": false},
                "privacy": {"usageStatisticsEnabled": false},
            });
            vec![("home/.gemini/settings.json", settings.to_string())]
        }
    }
}

/// Adds the arguments and the variables of the client. `model` is the address of the scripted model.
pub fn arguments(command: &mut Command, client: Client, project: &Path, model: &str) -> io::Result<()> {
    match client {
        Client::ClaudeCode => command
            .args(["-p", PROMPT, "--model", "haiku", "--output-format", "stream-json", "--verbose"])
            .args(["--tools", TOOLS, "--allowedTools", TOOLS, "--permission-mode", "dontAsk"])
            .env("ANTHROPIC_BASE_URL", model)
            .env("ANTHROPIC_API_KEY", key()),
        Client::Codex => {
            let project = project.to_str().ok_or_else(|| io::Error::other("the folder is not UTF-8"))?;
            let provider = format!(
                "model_providers.rehearsal={{name=\"rehearsal\",base_url=\"{model}/v1\",wire_api=\"responses\",\
                 env_key=\"CODEX_API_KEY\",request_max_retries=0,stream_max_retries=0,supports_websockets=false}}"
            );
            command
                .args(["exec", "--json", "--skip-git-repo-check", "--model", "gpt-5.5"])
                .args(["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"])
                .args([
                    "-c",
                    &provider,
                    "-c",
                    "model_provider=\"rehearsal\"",
                    "-c",
                    "allow_login_shell=false",
                ])
                .args(["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"])
                .args(["-c", &format!("projects={{\"{project}\"={{trust_level=\"trusted\"}}}}")])
                .arg(PROMPT)
                .env("CLAUDE_PROJECT_DIR", project)
                .env("CODEX_API_KEY", key())
        }
        Client::Gemini => command
            .args(["-p", PROMPT, "--yolo", "--model", "gemini-2.5-flash"])
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("GOOGLE_GEMINI_BASE_URL", model)
            .env("GEMINI_API_KEY", key()),
    };
    Ok(())
}
