//! Scripts in Flux, the language of `InfluxDB`.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of the script in the words or on standard input.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let mut scripts: Vec<&Word> = Scanner::new(texts, usage.rest, &value)
        .filter_map(|item| if let Item::Positional(index) = item { command.words.get(index) } else { None })
        .filter(|word| word.text != "-")
        .collect();
    if scripts.is_empty() {
        scripts.extend(command.stdin.as_ref());
    }
    let reads = |word: &&Word| word.known().is_some_and(|text| only_reads(&text.to_lowercase()));
    match scripts.as_slice() {
        [] => (Effect::Unknown, Why::Unread),
        scripts if scripts.iter().all(reads) => (Effect::Reads, Why::Stated),
        _ => (Effect::Changes, Why::Statement),
    }
}

/// Whether a script, in lower case, writes nowhere.
pub(super) fn only_reads(script: &str) -> bool {
    let calls_to = script.match_indices("to(").any(|(at, _)| {
        !script.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    });
    let doubtful = [
        "http.",
        "sql.",
        "mqtt.",
        "slack.",
        "pagerduty.",
        "experimental",
        "wideto",
        "requests.",
        "tasks.",
        "secrets.",
    ];
    !calls_to
        && !doubtful.iter().any(|one| script.contains(one))
        && (script.contains("from(") || script.contains("buckets()"))
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn only_scripts_that_write_change() {
        assert!(only_reads(
            "from(bucket:\"home\") |> range(start:-1h) |> group(columns: [\"host\"]) |> last()"
        ));
        assert!(only_reads("buckets()"));
        assert!(!only_reads("from(bucket:\"a\") |> range(start:-1h) |> to(bucket:\"b\")"));
        assert!(!only_reads("import \"http\"\nfrom(bucket:\"a\") |> http.post(url: \"x\")"));
    }
}
