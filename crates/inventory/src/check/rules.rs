//! The rules about commands, files and MCP tools.

use crate::spanned::Spanned;

use super::values::check_name;
use crate::error::{Checked, Found, Mistake, suggestion};
use crate::yaml::forms::{Entries, OneOrMore, TextOrMap, entries};
use crate::yaml::rules::{NeverWire, PathRuleWire, ToolActionWire, ToolRuleWire};
use crate::yaml::values::{DataFolder, Text, texts};
use opsctl_policy::model::rights::rules::{NeverRule, PathRule, Rules, ToolRule, Where};
use opsctl_policy::rules::never;
use opsctl_policy::rules::never::{bomb, defaults, unread};
use opsctl_policy::rules::pattern::Pattern;

/// Checks the rules.
pub fn check(
    never: Option<Vec<NeverWire>>,
    data: Option<Vec<Text<DataFolder>>>,
    protect: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    secret: Option<Vec<Spanned<TextOrMap<PathRuleWire>>>>,
    tools: Option<Entries<ToolRuleWire>>,
    found: &mut Found,
) -> Rules {
    let mut rules = Rules::default();
    for wire in never.unwrap_or_default() {
        let name = wire.name.clone();
        let known =
            rules.never.iter().map(|rule| &rule.name).chain(&rules.off).any(|known| *known == name.value);
        if known {
            found.add(Mistake::of(&name, "is the name of two rules", "rename one of the two"));
        }
        if wire.off {
            let mut packs: Vec<&str> = defaults().map(|rule| rule.pack).collect();
            packs.dedup();
            let defaults: Vec<&str> =
                defaults().map(|rule| rule.name).chain(packs).chain([bomb::NAME, unread::NAME]).collect();
            if !defaults.contains(&name.value.as_str()) {
                let remedy = suggestion(&name.value, defaults);
                found.add(Mistake::of(&name, "is not a default rule", remedy));
            }
            rules.off.push(name.value);
        } else {
            rules.never.extend(check_never(wire, found));
        }
    }
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
    rules
}

fn check_tool_name(name: &Spanned<String>) -> Checked<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.value.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    if !parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
        || !name.value.chars().all(plain)
    {
        return Err(Mistake::of(name, "is not an MCP tool name", "write one such as `mcp__docker__restart`"));
    }
    Ok(())
}

fn check_tool(name: &Spanned<String>, action: ToolActionWire, wire: ToolRuleWire) -> Checked<ToolRule> {
    if wire.verb.is_some() && action != ToolActionWire::Restart {
        return Err(Mistake::of(name, "has a `verb`, but its action is not `restart`", "remove `verb`"));
    }
    if wire.service.is_none() && matches!(action, ToolActionWire::Restart | ToolActionWire::Redeployment) {
        return Err(Mistake::of(
            name,
            "has no `service`",
            "add `service:` with the argument that names the service, or a JSON pointer to it",
        ));
    }
    if wire.to.is_some() && action != ToolActionWire::Notification {
        return Err(Mistake::of(name, "has a `to`, but its action is not `notification`", "remove `to`"));
    }
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
    found: &mut Found,
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

fn check_never(wire: NeverWire, found: &mut Found) -> Option<NeverRule> {
    let position = wire.name.referenced;
    let name = found.keep(check_name(wire.name))?;
    let missing =
        |key: &str, remedy: &str| Mistake::at(position, format!("rule `{name}` has no `{key}`"), remedy);
    let argv = wire.argv.ok_or_else(|| missing("argv", "add a pattern such as `argv: terraform destroy`"));
    let argv = found.keep(argv.and_then(check_patterns));
    let reason = wire.reason.filter(|reason| !reason.value.trim().is_empty()).ok_or_else(|| {
        missing("reason", "state why the command is denied and what to do instead; the agent reads it")
    });
    let reason = found.keep(reason);
    if wire.matches.is_empty() {
        let remedy = "add commands that the rule denies, such as `matches: [terraform destroy]`";
        found.add(missing("matches", remedy));
    }
    let rule = NeverRule {
        name: name.clone(),
        patterns: argv?,
        reason: reason?.value.trim().to_owned(),
        scope: wire.scope.unwrap_or_default(),
        tiers: wire.tiers,
    };
    for example in wire.matches {
        if !never::denies(&rule, &example.value) {
            let what = format!("is listed under `matches`, but does not match rule `{name}`");
            found.add(Mistake::of(&example, what, "fix `argv`, or move the example to `differs`"));
        }
    }
    for example in wire.differs {
        if never::denies(&rule, &example.value) {
            let what = format!("is listed under `differs`, but matches rule `{name}`");
            found.add(Mistake::of(&example, what, "fix `argv`, or move the example to `matches`"));
        }
    }
    Some(rule)
}

fn check_patterns(argv: Spanned<OneOrMore>) -> Checked<Vec<String>> {
    for text in &argv.value.0 {
        if let Err(problem) = Pattern::parse(text) {
            let what = format!("the pattern `{text}` {problem}");
            return Err(Mistake::at(argv.referenced, what, "docs/policy.md describes patterns"));
        }
    }
    Ok(argv.value.0)
}
