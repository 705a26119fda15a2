//! Makefiles: the recipe lines of a target and of its prerequisites.

mod variables;

use super::Commands;
use crate::languages::names::manifests as names;
use variables::{LONGEST, Variables};

/// Maximum number of targets that are followed.
const MOST_TARGETS: usize = 128;
/// Maximum number of rules that are kept.
const MOST_RULES: usize = 1_000;

/// A rule: its prerequisites and its recipe.
#[derive(Debug, Default)]
struct Rule {
    prerequisites: Vec<String>,
    recipe: Vec<String>,
}

#[derive(Debug, Default)]
struct Makefile {
    /// Rules by target, in the order of the file.
    rules: Vec<(String, Rule)>,
    variables: Variables,
    /// Scripts of `NAME != script` and of `$(shell …)` in assignments, which run for any goal.
    at_once: Vec<String>,
    /// Variables that the recipes get in their environment.
    exported: Vec<String>,
    is_partial: bool,
    one_shell: bool,
}

/// What `make` runs for its goals; without goals, for the default one. `variables` are those of the command line.
pub fn commands(text: &str, goals: &[&str], variables: &[(String, String)]) -> Commands {
    let mut makefile = Makefile::read(text, variables);
    let default = makefile.variables.values.get(".DEFAULT_GOAL").cloned().or_else(|| makefile.first_target());
    let goals: Vec<String> = match goals {
        [] => default.into_iter().collect(),
        goals => goals.iter().map(|goal| (*goal).to_owned()).collect(),
    };
    let mut run = Run { scripts: makefile.at_once.clone(), seen: vec![], is_partial: false };
    makefile.is_partial |= goals.is_empty();
    for goal in &goals {
        let known = makefile.follow(goal, &mut run);
        makefile.is_partial |= !known;
    }
    let value = |name: &String| {
        Some((name.clone(), makefile.variables.plain_text(makefile.variables.values.get(name)?)))
    };
    let exported = makefile.exported.iter().chain(variables.iter().map(|(name, _)| name));
    let environment = exported.filter_map(value).collect();
    Commands {
        scripts: run.scripts,
        environment,
        is_partial: makefile.is_partial || run.is_partial || makefile.variables.runs_more.get(),
    }
}

struct Run {
    scripts: Vec<String>,
    seen: Vec<String>,
    is_partial: bool,
}

impl Makefile {
    fn read(text: &str, given: &[(String, String)]) -> Self {
        let mut makefile = Self::default();
        let text = text.replace("\\\r\n", "\\\n");
        let mut lines = text.lines();
        let mut defining: Option<(String, String)> = None;
        let mut targets: Vec<String> = Vec::new();
        while let Some(first) = lines.next() {
            let in_recipe = first.starts_with('\t') && !targets.is_empty();
            let mut line = first.to_owned();
            while line.ends_with('\\') && line.len() < LONGEST {
                let Some(next) = lines.next() else { break };
                // In a recipe the shell joins the lines.
                if in_recipe {
                    line.push('\n');
                    line.push_str(next.strip_prefix('\t').unwrap_or(next));
                } else {
                    line.pop();
                    line.push(' ');
                    line.push_str(next.trim_start());
                }
            }
            if let Some((name, body)) = &mut defining {
                if line.trim() == "endef" {
                    makefile.variables.values.insert(std::mem::take(name), std::mem::take(body));
                    defining = None;
                } else {
                    body.push_str(&line);
                    body.push('\n');
                }
                continue;
            }
            if in_recipe {
                makefile.add_line(&targets, line.trim_start_matches('\t'));
                continue;
            }
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix("define ") {
                let name = rest.split(['=', ':', ' ']).next().unwrap_or_default();
                defining = Some((name.to_owned(), String::new()));
                continue;
            }
            if runs_scripts(line) {
                let script = makefile.variables.plain_text(line).replace('"', "\\\"");
                makefile.at_once.push(format!(": \"{script}\""));
            }
            let word = line.split_whitespace().next().unwrap_or_default();
            if names::MAKE_CONDITIONALS.has(word) {
                continue;
            }
            if matches!(word, "include" | "-include" | "sinclude" | "load" | "-load" | "vpath")
                || line.starts_with("$(eval")
            {
                makefile.is_partial = true;
            } else if !makefile.assign(line, given) {
                targets = makefile.rule(line);
            } else {
                targets.clear();
            }
        }
        for (name, value) in given {
            makefile.variables.values.insert(name.clone(), value.clone());
        }
        makefile
    }

    fn first_target(&self) -> Option<String> {
        let is_goal = |target: &&String| !target.starts_with('.') && !target.contains('%');
        self.rules.iter().map(|(target, _)| target).find(is_goal).cloned()
    }

    /// Reads `NAME = value`; false for any other line.
    fn assign(&mut self, line: &str, given: &[(String, String)]) -> bool {
        let exports = line.starts_with("export ");
        let line = line.strip_prefix("export ").or_else(|| line.strip_prefix("override ")).unwrap_or(line);
        let Some(at) = line.find('=') else { return matches!(line, "export" | "unexport") };
        let (head, value) =
            (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default().trim());
        let sign = |c: char| matches!(c, ':' | '?' | '+' | '!');
        let name = head.trim_end_matches(sign).trim();
        if name.is_empty() || name.contains([' ', ':', '\t']) {
            return false;
        }
        if exports {
            self.exported.push(name.to_owned());
        }
        // Another shell reads the recipes in its own way.
        self.is_partial |= matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | ".RECIPEPREFIX")
            && !names::MAKE_SHELLS.has(value);
        let sign = head.trim_end().trim_start_matches(name).trim();
        if sign == "!" {
            self.at_once.push(self.variables.plain_text(value));
            self.variables.values.remove(name);
        } else if sign == "+" {
            let old = self.variables.values.entry(name.to_owned()).or_default();
            old.push(' ');
            old.push_str(value);
        } else if sign != "?" || !self.variables.values.contains_key(name) {
            self.variables.values.insert(name.to_owned(), value.to_owned());
        }
        // What a script prints is not known where the variable is used.
        if runs_scripts(value) && !given.iter().any(|(own, _)| own == name) {
            self.variables.values.insert(name.to_owned(), "$${MAKE_OUTPUT}".to_owned());
        }
        true
    }

    /// Reads `target…: prerequisite… ; recipe`, and returns the targets.
    fn rule(&mut self, line: &str) -> Vec<String> {
        let (rule, recipe) = line.split_once(';').map_or((line, None), |(rule, recipe)| (rule, Some(recipe)));
        let Some((targets, prerequisites)) = rule.split_once(':') else {
            // An expression such as `$(foreach …)` may define rules.
            self.is_partial = true;
            return vec![];
        };
        let targets: Vec<String> =
            self.variables.plain_text(targets).split_whitespace().map(str::to_owned).collect();
        self.one_shell |= targets.iter().any(|target| target == ".ONESHELL");
        let prerequisites = prerequisites.trim_start_matches(':');
        // `target: NAME = value` is a variable of the target.
        if let Some((name, value)) = prerequisites.split_once('=').filter(|_| !prerequisites.contains("$(")) {
            let name = name.trim_end_matches([':', '?', '+']).trim();
            if !name.is_empty() && !name.contains(' ') {
                self.variables.values.entry(name.to_owned()).or_insert_with(|| value.trim().to_owned());
                return targets;
            }
        }
        let prerequisites: Vec<String> = self
            .variables
            .plain_text(prerequisites)
            .split_whitespace()
            .filter(|word| *word != "|")
            .map(str::to_owned)
            .collect();
        // What make computes may be any target.
        self.is_partial |= prerequisites.iter().any(|name| name.contains('$'));
        for target in &targets {
            if let Some(rule) = self.rule_of(target) {
                rule.prerequisites.extend(prerequisites.iter().cloned());
            }
        }
        if let Some(recipe) = recipe {
            self.add_line(&targets, recipe.trim());
        }
        targets
    }

    /// The rule of a target, a new one if there is none; `None` beyond [`MOST_RULES`].
    fn rule_of(&mut self, target: &str) -> Option<&mut Rule> {
        let at = match self.rules.iter().position(|(name, _)| name == target) {
            Some(at) => at,
            None if self.rules.len() >= MOST_RULES => {
                self.is_partial = true;
                return None;
            }
            None => {
                self.rules.push((target.to_owned(), Rule::default()));
                self.rules.len() - 1
            }
        };
        self.rules.get_mut(at).map(|(_, rule)| rule)
    }

    fn add_line(&mut self, targets: &[String], line: &str) {
        for target in targets {
            if let Some(rule) = self.rule_of(target) {
                rule.recipe.push(line.to_owned());
            }
        }
    }

    /// Adds the recipes of a target and of its prerequisites; false when there is no rule for it.
    fn follow(&self, goal: &str, run: &mut Run) -> bool {
        if run.seen.iter().any(|seen| seen == goal) {
            return true;
        }
        if run.seen.len() >= MOST_TARGETS {
            run.is_partial = true;
            return true;
        }
        run.seen.push(goal.to_owned());
        let stem_of = |target: &str| {
            let (before, after) = target.split_once('%')?;
            goal.strip_prefix(before)?.strip_suffix(after).map(str::to_owned)
        };
        let exact = self.rules.iter().find(|(target, _)| target == goal);
        let pattern = || self.rules.iter().find(|(target, _)| stem_of(target).is_some());
        let Some((target, rule)) = exact.or_else(pattern) else { return false };
        let stem = stem_of(target).unwrap_or_default();
        let prerequisites: Vec<String> =
            rule.prerequisites.iter().map(|name| name.replace('%', &stem)).collect();
        for prerequisite in &prerequisites {
            // One without a rule is a file.
            self.follow(prerequisite, run);
        }
        let own = |name: char| match name {
            '@' => goal.to_owned(),
            '<' => prerequisites.first().cloned().unwrap_or_default(),
            '^' | '+' | '?' => prerequisites.join(" "),
            '*' => stem.clone(),
            _ => String::new(),
        };
        let lines: Vec<String> = rule
            .recipe
            .iter()
            .map(|line| self.variables.expand(line, &own, 0))
            .map(|line| line.trim_start_matches(['@', '-', '+', ' ']).to_owned())
            .collect();
        if self.one_shell {
            run.scripts.push(lines.join("\n"));
        } else {
            run.scripts.extend(lines.into_iter().filter(|line| !line.is_empty()));
        }
        true
    }
}

/// Whether a line runs scripts while it is read.
fn runs_scripts(line: &str) -> bool {
    line.contains("(shell ") || line.contains("{shell ")
}
