//! The rights of a tier.

use std::path::PathBuf;

use crate::inventory::spanned::Spanned;

use super::values::{check_duration, check_model};
use crate::inventory::error::{Checked, Found, Mistake};
use crate::inventory::yaml::policy::TierWire;
use crate::model::effect::Effect;
use crate::model::policy::TierPolicy;

/// Checks a tier and replaces the defaults in `slot`.
pub fn check(slot: &mut TierPolicy, wire: TierWire, found: &mut Found) {
    if let Some(model) = wire.model {
        found.keep(check_model(&model));
        slot.model = model.value;
    }
    if let Some(tools) = wire.tools {
        slot.tools = found.keep_all(tools.into_iter().map(check_tool));
    }
    if let Some(allow) = wire.allow {
        slot.allow = allow;
    }
    if let Some(effects) = wire.effects {
        slot.effects = effects;
    }
    slot.deny.extend(found.keep_all(wire.deny.iter().map(check_prefix)));
    if let Some(deadline) = wire.deadline {
        slot.deadline = found.keep(check_duration(&deadline)).unwrap_or(slot.deadline);
    }
    slot.prompt = wire.prompt.and_then(|prompt| found.keep(check_prompt(prompt)));
    if let Some(structured) = wire.structured_result {
        // A mistake in `allow` or `effects` may have changed what the tier may do.
        let is_certain = found.is_empty();
        if is_certain && structured.value && !(slot.allow.is_empty() && slot.effects == [Effect::Reads]) {
            found.add(Mistake::at(
                structured.referenced,
                "`structured_result` is not possible at a tier that may change something",
                "remove it: the client ends such a session without verifying the services that it acted on",
            ));
        }
        slot.structured_result = structured.value;
    }
}

/// A tool of the client, of an MCP server (`mcp__SERVER__TOOL`), or all tools of a server (`mcp__SERVER`). Specifiers such
/// as `Bash(git:*)` are refused: the client would apply them, opsctl would not.
fn check_tool(tool: Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = tool.value.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || tool.value.len() > 128 || !tool.value.chars().all(plain) {
        return Err(Mistake::of(
            &tool,
            "is not a tool name",
            "write one such as `Bash`, `Read` or `mcp__docker__list`; put command prefixes under `deny`",
        ));
    }
    Ok(tool.value)
}

/// A command prefix, which is rendered into a permission rule of the client, in parentheses.
fn check_prefix(prefix: &Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_graphic() && !"(),:*\"'\\`$;|&<>".contains(c);
    let words: Vec<&str> = prefix.value.split_whitespace().collect();
    if words.is_empty() || !words.iter().all(|word| word.chars().all(plain)) {
        return Err(Mistake::of(
            prefix,
            "is not a command prefix",
            "write the first words of the command, such as `docker exec`",
        ));
    }
    Ok(words.join(" "))
}

fn check_prompt(prompt: Spanned<String>) -> Checked<PathBuf> {
    if prompt.value.trim().is_empty() || prompt.value.contains('\0') {
        return Err(Mistake::of(&prompt, "is not a path", "write one such as `/app/prompts/tier1.md`"));
    }
    Ok(PathBuf::from(prompt.value))
}
