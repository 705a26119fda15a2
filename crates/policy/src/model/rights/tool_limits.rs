//! Limits on the client's tools, in the form of its permission rules: `Read`, `Bash(git log:*)`, `mcp__docker__list`.

/// Limits on tools, in addition to those of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolLimits {
    /// The only tools that remain; `None` for no such limit.
    pub allowed: Option<Vec<String>>,
    /// Rules that are denied.
    pub denied: Vec<String>,
}

impl ToolLimits {
    /// What remains of the tools of a tier: the tool itself, or tools of its MCP server.
    pub fn remaining(&self, tools: &[String]) -> Vec<String> {
        let Some(allowed) = &self.allowed else { return tools.to_vec() };
        let remaining = tools.iter().flat_map(|tool| {
            if allowed.iter().any(|rule| includes(rule, tool)) {
                return vec![tool.clone()];
            }
            allowed.iter().filter(|rule| includes(tool, rule)).cloned().collect()
        });
        remaining.collect()
    }

    /// The allowed rules that no tool of a tier includes. They have no effect.
    pub fn without_effect(&self, tools: &[String]) -> Vec<&str> {
        let has_effect = |rule: &str| tools.iter().any(|tool| includes(tool, rule) || includes(rule, tool));
        let allowed = self.allowed.iter().flatten().map(String::as_str);
        allowed.filter(|rule| !has_effect(rule)).collect()
    }
}

/// The tool of a rule: `Bash` of `Bash(git log:*)`.
fn tool_of(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool)
}

/// Whether the rule `wide` allows everything that `narrow` allows.
fn includes(wide: &str, narrow: &str) -> bool {
    let wide = wide.trim_end_matches("__*");
    wide == narrow
        || (wide.starts_with("mcp__")
            && tool_of(narrow).strip_prefix(wide).is_some_and(|rest| rest.starts_with("__")))
}

/// The rules of a list that is separated by commas or spaces, which may also occur in parentheses. An error is the first
/// entry that is not a rule.
pub fn rules(text: &str) -> Result<Vec<String>, String> {
    let mut depth = 0_i32;
    let entries = text.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let entries: Vec<String> = entries.filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    match entries.iter().find(|entry| !is_rule(entry)) {
        Some(entry) => Err(entry.clone()),
        None if entries.is_empty() => Err(text.to_owned()),
        None => Ok(entries),
    }
}

/// The tools of a list, as in [`rules`]. A rule for a part of a tool is an error: in addition to that part, the client runs
/// every command that it takes for a read-only one.
pub fn tools_of_list(text: &str) -> Result<Vec<String>, String> {
    let tools = rules(text)?;
    match tools.iter().find(|rule| tool_of(rule) != *rule) {
        Some(rule) => Err(rule.clone()),
        None => Ok(tools),
    }
}

fn is_rule(rule: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = tool_of(rule);
    let specifier = rule.strip_prefix(name).unwrap_or_default();
    let is_closed = specifier.is_empty() || (specifier.len() > 2 && specifier.ends_with(')'));
    // The client ignores names that are not those of its tools, such as the words of a command.
    (name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("mcp__"))
        && name.trim_end_matches("__*").chars().all(plain)
        && is_closed
        && !rule.chars().any(char::is_control)
}
