//! Values as an operator writes them in `hosts.yaml`, for remedies.

/// Words for "no": `off`, `false`, `None` and the like, in any case.
pub fn is_no(word: &str) -> bool {
    ["none", "null", "no", "n", "off", "false"].contains(&word.to_ascii_lowercase().as_str())
}

/// Words for "yes".
pub fn is_yes(word: &str) -> bool {
    ["yes", "y", "on", "true"].contains(&word.to_ascii_lowercase().as_str())
}

/// `[a, b]`, with quotes where YAML needs them.
pub fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(quoted_if_needed).collect();
    format!("[{}]", words.join(", "))
}

/// A command line as a list of words; a shell is named if only a shell can split it.
pub fn command(line: &str) -> String {
    if line.contains(|c| "'\"\\|;&$<>()*?`".contains(c)) {
        return list(["sh", "-c", line]);
    }
    list(line.split_whitespace())
}

fn quoted_if_needed(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/@=+:".contains(c);
    let begins = |c: char| c.is_ascii_alphanumeric() || "-./_".contains(c);
    if word.chars().all(is_plain) && word.starts_with(begins) && !word.ends_with(':') && word != "-" {
        return word.to_owned();
    }
    serde_json::Value::from(word).to_string()
}
