//! The rules about commands, files and MCP tools.

use crate::spanned::Spanned;

use super::values::check_name;
use crate::error::{Checked, Mistake, Mistakes, suggestion};
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
    found: &mut Mistakes,
) -> Rules {
    let mut rules = Rules::default();
    for wire in never.unwrap_or_default() {
        let name = wire.name.clone();
        let mut others = rules.never.iter().map(|rule| &rule.name).chain(&rules.off);
        let is_new = others.all(|other| *other != name.value);
        found.keep(Mistake::unless(is_new, &name, "is the name of two rules", "rename one of the two"));
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

fn check_never(wire: NeverWire, found: &mut Mistakes) -> Option<NeverRule> {
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
    for (examples, list, other, matches) in [
        (wire.matches, "matches", "differs", "does not match"),
        (wire.differs, "differs", "matches", "matches"),
    ] {
        let what = format!("is listed under `{list}`, but {matches} rule `{name}`");
        let remedy = format!("fix `argv`, or move the example to `{other}`");
        for example in examples {
            let is_valid = never::denies(&rule, &example.value) == (list == "matches");
            found.keep(Mistake::unless(is_valid, &example, &what, &remedy));
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
