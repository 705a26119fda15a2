//! Commands of Redis and compatible databases, in any case of letters.

use super::names::redis;

/// Whether a line with a command of Redis only reads.
pub fn line_reads(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.is_empty() || reads(&words)
}

/// Whether a command of Redis changes its data or a state that ends with the server, and nothing beside it.
pub fn changes(words: &[&str]) -> bool {
    let lower = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let name = lower(0);
    redis::CHANGING.get(&name).map_or_else(|| redis::WRITING.has(&name), |second| second.allow(&lower(1)))
}

/// Whether a change of Redis is one that a repair needs.
pub fn repairs(words: &[&str]) -> bool {
    let lower = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let name = lower(0);
    let is_drastic = |name: &str, next: &str| redis::DRASTIC.get(name).is_some_and(|nexts| nexts.allow(next));
    let is_drastic = is_drastic(&name, &lower(1)) || is_drastic(&format!("{name}-{}", lower(1)), &lower(2));
    !is_drastic && (redis::CHANGING.get(&name).is_some() || redis::REPAIRING.has(&name))
}

/// Whether a command of Redis only reads.
pub fn reads(words: &[&str]) -> bool {
    let lower = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let name = lower(0);
    if let Some(subcommands) = redis::READING.get(&name) {
        return subcommands.allow(&lower(1));
    }
    match name.as_str() {
        "sort" | "georadius" | "georadiusbymember" => !words
            .iter()
            .any(|word| word.to_ascii_lowercase().starts_with("store") || word.contains(['$', '`'])),
        name => redis::PLAIN.has(name),
    }
}
