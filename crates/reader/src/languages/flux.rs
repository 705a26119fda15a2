//! Scripts in Flux, the language of `InfluxDB`.

use super::names::lines;

/// Whether a script, in lower case, writes nowhere.
pub fn only_reads(script: &str) -> bool {
    let calls_to = script.match_indices("to(").any(|(at, _)| {
        !script.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    });
    !calls_to && !lines::FLUX_WRITING.are_in(script) && lines::FLUX_READING.are_in(script)
}
