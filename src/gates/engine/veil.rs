//! What clients see of containers: no secrets, and if so configured only those that hosts.yaml lists.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_reader::shell::glob;
use serde::Deserialize;
use serde_json::Value;

use super::container::word;

/// The variables of containers whose values clients may read.
static HARMLESS: LazyLock<Harmless> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("variables.yaml")).unwrap_or_default());

/// The variables of containers whose values clients may read, as globs.
#[derive(Debug, Default, Deserialize)]
struct Harmless {
    names: Vec<String>,
    values: Vec<String>,
}

impl Harmless {
    /// Whether a variable is one of them.
    fn has(&self, name: &str, content: &str) -> bool {
        let matches = |globs: &[String], text: &str| globs.iter().any(|own| glob(own, text));
        let is_number = content.len() <= 10 && content.bytes().all(|byte| byte.is_ascii_digit());
        // `SECRET_HOME`.
        let has_secret_part = || name.contains('_') && name.split('_').any(|part| is_secret(part, SAMPLE));
        !is_secret(name, content)
            && (is_number
                || matches(&self.values, &content.to_ascii_lowercase())
                || matches(&self.names, name) && !has_secret_part())
    }
}
/// A value that is redacted if its name is that of a secret.
const SAMPLE: &str = "d41d8cd98f00b204";

/// What clients do not see.
#[derive(Debug, Clone)]
pub struct Veil {
    /// Whether secrets are removed.
    pub redacts: bool,
    /// Which containers are listed; `None`: all.
    pub listed: Option<Inventory>,
    /// The variables of the guard's own container, which are removed in any case.
    pub own: Vec<String>,
}

/// A response without what clients do not see. One that is not JSON is not changed.
pub fn changed(headers: &HeaderMap, body: Bytes, veil: &Veil) -> Result<Bytes, String> {
    let is_json =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json || body.is_empty() {
        return Ok(body);
    }
    let mut value: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the answer of the engine is not JSON ({error})"))?;
    if let (Some(inventory), Some(containers)) = (&veil.listed, value.as_array_mut()) {
        containers.retain(|container| is_listed(container, inventory));
    }
    let mut removed: Vec<String> = veil.own.iter().filter(|text| !is_harmless(text)).cloned().collect();
    if veil.redacts {
        stated(&value, &mut removed);
        steps(&mut value);
        options(&mut value);
        opsctl_redact::json(&mut value);
    }
    Removed::of(&removed).from(&mut value);
    serde_json::to_vec(&value).map(Bytes::from).map_err(|error| error.to_string())
}

/// Whether clients may read a variable: `NAME=VALUE`.
fn is_harmless(text: &str) -> bool {
    text.split_once('=').is_none_or(|(name, content)| HARMLESS.has(name, content))
}

/// Adds the variables of containers and images that clients may not read.
fn stated(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| stated(value, into)),
        Value::Object(entries) => {
            let own = entries.get("Env").and_then(Value::as_array).into_iter().flatten();
            // Plugins state `{"Name": …, "Value": …}`.
            let pair = |own: &Value| {
                let of = |key: &str| own.get(key).and_then(Value::as_str);
                Some(format!("{}={}", of("Name")?, of("Value")?))
            };
            let own = own.filter_map(|own| own.as_str().map(str::to_owned).or_else(|| pair(own)));
            into.extend(own.filter(|text| !is_harmless(text)));
            entries.values().for_each(|value| stated(value, into));
        }
        _ => {}
    }
}

/// Redacts variables and arguments in the steps that made an image: `ENV NAME=VALUE`, `|1 NAME=VALUE /bin/sh -c …`, and the words of
/// commands: `CMD ["redis-server" "--requirepass" "…"]`.
fn steps(value: &mut Value) {
    for step in value.as_array_mut().into_iter().flatten() {
        let Some(Value::String(text)) = step.get_mut("CreatedBy") else { continue };
        let stated = text.trim_start_matches("/bin/sh -c #(nop)").trim_start();
        let is_one_of = |signs: &[&str]| signs.iter().any(|sign| stated.starts_with(sign));
        if is_one_of(&["ENV ", "ARG ", "|"]) {
            *text = without_values(text);
        } else if is_one_of(&["CMD ", "ENTRYPOINT ", "RUN "])
            && let Some((front, list)) = text.split_once('[')
            && let Some(mut values) = list_of_step(list)
        {
            variables(&mut values);
            words(&[], &mut values);
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            *text = format!("{front}[{}]", values.join(" "));
        }
    }
}

/// The words of a list in a step, up to its end: `"a" "b"]`, or with commas; `None` if it is none.
fn list_of_step(list: &str) -> Option<Vec<Value>> {
    let mut rest = list.trim().strip_suffix(']')?;
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if rest.is_empty() {
            return Some(values);
        }
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        values.push(Value::from(read.next()?.ok()?));
        rest = rest.get(read.byte_offset()..)?;
    }
}

/// A step without the values that clients may not read; each ends at the next name, or at the command.
fn without_values(step: &str) -> String {
    let mut words = Vec::new();
    let mut is_hidden = false;
    for word in step.split(' ') {
        let stated = word.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        match stated {
            Some((name, _)) if !is_harmless(word) => {
                is_hidden = true;
                words.push(format!("{name}=[redacted]"));
                continue;
            }
            None if is_hidden && !word.starts_with("/bin/") => continue,
            _ => is_hidden = false,
        }
        words.push(word.to_owned());
    }
    words.join(" ")
}

/// The length in bytes of a value that is not a part of another text by chance.
const LONG: usize = 8;

/// The bytes that are compared for one response. A text that is left has its variables removed as a whole.
const MOST_COMPARED: usize = 64 * 1024 * 1024;

/// Variables by their names, each with its values from the longest to the shortest.
struct Removed<'a> {
    by_name: HashMap<&'a str, Vec<&'a str>>,
    /// The lengths of the names, from the longest to the shortest.
    lengths: BTreeSet<Reverse<usize>>,
    /// The bytes that may still be compared.
    left: usize,
}

impl<'a> Removed<'a> {
    fn of(variables: &'a [String]) -> Self {
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, content) in variables.iter().filter_map(|own| own.split_once('=')) {
            by_name.entry(name).or_default().push(content);
        }
        for contents in by_name.values_mut() {
            // A value may be the beginning of another one.
            contents.sort_unstable_by_key(|own| (Reverse(own.len()), *own));
            contents.dedup();
        }
        let lengths = by_name.keys().map(|name| Reverse(name.len())).collect();
        Self { by_name, lengths, left: MOST_COMPARED }
    }

    /// Removes the values, also where they are a part of a word of a command: `-dePASS=…` has the option `-e`.
    fn from(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains('=') && !self.lengths.is_empty() => {
                *text = self.without(text).unwrap_or_else(|| "[redacted]".to_owned());
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.from(value)),
            Value::Object(entries) => entries.values_mut().for_each(|value| self.from(value)),
            _ => {}
        }
    }

    /// A text without the values; `None` if too much would have to be compared.
    fn without(&mut self, text: &str) -> Option<String> {
        let (mut shown, mut from) = (String::new(), 0);
        for (at, _) in text.match_indices('=') {
            if at < from {
                continue;
            }
            let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
            let longest = self.longest(before, after);
            if self.left == 0 {
                return None;
            }
            if let Some(length) = longest {
                shown.push_str(text.get(from..=at)?);
                shown.push_str("[redacted]");
                from = at + 1 + length;
            }
        }
        shown.push_str(text.get(from..)?);
        Some(shown)
    }

    /// The length of the longest value at the beginning of `after` of a variable whose name `before` ends with.
    fn longest(&mut self, before: &str, after: &str) -> Option<usize> {
        let mut longest = None;
        for Reverse(length) in &self.lengths {
            let name = before.len().checked_sub(*length).and_then(|start| before.get(start..));
            let Some(name) = name else { continue };
            self.left = self.left.saturating_sub(name.len() + 1);
            for content in self.by_name.get(name).into_iter().flatten() {
                self.left = self.left.saturating_sub(content.len().min(after.len()) + 1);
                let is_whole = content.len() >= LONG || content.len() == after.len();
                if self.left == 0 || after.starts_with(content) && is_whole {
                    longest = longest.max(Some(content.len()));
                    break;
                }
            }
        }
        longest
    }
}

/// The keys of objects whose keys are chosen by people.
const NAMED: [&str; 4] = ["Annotations", "DriverOpts", "Labels", "Options"];

/// The most words of a list that are read as a command.
const MOST_WORDS: usize = 200;

/// Redacts what only the form of a description shows: variables, and options of programs in lists of words.
fn options(value: &mut Value) {
    match value {
        Value::Array(values) => {
            variables(values);
            words(&[], values);
            values.iter_mut().for_each(options);
        }
        Value::Object(entries) => {
            let list =
                |key: &str| texts(entries.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice));
            let program = entries.get("Path").and_then(Value::as_str).map(str::to_owned);
            let before = [("Args", program.into_iter().collect()), ("Cmd", list("Entrypoint"))];
            for (key, before) in before {
                if let Some(values) = entries.get_mut(key).and_then(Value::as_array_mut) {
                    words(&before, values);
                }
            }
            for key in NAMED {
                let named = entries.get_mut(key).and_then(Value::as_object_mut);
                for (name, value) in named.into_iter().flatten() {
                    if value.as_str().is_some_and(|content| is_secret(name, content)) {
                        *value = Value::from("[redacted]");
                    }
                }
            }
            for own in entries.get_mut("Env").and_then(Value::as_array_mut).into_iter().flatten() {
                let name = own.get("Name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let content = own.get_mut("Value");
                if let Some(value) =
                    content.filter(|value| value.as_str().is_some_and(|text| !HARMLESS.has(&name, text)))
                {
                    *value = Value::from("[redacted]");
                }
            }
            entries.values_mut().for_each(options);
        }
        _ => {}
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Redacts variables with names such as `PASS` and `adminPw`, which are ordinary words elsewhere.
fn variables(values: &mut [Value]) {
    for value in values {
        let Some((name, content)) = value.as_str().and_then(|text| text.split_once('=')) else { continue };
        if is_secret(name, content) {
            *value = Value::from(format!("{name}=[redacted]"));
        }
    }
}

/// Whether a variable, or a label such as `homepage.widget.key`, has the name of a secret.
fn is_secret(name: &str, content: &str) -> bool {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)) {
        return false;
    }
    let mut snake = String::from("X_");
    let mut last = ' ';
    for letter in name.chars() {
        snake.extend((last.is_lowercase() && letter.is_uppercase()).then_some('_'));
        snake.extend(letter.to_uppercase());
        last = letter;
    }
    let name = snake.replace(['.', '-'], "_");
    opsctl_redact::text(&format!("{name}={content}")).starts_with(&format!("{name}=[redacted]"))
}

/// The most bytes before a word that decide whether it is a secret.
const CONTEXT: usize = 4096;

/// Redacts words that are secrets in a command: `["redis-cli", "-a", "…"]`.
fn words(before: &[String], values: &mut [Value]) {
    let mut line = before.join(" ");
    for value in values.iter_mut().take(MOST_WORDS) {
        let Some(text) = value.as_str().map(str::to_owned) else { return };
        line = end_of(&line).to_owned();
        let last = opsctl_redact::text(&line).into_owned();
        line = if line.is_empty() { text.clone() } else { format!("{line} {text}") };
        let redacted = opsctl_redact::text(&line);
        if let Some(own) = redacted.strip_prefix(&last).map(str::trim_start).filter(|own| *own != text) {
            *value = Value::from(own);
        }
    }
}

/// The last words of a line that fit into the context.
fn end_of(line: &str) -> &str {
    let Some(cut) = line.len().checked_sub(CONTEXT).filter(|cut| *cut > 0) else { return line };
    let from = (cut..line.len()).find(|at| line.as_bytes().get(*at) == Some(&b' '));
    from.and_then(|from| line.get(from + 1..)).unwrap_or_default()
}

/// Whether the inventory lists a container of a list.
fn is_listed(container: &Value, inventory: &Inventory) -> bool {
    let id = container.get("Id").and_then(Value::as_str).unwrap_or_default();
    let names = container.get("Names").and_then(Value::as_array);
    let name = names.and_then(|names| names.first()?.as_str()).unwrap_or_default().trim_start_matches('/');
    word(id, name, container.get("Labels"), (inventory, None)).is_some_and(|(_, is_listed)| is_listed)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn steps_of_an_image_state_no_values() {
        for (step, shown) in [
            ("ENV DSN=hunter2hunter2", "ENV DSN=[redacted]"),
            ("/bin/sh -c #(nop)  ENV DSN=a b c", "/bin/sh -c #(nop)  ENV DSN=[redacted]"),
            ("ENV PATH=/usr/bin DSN=x", "ENV PATH=/usr/bin DSN=[redacted]"),
            ("|1 LICENCE=x /bin/sh -c make A=b", "|1 LICENCE=[redacted] /bin/sh -c make A=[redacted]"),
            ("RUN make A=b", "RUN make A=b"),
            (
                r#"CMD ["redis-server" "--requirepass" "x7k2"]"#,
                r#"CMD ["redis-server" "--requirepass" "[redacted]"]"#,
            ),
            (
                r#"/bin/sh -c #(nop)  CMD ["redis-cli", "-a", "x7k2"]"#,
                r#"/bin/sh -c #(nop)  CMD ["redis-cli" "-a" "[redacted]"]"#,
            ),
            (r#"ENTRYPOINT ["env" "adminPw=x7k2"]"#, r#"ENTRYPOINT ["env" "adminPw=[redacted]"]"#),
            (r#"CMD ["nginx" "-g" "daemon off;"]"#, r#"CMD ["nginx" "-g" "daemon off;"]"#),
        ] {
            let mut value = serde_json::json!([{"CreatedBy": step}]);
            steps(&mut value);
            assert_eq!(value[0]["CreatedBy"], shown, "{step}");
        }
    }

    fn shown(value: &Value) -> Value {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, "application/json".parse().unwrap())]);
        let veil = Veil { redacts: true, listed: None, own: vec![] };
        let body = changed(&headers, Bytes::from(value.to_string()), &veil).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    #[test]
    fn values_are_redacted_by_the_names_that_people_give_them() {
        let plugins = json!([{"Config": {"Env": [{"Name": "DSN", "Value": "x7k2"}, {"Name": "DEBUG", "Value": "true"}]},
            "Settings": {"Env": ["DSN=x7k2", "DEBUG=true"]}}]);
        let redacted = json!([{"Config": {"Env": [{"Name": "DSN", "Value": "[redacted]"}, {"Name": "DEBUG", "Value": "true"}]},
            "Settings": {"Env": ["DSN=[redacted]", "DEBUG=true"]}}]);
        assert_eq!(shown(&plugins), redacted);
        let volumes = json!({"Volumes": [{"Name": "v", "Options": {"adminPw": "x7k2", "type": "nfs"}}]});
        let redacted =
            json!({"Volumes": [{"Name": "v", "Options": {"adminPw": "[redacted]", "type": "nfs"}}]});
        assert_eq!(shown(&volumes), redacted);
        let env = json!({"Env": ["SECRET_HOME=/x7k2", "API_TOKEN_VERSION=x7k2", "JAVA_HOME=/usr/lib/jvm"]});
        let redacted = json!({"Env": ["SECRET_HOME=[redacted]", "API_TOKEN_VERSION=[redacted]", "JAVA_HOME=/usr/lib/jvm"]});
        assert_eq!(shown(&env), redacted);
    }

    #[test]
    fn values_of_variables_are_removed_from_all_texts() {
        let value = json!({"Env": ["DSN=x7k2x7k2", "DSN=x7k2x7k2-2", "LICENCE=x7k2x7k2", "P=k2"], "Cmd": [
            "-deDSN=x7k2x7k2-2", "a DSN=x7k2x7k2 b LICENCE=x7k2x7k2", "P=k2 P=k2", "P=k3",
        ]});
        let redacted = json!({"Env": ["DSN=[redacted]", "DSN=[redacted]", "LICENCE=[redacted]", "P=[redacted]"], "Cmd": [
            "-deDSN=[redacted]", "a DSN=[redacted] b LICENCE=[redacted]", "P=k2 P=[redacted]", "P=k3",
        ]});
        assert_eq!(shown(&value), redacted);
    }

    #[test]
    fn long_commands_and_many_variables_take_linear_time() {
        let start = Instant::now();
        let long = "x".repeat(5_000);
        shown(
            &json!({"Path": "sh", "Args": vec![long.as_str(); 200], "Config": {"Cmd": vec![long.as_str(); 200]}}),
        );
        let many: Vec<String> = (0..20_000).map(|at| format!("V{at}=value-{at}")).collect();
        let nested: Vec<String> = (1..1_000).map(|length| format!("A={}", "A=".repeat(length))).collect();
        shown(&json!({"Env": many, "Cmd": many}));
        let found = shown(&json!({"Env": nested, "Cmd": ["A=".repeat(100_000)]}));
        assert_eq!(found["Cmd"][0].as_str().map(|text| text.contains("A=A=")), Some(false));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
