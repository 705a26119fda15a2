//! Justfiles: the lines of a recipe and of its dependencies.

use std::collections::BTreeMap;

use super::Commands;

/// Maximum number of recipes that are followed.
const MOST_RECIPES: usize = 64;

#[derive(Debug, Default)]
struct Recipe {
    name: String,
    /// Names and default values, in order.
    parameters: Vec<(String, Option<String>)>,
    /// Recipes that run before and after it, with their arguments.
    dependencies: Vec<Vec<String>>,
    body: Vec<String>,
}

#[derive(Debug, Default)]
struct Justfile {
    recipes: Vec<Recipe>,
    aliases: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    is_partial: bool,
}

/// What `just` runs for its words: recipes with their arguments; without words, the first recipe.
pub fn commands(text: &str, words: &[&str]) -> Commands {
    let mut file = Justfile::read(text);
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    while let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) {
        file.variables.insert(name.to_owned(), value.to_owned());
        words.remove(0);
    }
    if words.is_empty() {
        words.extend(file.recipes.first().map(|recipe| recipe.name.clone()));
    }
    let mut found = Commands { is_partial: file.is_partial || words.is_empty(), ..Commands::default() };
    let mut left = MOST_RECIPES;
    let mut rest = words.as_slice();
    while let Some((name, arguments)) = rest.split_first() {
        let taken = file.follow(name, arguments, &mut found, &mut left);
        rest = arguments.get(taken..).unwrap_or_default();
    }
    found
}

impl Justfile {
    fn read(text: &str) -> Self {
        let mut file = Self::default();
        let mut in_recipe = false;
        for line in text.lines() {
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with([' ', '\t']) {
                if let Some(recipe) = file.recipes.last_mut().filter(|_| in_recipe) {
                    recipe.body.push(line.trim().to_owned());
                }
                continue;
            }
            in_recipe = false;
            let word = line.split_whitespace().next().unwrap_or_default();
            // Attributes may move a recipe to another folder, or give it another interpreter.
            file.is_partial |= ["[no-cd", "[working-directory", "[script", "[extension"]
                .iter()
                .any(|start| line.starts_with(start));
            if line.starts_with(['#', '[']) || word == "unexport" {
                continue;
            }
            if word == "set" {
                let is_shell = line.contains("shell")
                    && !["bash", "'sh'", "\"sh\"", "zsh"].iter().any(|name| line.contains(name));
                file.is_partial |=
                    is_shell || line.contains("fallback") || line.contains("working-directory");
                continue;
            }
            if matches!(word, "import" | "import?" | "mod" | "mod?") {
                file.is_partial = true;
            } else if let Some((name, value)) = line.split_once(":=") {
                let name = name.trim_start_matches("export ").trim();
                file.is_partial |= computes(value);
                match name.strip_prefix("alias ") {
                    Some(alias) => {
                        drop(file.aliases.insert(alias.trim().to_owned(), value.trim().to_owned()));
                    }
                    None => drop(file.variables.insert(name.to_owned(), literal(value.trim()))),
                }
            } else if let Some(recipe) = recipe(line) {
                file.recipes.push(recipe);
                in_recipe = true;
            } else {
                file.is_partial = true;
            }
        }
        file
    }

    /// Adds a recipe and its dependencies, and returns how many of the words are its arguments.
    fn follow(&self, name: &str, words: &[String], found: &mut Commands, left: &mut usize) -> usize {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        let recipe = self.recipes.iter().find(|recipe| recipe.name == name);
        let Some((recipe, rest)) = recipe.zip(left.checked_sub(1)) else {
            found.is_partial = true;
            return 0;
        };
        *left = rest;
        let mut values = self.variables.clone();
        let mut taken = 0;
        for (parameter, default) in &recipe.parameters {
            let (parameter, is_many) =
                parameter.strip_prefix(['+', '*']).map_or((parameter.as_str(), false), |name| (name, true));
            let own = words.get(taken..if is_many { words.len() } else { words.len().min(taken + 1) });
            let own = own.unwrap_or_default();
            taken += own.len();
            let value = if own.is_empty() { default.clone().unwrap_or_default() } else { own.join(" ") };
            values.insert(parameter.trim_start_matches('$').to_owned(), value);
        }
        for dependency in &recipe.dependencies {
            if let Some((name, arguments)) = dependency.split_first() {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|text| values.get(text).cloned().unwrap_or_else(|| literal(text)))
                    .collect();
                self.follow(name, &arguments, found, left);
            }
        }
        found.is_partial |= recipe.body.iter().any(|line| line.contains("{{") && computes(line));
        let lines: Vec<String> = recipe.body.iter().map(|line| filled(line, &values)).collect();
        if let Some(first) = lines.first().filter(|line| line.starts_with("#!")) {
            // A script of its own, in the language of its first line.
            let text = lines.get(1..).unwrap_or_default().join("\n");
            let shell = first.rsplit(['/', ' ']).next().unwrap_or_default();
            found.scripts.push(if shell.ends_with("sh") {
                text
            } else {
                format!("{shell} - <<'JUST_RECIPE_END'\n{text}\nJUST_RECIPE_END\n")
            });
        } else {
            let joined = lines.join("\n").replace("\\\n", " ");
            let lines = joined.lines().map(|line| line.trim_start_matches(['@', '-']).to_owned());
            found.scripts.extend(lines.filter(|line| !line.is_empty()));
        }
        taken
    }
}

/// Reads `name parameter='default' *rest: dependency (other 'x')`.
fn recipe(line: &str) -> Option<Recipe> {
    let (head, tail) = line.split_once(':')?;
    let mut words = head.split_whitespace();
    let name = words.next()?.trim_start_matches('@').to_owned();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.chars().all(is_name) {
        return None;
    }
    let parameters = words.map(|word| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(literal(value))),
        None => (word.to_owned(), None),
    });
    let mut dependencies: Vec<Vec<String>> = Vec::new();
    let mut is_open = false;
    for word in tail.split_whitespace().filter(|word| *word != "&&") {
        if word.starts_with('#') {
            break;
        }
        let plain = word.trim_matches(['(', ')']).to_owned();
        match dependencies.last_mut().filter(|_| is_open) {
            Some(last) => last.push(plain),
            None => dependencies.push(vec![plain]),
        }
        is_open = (is_open || word.starts_with('(')) && !word.ends_with(')');
    }
    Some(Recipe { name, parameters: parameters.collect(), dependencies, body: vec![] })
}

/// Whether an expression may run something: a backquote, or a function that starts a shell.
fn computes(text: &str) -> bool {
    text.contains('`') || text.contains("shell(")
}

/// A text in quotes without them; an expression becomes a shell variable that is not set, a backquote a substitution.
fn literal(text: &str) -> String {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(inner) = quoted('\'').or_else(|| quoted('"')) {
        return inner.to_owned();
    }
    if let Some(script) = quoted('`') {
        return format!("$({script})");
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if text.chars().all(is_plain) { text.to_owned() } else { "${JUST_EXPRESSION}".to_owned() }
}

/// The line with `{{name}}` replaced by the value of the name.
fn filled(line: &str, values: &BTreeMap<String, String>) -> String {
    super::filled(line, |name| values.get(name.trim()).map_or("${JUST_EXPRESSION}", String::as_str))
}
