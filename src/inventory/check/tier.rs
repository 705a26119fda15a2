//! One tier: who runs it, with what, and for how long.

use std::path::PathBuf;

use serde_saphyr::Spanned;

use super::policy::check_duration;
use super::{Checked, wrong};
use crate::inventory::wire::TierWire;
use crate::model::policy::{TierPolicy, is_model};

/// Puts what is stated in the place of the defaults in `slot`.
pub fn check(slot: &mut TierPolicy, wire: TierWire) -> Checked<()> {
    if let Some(model) = wire.model {
        slot.model = check_model(model)?;
    }
    if let Some(tools) = wire.tools {
        slot.tools = tools.into_iter().map(check_tool).collect::<Checked<_>>()?;
    }
    if let Some(allow) = wire.allow {
        slot.allow = allow.into_iter().map(Into::into).collect();
    }
    slot.deny = wire.deny.iter().map(check_prefix).collect::<Checked<_>>()?;
    if let Some(deadline) = wire.deadline {
        slot.deadline = check_duration(&deadline)?;
    }
    slot.prompt = wire.prompt.map(check_prompt).transpose()?;
    Ok(())
}

fn check_model(model: Spanned<String>) -> Checked<String> {
    if !is_model(&model.value) {
        return Err(wrong(
            &model,
            "is not the name of a model",
            "write one such as `haiku` or `claude-opus-4-1`",
        ));
    }
    Ok(model.value)
}

/// The tool of an MCP server is written `mcp__SERVER__TOOL`, all of its tools `mcp__SERVER`. The client
/// takes a list that is separated by commas, and would read a specifier such as `Bash(git:*)` as a limit
/// that its other layers do not know of.
fn check_tool(tool: Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = tool.value.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || tool.value.len() > 128 || !tool.value.chars().all(plain) {
        return Err(wrong(
            &tool,
            "is not the name of a tool",
            "write one such as `Bash`, `Read` or `mcp__docker__list`; limits to commands go under `deny`",
        ));
    }
    Ok(tool.value)
}

/// It stands in a list of the client's, between brackets.
fn check_prefix(prefix: &Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_graphic() && !"(),:*\"'\\`$;|&<>".contains(c);
    let words: Vec<&str> = prefix.value.split_whitespace().collect();
    if words.is_empty() || !words.iter().all(|word| word.chars().all(plain)) {
        return Err(wrong(
            prefix,
            "is not the beginning of a command",
            "write its first words as they are typed, such as `docker exec`",
        ));
    }
    Ok(words.join(" "))
}

fn check_prompt(prompt: Spanned<String>) -> Checked<PathBuf> {
    if prompt.value.trim().is_empty() || prompt.value.contains('\0') {
        return Err(wrong(&prompt, "is not a path", "write one such as `/app/prompts/tier1.md`"));
    }
    Ok(PathBuf::from(prompt.value))
}
