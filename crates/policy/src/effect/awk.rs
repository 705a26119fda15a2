//! Programs of `awk`: `system`, pipes and output redirections do more than read.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::languages::awk::written;
use crate::languages::sources::Sources;
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of a command line of `awk`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str], is_scratch: &dyn Fn(&str) -> bool) -> Proof {
    let file = ["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"];
    let sources = Sources::of(usage, texts, &["-e", "--source"], &file, true).or_first_word();
    if let Some(file) = sources.files.first() {
        let file = texts.get(file.index).copied().unwrap_or_default();
        return (Effect::Unknown, Why::ScriptOnDisk(file.to_owned()));
    }
    if sources.shows {
        return (Effect::Reads, Why::Stated);
    }
    let programs: Vec<Word> = command.words_at(&sources.scripts).collect();
    let mut files = Vec::new();
    for program in &programs {
        // A value put into the program may hold anything.
        match program.known().and_then(written) {
            Some(found) => files.extend(found),
            None => return (Effect::Unknown, Why::Statement),
        }
    }
    match files.into_iter().find(|file| !is_scratch(file)) {
        Some(file) => (Effect::Changes, Why::Writes(file)),
        None if programs.is_empty() => (Effect::Unknown, Why::Code),
        None => (Effect::Reads, Why::Stated),
    }
}
