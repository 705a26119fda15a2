//! Any bytes: no panic, no hang, and nothing that a clearer text would not have shown.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use opsctl::actions::read_command;

/// The grammar's library panics on some broken texts, and the reader catches that; any other panic is a defect.
const CAUGHT: &str = "brush-parser";

fn abort_unless_caught() {
    // libFuzzer's own hook aborts on every panic: it has to go first.
    drop(std::panic::take_hook());
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains(CAUGHT)) {
            report(panic);
            std::process::abort();
        }
    }));
}

fuzz_target!(init: abort_unless_caught(), |data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let reading = read_command(&text, Some(Path::new("/app")));
    for action in &reading.actions {
        assert!(!action.evidence.is_empty(), "an action without a word on what was seen");
    }
    // A text in single quotes is a word, and `echo` of a word does nothing.
    let said = format!("echo '{}'", text.replace('\'', "'\\''"));
    let reading = read_command(&said, None);
    // Only where it cannot be read (too many brackets, say) may it raise a suspicion.
    assert!(reading.actions.is_empty() || !reading.complaints.is_empty(), "a word that is only said acts");
    // Bash has run the first line before it reads the next.
    let first = read_command(&format!("docker restart jellyfin\n{text}"), None);
    assert!(!first.actions.is_empty(), "a whole first line is not seen");
});
