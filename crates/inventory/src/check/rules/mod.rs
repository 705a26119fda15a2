//! The rules about files and MCP tools.

pub mod never;

use crate::spanned::Spanned;

use crate::error::{Checked, Mistake, Mistakes};
use crate::yaml::forms::{Entries, TextOrMap, entries};
use crate::yaml::rules::{PathRuleWire, ToolActionWire, ToolRuleWire};
use crate::yaml::values::{DataFolder, Text, texts};
use opsctl_policy::model::rights::rules::{PathRule, Rules, ToolRule, Where};

/// Checks the rules about files and MCP tools.
pub fn check(
    data: Option<Vec<Text<DataFolder>>>,
    protect: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    secret: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    tools: Option<Entries<ToolRuleWire>>,
    rules: &mut Rules,
    found: &mut Mistakes,
) {
    rules.data = texts(data.unwrap_or_default());
    rules.protect = check_paths(protect, Where::Local, found);
    rules.secret = check_paths(secret, Where::Any, found);
    for (name, wire) in entries(tools) {
        found.keep(check_tool_name(&name));
        match (wire.action, wire.effect) {
            (Some(action), None) => rules.tools.extend(found.keep(check_tool(&name, action, wire))),
            (None, Some(effect)) => rules.tool_effects.push((name.value, effect)),
            (None, None) => {
                found.add(Mistake::of(&name, "has neither `action` nor `effect`", "add one of the two"));
            }
            (Some(_), Some(_)) => {
                found.add(Mistake::of(&name, "has an `action` and an `effect`", "remove one of the two"));
            }
        }
    }
}

fn check_tool_name(name: &Spanned<String>) -> Checked<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.value.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    let is_tool = parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
        && name.value.chars().all(plain);
    Mistake::unless(is_tool, name, "is not an MCP tool name", "write one such as `mcp__docker__restart`")
}

fn check_tool(name: &Spanned<String>, action: ToolActionWire, wire: ToolRuleWire) -> Checked<ToolRule> {
    let is_restart = action == ToolActionWire::Restart;
    let what = "has a `verb`, but its action is not `restart`";
    Mistake::unless(wire.verb.is_none() || is_restart, name, what, "remove `verb`")?;
    let needs_service = is_restart || action == ToolActionWire::Redeployment;
    let remedy = "add `service:` with the argument that names the service, or a JSON pointer to it";
    Mistake::unless(wire.service.is_some() || !needs_service, name, "has no `service`", remedy)?;
    let is_notification = action == ToolActionWire::Notification;
    let what = "has a `to`, but its action is not `notification`";
    Mistake::unless(wire.to.is_none() || is_notification, name, what, "remove `to`")?;
    Ok(ToolRule {
        tool: name.value.clone(),
        verb: action.verb(wire.verb),
        service: wire.service.map(|argument| argument.value),
        host: wire.host.map(|argument| argument.value),
        to: wire.to.map(|argument| argument.value),
    })
}

fn check_paths(
    wires: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    default: Where,
    found: &mut Mistakes,
) -> Vec<PathRule> {
    let check = |wire: Spanned<TextOrMap<PathRuleWire>>| {
        let (path, scope) = match wire.value {
            TextOrMap::Text(path) => (path, None),
            TextOrMap::Map(PathRuleWire { path, scope }) => (path, scope),
        };
        let glob = path.strip_prefix('!').unwrap_or(&path);
        let whole = glob.split('/').all(|name| name == "**" || !name.contains("**"));
        if glob.is_empty() || !whole || glob.split('/').any(|name| name == "..") {
            return Err(Mistake::at(
                wire.referenced,
                format!("`{path}` is not a path glob"),
                "write one such as `/srv/**`, `~/keys/*`, `**/*.key`, or the exception `!/srv/public/**`",
            ));
        }
        Ok(PathRule { glob: path, scope: scope.unwrap_or(default) })
    };
    found.keep_all(wires.unwrap_or_default().into_iter().map(check))
}
