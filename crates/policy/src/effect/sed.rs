//! Scripts of `sed`: `w`, `W` and `s///w` write, `e` and `s///e` run a command.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::languages::sed::written;
use crate::languages::sources::Sources;
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of a command line of `sed`; the files of `-i` are looked at elsewhere.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str], is_scratch: &dyn Fn(&str) -> bool) -> Proof {
    let sources =
        Sources::of(usage, texts, &["-e", "--expression"], &["-f", "--file"], false).or_first_word();
    if let Some(file) = sources.files.first() {
        return (
            Effect::Unknown,
            Why::ScriptOnDisk(texts.get(file.index).copied().unwrap_or_default().to_owned()),
        );
    }
    if sources.shows {
        return (Effect::Reads, Why::Stated);
    }
    let scripts: Vec<Word> = command.words_at(&sources.scripts).collect();
    // A value put into an address or a replacement hardly holds a command; one that begins the script may be one.
    let placed = scripts.iter().all(|script| script.known().is_some() || !script.prefix().is_empty());
    let whole: Vec<&str> = scripts.iter().map(|script| script.text.as_str()).collect();
    match written(&whole.join("\n")) {
        Some(files) if placed => match files.into_iter().find(|file| !is_scratch(file)) {
            Some(file) => (Effect::Changes, Why::Writes(file)),
            None => (Effect::Reads, Why::Stated),
        },
        _ => (Effect::Unknown, Why::Statement),
    }
}
