//! The rules about commands: each proves itself on its own examples.

use serde_saphyr::Spanned;

use super::names::check_name;
use super::{Checked, entries, wrong};
use crate::inventory::error::{Mistake, suggestion};
use crate::inventory::wire::Entries;
use crate::inventory::wire_rules::{NeverWire, PathRuleWire, ToolRuleWire};
use crate::inventory::words::ToolActionWire;
use crate::model::policy::Tier;
use crate::model::rules::{NeverRule, PathRule, Rules, ToolRule, Where};
use crate::policy::never::{self, bomb, defaults::DEFAULTS};
use crate::policy::pattern::Pattern;

/// Checks the rules.
pub fn check(
    never: Option<Vec<NeverWire>>,
    data: Option<Vec<Spanned<String>>>,
    protect: Option<Vec<Spanned<PathRuleWire>>>,
    secret: Option<Vec<Spanned<PathRuleWire>>>,
    tools: Option<Entries<ToolRuleWire>>,
) -> Checked<Rules> {
    let mut rules = Rules::default();
    for wire in never.unwrap_or_default() {
        let name = wire.name.clone();
        let known =
            rules.never.iter().map(|rule| &rule.name).chain(&rules.off).any(|known| *known == name.value);
        if known {
            return Err(wrong(&name, "is the name of two rules", "give one of them another name"));
        }
        if wire.off {
            let defaults = DEFAULTS.iter().map(|rule| rule.name).chain([bomb::NAME]);
            if !defaults.clone().any(|known| known == name.value) {
                let remedy = suggestion(&name.value, defaults.collect::<Vec<_>>());
                return Err(wrong(&name, "is not the name of a default rule", &remedy));
            }
            rules.off.push(name.value);
        } else {
            rules.never.push(check_never(wire)?);
        }
    }
    for folder in data.unwrap_or_default() {
        if !folder.value.starts_with(['/', '~']) {
            return Err(wrong(&folder, "is not an absolute path", "write one such as `/tank/**`"));
        }
        rules.data.push(folder.value);
    }
    rules.protect = check_paths(protect, Where::Local)?;
    rules.secret = check_paths(secret, Where::Any)?;
    rules.tools = entries(tools).map(|(name, wire)| check_tool(&name, wire)).collect::<Checked<_>>()?;
    Ok(rules)
}

fn check_tool(name: &Spanned<String>, wire: ToolRuleWire) -> Checked<ToolRule> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.value.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    if !parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
        || !name.value.chars().all(plain)
    {
        return Err(wrong(
            name,
            "is not a tool of an MCP server",
            "write its name as the client does: `mcp__SERVER__TOOL`",
        ));
    }
    let verb = match (wire.verb, wire.action) {
        (Some(_), action) if action != ToolActionWire::Restart => {
            return Err(wrong(name, "has a `verb`, but is no restart", "remove `verb`"));
        }
        (Some(verb), _) => verb.into(),
        (None, action) => action.usual_verb(),
    };
    if wire.service.is_none() && matches!(wire.action, ToolActionWire::Restart | ToolActionWire::Redeployment)
    {
        return Err(wrong(
            name,
            "does not say which argument names the service",
            "add `service: ARGUMENT`, or a JSON pointer",
        ));
    }
    if wire.to.is_some() && wire.action != ToolActionWire::Notification {
        return Err(wrong(name, "has a `to`, but is no notification", "remove `to`"));
    }
    Ok(ToolRule {
        tool: name.value.clone(),
        kind: wire.action.into(),
        verb,
        service: wire.service.map(|argument| argument.value),
        host: wire.host.map(|argument| argument.value),
        to: wire.to.map(|argument| argument.value),
    })
}

fn check_paths(wires: Option<Vec<Spanned<PathRuleWire>>>, default: Where) -> Checked<Vec<PathRule>> {
    let check = |wire: Spanned<PathRuleWire>| {
        let path = &wire.value.path;
        let glob = path.strip_prefix('!').unwrap_or(path);
        let whole = glob.split('/').all(|name| name == "**" || !name.contains("**"));
        if glob.is_empty() || !whole || glob.split('/').any(|name| name == "..") {
            return Err(Mistake::at(
                wire.referenced,
                format!("`{path}` is not a glob of paths"),
                "write one such as `/srv/**`, `~/keys/*`, `**/*.key`, or `!/srv/public/**` to except"
                    .to_owned(),
            ));
        }
        Ok(PathRule { glob: path.clone(), place: wire.value.place.map_or(default, Into::into) })
    };
    wires.unwrap_or_default().into_iter().map(check).collect()
}

fn check_never(wire: NeverWire) -> Checked<NeverRule> {
    let place = wire.name.referenced;
    let name = check_name(wire.name)?;
    let missing = |key: &str, remedy: &str| {
        Mistake::at(place, format!("missing key `{key}` of the rule `{name}`"), remedy.to_owned())
    };
    let argv = wire.argv.ok_or_else(|| missing("argv", "add a pattern such as `argv: terraform destroy`"))?;
    for text in &argv.value.0 {
        if let Err(problem) = Pattern::parse(text) {
            return Err(Mistake::at(
                argv.referenced,
                format!("the pattern `{text}` {problem}"),
                "write the program and its words, as docs/policy.md shows".to_owned(),
            ));
        }
    }
    let reason = wire
        .reason
        .filter(|reason| !reason.value.trim().is_empty())
        .ok_or_else(|| missing("reason", "say why not, and what to do instead: the agent reads it"))?;
    let tiers = wire
        .tiers
        .into_iter()
        .map(|tier| {
            Tier::from_number(tier.value).ok_or_else(|| {
                Mistake::at(
                    tier.referenced,
                    format!("`{}` is not a tier", tier.value),
                    "the tiers are `1`, `2` and `3`".to_owned(),
                )
            })
        })
        .collect::<Checked<Vec<_>>>()?;
    let rule = NeverRule {
        name: name.clone(),
        patterns: argv.value.0,
        reason: reason.value.trim().to_owned(),
        place: wire.place.map_or(Where::Any, Into::into),
        tiers,
    };
    if wire.matches.is_empty() {
        return Err(missing(
            "matches",
            "add commands that the rule denies, such as `matches: [terraform destroy]`",
        ));
    }
    for example in wire.matches {
        if !never::denies(&rule, &example.value) {
            let what = format!("does not match the rule `{name}`, whose example it is");
            return Err(wrong(&example, &what, "mend `argv`, or move it to `differs`"));
        }
    }
    for example in wire.differs {
        if never::denies(&rule, &example.value) {
            let what = format!("matches the rule `{name}`, but stands under `differs`");
            return Err(wrong(&example, &what, "mend `argv`, or move it to `matches`"));
        }
    }
    Ok(rule)
}
